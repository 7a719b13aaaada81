//! Reads `[session]`.

use std::time::Duration;

use tidegate_config::Preset::{Else, Is, Unset};
use tidegate_config::{Flag, Number, Other, Section, Table, Text, Time, Whole, keys};

use super::impatience;
use super::limits::DAY;
use crate::scenario::session_rules::SessionRules;

keys! {
    /// Rules of all sessions.
    pub(super) static SESSION: SessionKeys {
        /// The first page; it has a `path`.
        start: Text("a page's name") = Else("must be there, unless there are `steps`");
        /// A script: these requests in order, and no others. Stands in place of `start` and
        /// `[transitions]`.
        steps: Other("list of pages' names and tables", "at most 10000 requests; tables see below") = Unset;
        /// A session ends after this many requests at the latest.
        max_requests: Whole(1, 1_000_000) = Is("1000");
        /// Mean of the time after which a session ends, in place of its next move to `end_at`:
        /// negative exponential. For tables of transitions.
        duration: Time(Duration::from_millis(1), DAY) = Else("none; with a table of TPC-W `\"15min\"`");
        /// No duration is longer than this many times its mean.
        duration_cap: Number(1.0, 1000.0) = Is("4");
        /// The page before which sessions end that have lasted for their `duration`.
        end_at: Text("a page's name") = Else("`start`");
        /// Mean think time between two requests, negative exponential.
        think: Time(Duration::ZERO, DAY) = Is("\"7s\"");
        /// No think time is longer than this many times its mean.
        think_cap: Number(1.0, 1000.0) = Is("10");
        /// Longest time from the intended start of a request to the last byte of its response.
        patience: Time(Duration::from_millis(1), DAY) = Is("\"10s\"");
        /// What a customer does after a refusal or lost patience: leave, return later, or repeat the
        /// request.
        impatience: Other("word or table", "`\"leave\"`, `\"come_back\"`, `\"hammer\"`, or a table, see below")
            = Is("\"leave\"");
        /// Redirects within the site are followed, as part of the request.
        follow_redirects: Flag = Is("true");
        /// Customers (accounts) to draw from, numbered from 1. Not for a class.
        customers: Whole(1, i64::MAX) = Is("1000");
    }
}

/// Keys of `[session]` that a class may have as well.
pub(super) fn own() -> Vec<&'static str> {
    SESSION.names().into_iter().filter(|name| *name != SESSION.customers.name).collect()
}

/// The rules of a section, with those that it does not give from another.
pub(super) fn rules(section: &Section<'_>, mut rules: SessionRules) -> SessionRules {
    if let Some(n) = section.read(&SESSION.max_requests) {
        rules.max_requests = n as u32;
    }
    if let Some(think) = section.read(&SESSION.think) {
        rules.think = think;
    }
    if let Some(cap) = section.read(&SESSION.think_cap) {
        rules.think_cap = cap;
    }
    if let Some(patience) = section.read(&SESSION.patience) {
        rules.patience = patience;
    }
    if let Some(impatience) =
        section.read(&SESSION.impatience).and_then(|value| impatience::read(&value))
    {
        rules.impatience = impatience;
    }
    if let Some(n) = section.read(&SESSION.customers) {
        rules.customers = n as u64;
    }
    if let Some(follow) = section.read(&SESSION.follow_redirects) {
        rules.follow_redirects = follow;
    }
    rules
}
