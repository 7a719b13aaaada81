//! Who comes: classes of customers.

use tidegate_config::Preset::{Else, Is, Required};
use tidegate_config::{
    Boolean, Number, OrTable, PlainOrTable, Section, Text, Time, Whole, Words, keys,
};

use super::distributions::{distribution, times, times_like};
use super::limits::{LEAST_WORK, MOST_WORK, given_seconds, seconds};
use crate::distribution::Distribution;
use crate::handshake_mix::HandshakeMix;
use crate::length::SessionLength;
use crate::scenario::{AfterFailure, Customers, Waits, Work};
use tidegate_control::Priority;

const PRIORITIES: [&str; 3] = ["low", "normal", "high"];

fn priority(index: usize) -> Priority {
    [Priority::Low, Priority::Normal, Priority::High][index]
}

keys! {
    /// A class of customers. The shares of all classes add up to 1.
    pub(super) static CLASS: ClassKeys {
        /// Its name.
        name: Text("") = Is("customers");
        /// Its share of those who arrive.
        share: Number(0.0, 1.0) = Is("1");
        /// When the first of them comes.
        from: Time("0s", "1h") = Is("0s");
        /// When they cease to come, later than `from`. While a class does not come, the shares of
        /// the others grow in proportion.
        until: Time("0s", "1h") = Else("never");
        /// The address prefix that they come from.
        prefix: Whole(0, 7) = Else("each from any of the eight");
        /// Requests of a session. A plain value is the mean of a power law up to `requests_max`. A
        /// table is the distribution of the whole session, usually exponential with a mean of 12; the
        /// requests after the first vary, rounded at random so that the mean stays.
        requests: OrTable<Number>(Number(1.0, 10_000.0)) = Else("the demo's bidding mix; with `requests_max` a mean of `12`");
        /// Requests of the longest session; not with a table of `requests`.
        requests_max: Number(1.0, 10_000.0) = Else("`60` with a plain `requests`");
        /// Think time between two requests. Usually exponential.
        think: OrTable<Time>(Time("0s", "1h")) = Is("175ms");
        /// Longest time that a customer waits for a response, drawn for each. Usually constant.
        patience: OrTable<Time>(Time("1ms", "1h")) = Is("250ms");
        /// Round-trip time: one and a half until the hello of a new connection, one for a
        /// handshake, half for a request and half for its response.
        rtt: Time("0s", "10s") = Is("0s");
        /// Kind of the handshakes, with the costs below; or a table with costs of their own.
        tls: OrTable<Words>(Words(&HandshakeMix::NAMES)) = Else("the costs of `[work]`");
        /// Share of a session's later connections that bring a ticket; not with `tls = "clear"`.
        tickets: Number(0.0, 1.0) = Is("1");
        /// Whether a customer who is done closes the connection, as a load generator does; a browser
        /// leaves it to the gate.
        close_when_done: Boolean = Is("true");
        /// CPU time of their first request, in the upstream. Usually of the shape in `[work]`.
        first_request: OrTable<Time>(Time(LEAST_WORK, MOST_WORK)) = Else("that of `[work]`");
        /// CPU time of a later request, in the upstream. Usually of the shape in `[work]`.
        later_request: OrTable<Time>(Time(LEAST_WORK, MOST_WORK)) = Else("that of `[work]`");
        /// What both are multiplied by.
        weight: Number(0.0, 1000.0) = Is("1");
        /// Mean time, exponentially distributed, after which a customer who was refused or lost
        /// patience comes back as a new session; with `attempts`.
        back_off: Time("1ms", "1h") = Else("not set: they leave");
        /// Attempts in all, including the first; with `back_off`.
        attempts: Whole(2, 1000) = Else("not set: they leave");
        /// Whether they have been there before: their first connection returns with a ticket, and
        /// is admitted at once.
        known: Boolean = Is("false");
        /// Priority of their requests, which take a route of their own: `low`, `normal` or `high`.
        priority: Words(&PRIORITIES) = Is("normal");
        /// Longest time that a customer stays in the gate's waiting room, drawn for each. Usually
        /// exponential.
        room_patience: OrTable<Time>(Time("1s", "1h")) = Is("1h");
        /// Share of the pages of the waiting room after which a customer comes back late.
        room_late: Number(0.0, 1.0) = Is("0");
        /// Mean time by which they are late then, exponentially distributed.
        room_late_by: Time("1ms", "1h") = Is("10s");
    }

    /// CPU time of handshakes in the gate.
    pub(super) static HANDSHAKES: HandshakeKeys {
        /// A full handshake.
        full: Time(LEAST_WORK, MOST_WORK) = Required("700us");
        /// A resumed handshake.
        resumed: Time(LEAST_WORK, MOST_WORK) = Required("160us");
    }
}

pub(super) fn customers(section: &Section<'_>, work: &Work) -> Customers {
    section.known(&CLASS);
    Customers {
        name: section.field::<&str, _>(&CLASS.name).to_owned(),
        share: section.field(&CLASS.share),
        comes_s: comes_s(section),
        prefix: section.given(&CLASS.prefix).map(|prefix| prefix as u8),
        requests: requests(section).unwrap_or_else(SessionLength::bidding_mix),
        think: times(section, &CLASS.think, Distribution::exponential),
        patience: times(section, &CLASS.patience, Distribution::constant),
        rtt_s: seconds(section, &CLASS.rtt),
        tls: tls(section),
        tickets: section.field(&CLASS.tickets),
        close_when_done: section.field(&CLASS.close_when_done),
        first_request: times_like(section, &CLASS.first_request, &work.first_request),
        later_request: times_like(section, &CLASS.later_request, &work.later_request),
        weight: section.field(&CLASS.weight),
        after_failure: after_failure(section),
        known: section.field(&CLASS.known),
        priority: section.given(&CLASS.priority).map_or(Priority::Normal, priority),
        waits: Waits {
            patience: times(section, &CLASS.room_patience, Distribution::exponential),
            late: section.field(&CLASS.room_late),
            late_by_s: seconds(section, &CLASS.room_late_by),
        },
    }
}

fn comes_s(section: &Section<'_>) -> (f64, f64) {
    let from_s = seconds(section, &CLASS.from);
    let until_s = given_seconds(section, &CLASS.until).unwrap_or(f64::INFINITY);
    if until_s <= from_s {
        section.wrong(
            format!("comes from {from_s} s until {until_s} s"),
            "make until later than from",
        );
    }
    (from_s, until_s)
}

/// A distribution, or a power law by its mean and its longest session; `None`: as
/// usual.
fn requests(section: &Section<'_>) -> Option<SessionLength> {
    let max = section.given(&CLASS.requests_max);
    let mean = match section.given(&CLASS.requests) {
        Some(PlainOrTable::Table(table)) => {
            if let Some(max) = section.get(CLASS.requests_max.name) {
                let remedy = "remove it: the distribution says how long sessions are";
                max.wrong("cannot be combined with a distribution of requests", remedy);
            }
            let usual = Distribution::exponential(11.0);
            return distribution(&table, &CLASS.requests.rule.0, &usual)
                .map(SessionLength::one_and);
        }
        Some(PlainOrTable::Plain(mean)) => Some(mean),
        None => None,
    };
    mean.or(max)?;
    let (mean, max) = (mean.unwrap_or(12.0), max.unwrap_or(60.0));
    if max < mean {
        let remedy = "give the longest session more requests than the mean";
        section.wrong("has requests above requests_max", remedy);
    }
    Some(SessionLength::power_law(mean, max))
}

/// How they connect; `None`: as `[work]` says.
fn tls(section: &Section<'_>) -> Option<HandshakeMix> {
    let mix = match section.given(&CLASS.tls)? {
        PlainOrTable::Plain(index) => HandshakeMix::named(HandshakeMix::NAMES[index]),
        PlainOrTable::Table(costs) => {
            costs.known(&HANDSHAKES);
            let full = seconds(&costs, &HANDSHAKES.full);
            Some(HandshakeMix::costing(full, seconds(&costs, &HANDSHAKES.resumed)))
        }
    };
    if let (Some(HandshakeMix::Clear), Some(tickets)) = (mix, section.get(CLASS.tickets.name)) {
        tickets.wrong(
            "cannot be combined with tls = \"clear\"",
            "remove it: clear text has no tickets",
        );
    }
    mix
}

fn after_failure(section: &Section<'_>) -> AfterFailure {
    let back_off_s = given_seconds(section, &CLASS.back_off);
    let attempts = section.given(&CLASS.attempts);
    let has = |key| section.get(key).is_some();
    if has(CLASS.back_off.name) != has(CLASS.attempts.name) {
        section.wrong(
            "has one of back_off and attempts",
            "give both for customers who come back, none for those who leave",
        );
    }
    match (back_off_s, attempts) {
        (Some(back_off_s), Some(attempts)) => {
            AfterFailure::Returns { back_off_s, times: attempts as u32 - 1 }
        }
        _ => AfterFailure::Leaves,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    fn class(text: &str) -> Result<Customers, String> {
        let text = format!("about = \"x\"\n[[customers]]\n{text}");
        let read = Scenario::from_toml(&text, "a.toml").map_err(|mistakes| mistakes.to_string());
        read.map(|mut scenario| scenario.customers.remove(0))
    }

    #[test]
    fn handshakes_are_of_a_kind_or_cost_what_is_said() {
        assert_eq!(class("").unwrap().tls, None);
        let named = class("tls = \"tls12-rsa-2048\"\ntickets = 0.5").unwrap();
        assert_eq!((named.tls, named.resumes()), (HandshakeMix::named("tls12-rsa-2048"), 0.5));
        assert_eq!(class("tls = \"clear\"").unwrap().resumes(), 0.0);
        let own = class("tls = { full = \"2ms\", resumed = \"10us\" }").unwrap();
        assert_eq!(own.tls, Some(HandshakeMix::costing(2e-3, 10e-6)));
    }

    #[test]
    fn customers_may_be_known_and_have_a_priority() {
        let usual = class("").unwrap();
        assert_eq!((usual.known, usual.priority), (false, Priority::Normal));
        let buyers = class("known = true\npriority = \"high\"").unwrap();
        assert_eq!((buyers.known, buyers.priority), (true, Priority::High));
    }

    #[test]
    fn session_lengths_are_the_demos_a_power_law_or_a_distribution() {
        assert_eq!(class("").unwrap().requests, SessionLength::bidding_mix());
        let shorter = class("requests_max = 40").unwrap().requests;
        assert_eq!(shorter, SessionLength::power_law(12.0, 40.0));
        let usual = class("requests = 5").unwrap().requests;
        assert_eq!(usual, SessionLength::power_law(5.0, 60.0));
        let spread = class("requests = { mean = 8, distribution = \"lognormal\", scv = 2 }");
        let later = Distribution::lognormal(7.0, 2.0);
        assert_eq!(spread.unwrap().requests, SessionLength::one_and(later));
        let measured = class("requests = { values = [1, 9], weights = [3, 1] }").unwrap();
        assert!((measured.requests.mean() - 3.0).abs() < 1e-12);
    }

    #[test]
    fn every_mistake_is_reported_with_its_line_and_remedy() {
        for (text, words) in [
            ("tls = \"rsa-2049\"", "tls = \"rsa-2049\": must be one of ecdsa-p256,"),
            ("tls = { full = \"1ms\" }", "tls.resumed: must be set; add resumed = \"160us\""),
            ("tls = { ful = \"1ms\" }", "ful = \"1ms\": is not a known key; did you mean full?"),
            ("tickets = 1.5", "tickets = 1.5: must be a number of 0 to 1"),
            ("tls = \"clear\"\ntickets = 1.0", "clear text has no tickets"),
            ("requests = { mean = 3 }\nrequests_max = 9", "cannot be combined with a distribution"),
            ("requests = { mean = 0.5 }", "must be a number of 1 to 10000"),
            ("from = \"9s\"\nuntil = \"9s\"", "comes from 9 s until 9 s; make until later"),
            ("requests = 70", "requests above requests_max"),
            ("think = { distribution = \"gamma\" }", "think: has no scv"),
        ] {
            let found = class(text).unwrap_err();
            assert!(found.starts_with("a.toml:"), "{found}");
            assert!(found.contains(words), "{text}: {found}");
        }
    }
}
