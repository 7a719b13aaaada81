//! Who comes: classes of customers.

use std::ops::RangeInclusive;

use tidegate_config::Section;

use super::distributions::{Unit, distribution, times};
use super::values::{CPU, number, seconds, whole, yes_or_no};
use crate::distribution::Distribution;
use crate::handshake_mix::HandshakeMix;
use crate::length::SessionLength;
use crate::scenario::{AfterFailure, Customers, Work};

/// Requests of a session.
const REQUESTS: RangeInclusive<f64> = 1.0..=10_000.0;

pub(super) fn customers(section: &Section<'_>, work: &Work) -> Customers {
    section.only(&[
        "name",
        "share",
        "prefix",
        "requests",
        "requests_max",
        "think",
        "patience",
        "rtt",
        "tls",
        "tickets",
        "close_when_done",
        "first_request",
        "later_request",
        "weight",
        "back_off",
        "attempts",
    ]);
    let mut class = Customers::default();
    if let Some(name) = section.get("name").and_then(|name| name.string()) {
        class.name = name.to_owned();
    }
    number(section, "share", 0.0..=1.0, &mut class.share);
    let prefix = section.get("prefix").and_then(|prefix| prefix.integer(0..=7));
    class.prefix = prefix.map(|prefix| prefix as u8);
    if let Some(length) = requests(section) {
        class.requests = length;
    }
    times(section, "think", 0.0..=3600.0, &mut class.think);
    times(section, "patience", 0.001..=3600.0, &mut class.patience);
    seconds(section, "rtt", 0.0..=10.0, &mut class.rtt_s);
    tls(section, &mut class);
    for (key, own, usual) in [
        ("first_request", &mut class.first_request, &work.first_request),
        ("later_request", &mut class.later_request, &work.later_request),
    ] {
        if section.get(key).is_some() {
            times(section, key, CPU, own.insert(usual.clone()));
        }
    }
    yes_or_no(section, "close_when_done", &mut class.close_when_done);
    number(section, "weight", 0.0..=1000.0, &mut class.weight);
    let (mut back_off_s, mut attempts) = (0.0, 0);
    seconds(section, "back_off", 0.001..=3600.0, &mut back_off_s);
    whole(section, "attempts", 2..=1000, &mut attempts);
    match (back_off_s > 0.0, attempts > 0) {
        (false, false) => {}
        (true, true) => {
            let times = attempts as u32 - 1;
            class.after_failure = AfterFailure::Returns { back_off_s, times };
        }
        _ => section.wrong(
            "has one of back_off and attempts",
            "give both for customers who come back, none for those who leave",
        ),
    }
    class
}

/// A distribution, or a power law by its mean and its longest session; `None`: as
/// usual.
fn requests(section: &Section<'_>) -> Option<SessionLength> {
    let table = section.get("requests").filter(|value| value.is_table());
    let Some(table) = table else {
        section.get("requests").or_else(|| section.get("requests_max"))?;
        let (mut mean, mut max) = (12.0, 60.0);
        number(section, "requests", REQUESTS, &mut mean);
        number(section, "requests_max", REQUESTS, &mut max);
        if max < mean {
            let remedy = "give the longest session more requests than the mean";
            section.wrong("has requests above requests_max", remedy);
        }
        return Some(SessionLength::power_law(mean, max));
    };
    if let Some(max) = section.get("requests_max") {
        let remedy = "remove it: the distribution says how long sessions are";
        max.wrong("cannot be combined with a distribution of requests", remedy);
    }
    let usual = Distribution::exponential(11.0);
    distribution(&table, &Unit::AfterTheFirst(REQUESTS), &usual).map(SessionLength::one_and)
}

/// How they connect, and whether they bring their tickets.
fn tls(section: &Section<'_>, class: &mut Customers) {
    if let Some(value) = section.get("tls") {
        class.tls = match value.is_table() {
            false => value
                .choice(&HandshakeMix::NAMES)
                .and_then(|place| HandshakeMix::named(HandshakeMix::NAMES[place])),
            true => value.section().and_then(|section| handshakes(&section)),
        };
    }
    number(section, "tickets", 0.0..=1.0, &mut class.tickets);
    if let (Some(HandshakeMix::Clear), Some(tickets)) = (class.tls, section.get("tickets")) {
        tickets.wrong(
            "cannot be combined with tls = \"clear\"",
            "remove it: clear text has no tickets",
        );
    }
}

fn handshakes(section: &Section<'_>) -> Option<HandshakeMix> {
    section.only(&["full", "resumed"]);
    let (mut full, mut resumed) = (0.0, 0.0);
    seconds(section, "full", CPU, &mut full);
    seconds(section, "resumed", CPU, &mut resumed);
    if section.get("full").is_none() || section.get("resumed").is_none() {
        let remedy = "write { full = \"700us\", resumed = \"160us\" }, or the name of a kind";
        section.wrong("must have the costs of both handshakes", remedy);
        return None;
    }
    Some(HandshakeMix::Handshakes { full, resumed })
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
        assert_eq!(own.tls, Some(HandshakeMix::Handshakes { full: 2e-3, resumed: 10e-6 }));
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
            ("tls = { full = \"1ms\" }", "tls: must have the costs of both handshakes; write {"),
            ("tls = { ful = \"1ms\" }", "ful = \"1ms\": is not a known key; did you mean full?"),
            ("tickets = 1.5", "tickets = 1.5: must be a number of 0 to 1"),
            ("tls = \"clear\"\ntickets = 1.0", "clear text has no tickets"),
            ("requests = { mean = 3 }\nrequests_max = 9", "cannot be combined with a distribution"),
            ("requests = { mean = 0.5 }", "must be a number of 1 to 10000"),
            ("requests = 70", "requests above requests_max"),
            ("think = { distribution = \"gamma\" }", "think: has no scv"),
        ] {
            let found = class(text).unwrap_err();
            assert!(found.starts_with("a.toml:"), "{found}");
            assert!(found.contains(words), "{text}: {found}");
        }
    }
}
