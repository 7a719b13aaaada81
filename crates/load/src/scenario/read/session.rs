//! Reads `[session]`.

use tidegate_config::Preset::{Else, Is, Unset};
use tidegate_config::{Boolean, Keys, Number, Other, Section, Text, Time, Whole, keys};

use super::impatience;
use crate::scenario::session_rules::SessionRules;

keys! {
    /// Rules of every session, and its first page.
    pub(super) static SESSION: SessionKeys {
        /// The first page, which must have a `path`.
        start: Text("a page's name") = Else("must be set, unless `steps` is");
        /// A script: these requests in order, and no others. Replaces `start` and
        /// `[transitions]`.
        steps: Other("list of pages' names and tables", "at most 10000 requests; tables see below") = Unset;
        /// A session ends after this many requests at the latest.
        max_requests: Whole(1, 1_000_000) = Is("1000");
        /// Mean of the exponentially distributed time after which a session ends at its next move
        /// to `end_at`. For tables of transitions.
        duration: Time("1ms", "24h") = Else("none; with a table of TPC-W `\"15min\"`");
        /// Longest duration, as a multiple of the mean.
        duration_cap: Number(1.0, 1000.0) = Is("4");
        /// A session whose `duration` has passed ends instead of moving to this page.
        end_at: Text("a page's name") = Else("`start`");
        /// Mean think time between two requests, exponentially distributed.
        think: Time("0s", "24h") = Is("7s");
        /// Longest think time, as a multiple of the mean.
        think_cap: Number(1.0, 1000.0) = Is("10");
        /// Longest time that a customer waits, from the intended start of a request to the last byte
        /// of its response.
        patience: Time("1ms", "24h") = Is("10s");
        /// Longest time that a customer stays in the waiting room of a gate, refreshing as its page
        /// says. The response time counts from the request that is let in.
        waits: Time("0s", "24h") = Is("10min");
        /// Share of the pages of the waiting room after which a customer does something else, and
        /// asks later than the page says.
        waits_late: Number(0.0, 1.0) = Is("0");
        /// How much later.
        waits_late_by: Time("0s", "1h") = Is("10s");
        /// The reaction of customers whose patience ends or who are refused: they leave, come back,
        /// or send the request again.
        impatience: Other("word or table", "`\"leave\"`, `\"come_back\"`, `\"hammer\"`, or a table, see below")
            = Is("leave");
        /// Whether redirects within the site are followed, as part of the request. Those to another
        /// origin then fail the session, unless a check of the page allows their status.
        follow_redirects: Boolean = Is("true");
        /// Whether customers keep the assets of pages and request each address once in a session, as
        /// a browser does with its cache.
        assets_cached: Boolean = Is("false");
        /// Number of customers (accounts) to draw from, numbered from 1. Not for a class.
        customers: Whole(1, i64::MAX) = Is("1000");
    }
}

/// Keys of `[session]` that a class may have as well.
pub(super) fn own() -> Vec<&'static str> {
    SESSION.names().into_iter().filter(|name| *name != SESSION.customers.name).collect()
}

/// The rules of a section, with those that it does not give from another.
pub(super) fn rules(section: &Section<'_>, common: SessionRules) -> SessionRules {
    let impatience = section.given(&SESSION.impatience);
    let impatience = impatience.and_then(|value| impatience::read(&value));
    let whole = |key| section.given::<Whole>(key);
    SessionRules {
        max_requests: whole(&SESSION.max_requests).map_or(common.max_requests, |n| n as u32),
        think: section.given(&SESSION.think).unwrap_or(common.think),
        think_cap: section.given(&SESSION.think_cap).unwrap_or(common.think_cap),
        patience: section.given(&SESSION.patience).unwrap_or(common.patience),
        waits: section.given(&SESSION.waits).unwrap_or(common.waits),
        waits_late: section.given(&SESSION.waits_late).unwrap_or(common.waits_late),
        waits_late_by: section.given(&SESSION.waits_late_by).unwrap_or(common.waits_late_by),
        impatience: impatience.unwrap_or(common.impatience),
        customers: whole(&SESSION.customers).map_or(common.customers, |n| n as u64),
        follow_redirects: section
            .given(&SESSION.follow_redirects)
            .unwrap_or(common.follow_redirects),
        assets_cached: section.given(&SESSION.assets_cached).unwrap_or(common.assets_cached),
    }
}
