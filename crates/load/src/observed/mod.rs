//! What the customers of an access log did: their sessions, how often these have each operation, and
//! how long they last.
//!
//! A session is what one customer requests without a pause. Sessions are the sample: intervals are
//! those of means over them. Memory is bounded, however long the log is.

mod bots;
mod notes;
mod operations;
mod sessions;
mod sums;

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use tidegate_stats::Interval;

pub use operations::{MOST, OTHERS, OperationRule};

use crate::access_log::{AccessLog, LineCounts};
use crate::scenario::Scenario;
use notes::{Telling, Unknown, notes};
use operations::{Operations, Seen};
use sessions::Sessions;
use sums::Sums;

/// How a log is looked at.
#[derive(Clone, Debug)]
pub struct Observing {
    /// A longer time without a request ends a session.
    pub pause: Duration,
    /// Whether requests of user agents that say they are programs count.
    pub with_bots: bool,
    /// Operations that the user names; they go before those of the scenario.
    pub rules: Vec<OperationRule>,
    /// Whose pages the operations are. Without it they are paths, with ids taken out.
    pub scenario: Option<Scenario>,
}

impl Default for Observing {
    fn default() -> Self {
        let (rules, scenario) = (Vec::new(), None);
        Self { pause: Duration::from_secs(30 * 60), with_bots: false, rules, scenario }
    }
}

/// What customers did.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Sessions that it is taken from.
    pub sessions: u64,
    /// Mean time in seconds from the first request of a session to its last.
    pub length_s: Interval,
    /// Seconds from the first request of the log to its last.
    pub lasts_s: f64,
    /// The pages of the scenario in its order, or the operations with the most frequent first.
    pub operations: Vec<Operation>,
    /// What was counted on the way.
    pub counts: Counts,
    /// What a reader should know: a line each.
    pub notes: Vec<String>,
    sums: Sums,
    /// Index of each operation in the sums.
    places: HashMap<String, usize>,
}

/// An operation of a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// Requests of it in the sessions.
    pub requests: u64,
    /// How often a session has it on average.
    pub per_session: Interval,
}

/// What a log has beside sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Lines that are not empty.
    pub lines: u64,
    /// Lines that could not be read.
    pub broken: u64,
    /// Lines of what was no request of a page.
    pub without_request: u64,
    /// Requests of user agents that say they are programs.
    pub bots: u64,
    /// Requests of styles, scripts, images and fonts.
    pub assets: u64,
    /// Requests of no page of the scenario.
    pub unknown: u64,
    /// Requests that followed a redirect, which belong to the operation before.
    pub followed: u64,
    /// Requests of operations that were answered with status 400 or more.
    pub errors: u64,
    /// Requests of operations.
    pub requests: u64,
    /// Sessions that may have begun before the log.
    pub begun_before: u64,
    /// Sessions that may go on after its end.
    pub going_on: u64,
    /// Whether these are among the sessions, since there are few others.
    pub cut_are_in: bool,
}

impl Observed {
    /// Other operations for each of one, with the 95 % interval: the browse-to-buy ratio of a
    /// checkout. `None` of an operation that no session has.
    pub fn others_for_each(&self, operation: &str) -> Option<Interval> {
        self.sums.others_for_each(*self.places.get(operation)?)
    }
}

/// Reads a log to its end.
///
/// # Errors
/// It cannot be read on, more than half of its lines are broken, or it has no session; in words.
pub fn observe(mut log: AccessLog, observing: &Observing) -> Result<Observed, String> {
    let mut operations = Operations::new(&observing.rules, observing.scenario.as_ref());
    let mut sessions = Sessions::new(observing.pause.as_secs_f64());
    let (mut counts, mut unknown) = (Counts::default(), Unknown::default());
    let mut by_field = false;
    while let Some(entry) = log.next_entry()? {
        let Some(request) = &entry.request else {
            counts.without_request += 1;
            continue;
        };
        if bots::is_bot(&entry.agent) {
            counts.bots += 1;
            if !observing.with_bots {
                continue;
            }
        }
        match operations.of(request) {
            Seen::Asset => counts.assets += 1,
            Seen::Unknown => {
                counts.unknown += 1;
                unknown.add(&request.method, &request.target);
            }
            Seen::Operation(operation) => {
                counts.requests += 1;
                counts.errors += u64::from(entry.status >= 400);
                by_field |= entry.session.is_some();
                sessions.add(&entry, operation);
            }
        }
    }
    sessions.finish();
    let LineCounts { lines, broken, told } = log.line_counts().clone();
    (counts.lines, counts.broken) = (lines, broken);
    counts.followed = sessions.counts.followed;
    counts.begun_before = sessions.counts.begun_before;
    counts.going_on = sessions.counts.going_on;
    let mut sums = sessions.whole.clone();
    counts.cut_are_in = sums.sessions < sessions.cut.sessions;
    if counts.cut_are_in {
        sums.merge(&sessions.cut);
    }
    if sums.sessions == 0 {
        return Err(none(&counts, observing));
    }
    let names = operations.names();
    let mut all: Vec<Operation> = (names.iter().enumerate())
        .map(|(at, name)| Operation {
            name: name.clone(),
            requests: sums.count(at),
            per_session: sums.per_session(at),
        })
        .collect();
    if observing.scenario.is_none() {
        all.retain(|it| it.requests > 0);
        all.sort_by_key(|it| std::cmp::Reverse(it.requests));
    }
    let notes = notes(Telling {
        told,
        counts: &counts,
        sessions: &sessions,
        operations: &operations,
        unknown: &unknown,
        by_field,
        observing,
    });
    Ok(Observed {
        sessions: sums.sessions,
        length_s: sums.length_s(),
        lasts_s: sessions.lasts_s(),
        operations: all,
        places: names.iter().cloned().zip(0..).collect(),
        notes,
        counts,
        sums,
    })
}

/// Why a log has no session.
fn none(counts: &Counts, observing: &Observing) -> String {
    let why = if counts.unknown > 0 {
        "no request is one of a page of the scenario: name the scenario of this site"
    } else if counts.bots > 0 && !observing.with_bots {
        "all requests are of user agents that say they are programs: count them with --with-bots"
    } else {
        "no line is a request of a page: name the log of a site with customers"
    };
    format!("has no session: {why}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access_log::Reading;

    fn observed(text: &str, observing: &Observing) -> Result<Observed, String> {
        let bytes = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        observe(AccessLog::of_bytes("access.log", bytes, Reading::default())?, observing)
    }

    /// A line of the combined format, so many seconds after midnight.
    fn line(second: u32, client: &str, request: &str, status: u16, agent: &str) -> String {
        let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
        format!(
            "{client} - - [10/Oct/2000:{h:02}:{m:02}:{s:02} +0000] \"{request} HTTP/1.1\" {status} 1 \"-\" \"{agent}\"\n"
        )
    }

    fn shop() -> Scenario {
        let text = "[session]\nstart = \"Home\"\n[pages]\nHome = { path = \"/\" }\n\
                    Item = { link = \"/items/{item}\" }\nBuy = { form = \"/items/{item}/buy\" }\n\
                    [transitions]\nHome = { Item = 0.8, End = 0.2 }\n\
                    Item = { Item = 0.4, Buy = 0.2, Back = 0.2, End = 0.2 }\nBuy = { Home = 0.5, End = 0.5 }\n";
        Scenario::from_toml(text, "shop.toml").unwrap()
    }

    #[test]
    fn a_log_has_sessions_operations_and_what_was_left_out() {
        let mut text = String::from("nonsense\n");
        // A day with a session an hour: Home, two items and every other time an order.
        for hour in 0..23 {
            let (at, client) = (3600 * hour, format!("c{hour}"));
            let mut add = |second: u32, request: &str, status: u16, agent: &str| {
                text += &line(at + second, &client, request, status, agent);
            };
            add(0, "GET /", 200, "Firefox");
            add(0, "GET /style.css", 200, "Firefox");
            add(1, "GET /robots.txt", 200, "Googlebot/2.1");
            add(20, "GET /items/7", 200, "Firefox");
            add(40, "GET /items/8?x=1", 404, "Firefox");
            if hour % 2 == 0 {
                add(60, "POST /items/8/buy", 303, "Firefox");
                add(61, "GET /", 200, "Firefox");
            }
        }
        text += &line(3600 * 23, "x", "\\x16\\x03", 400, "-");
        let observing = Observing { scenario: Some(shop()), ..Observing::default() };
        let found = observed(&text, &observing).unwrap();
        // The first and the last hour may be cut by the log.
        assert_eq!((found.sessions, found.counts.begun_before, found.counts.going_on), (21, 1, 1));
        let per_session: Vec<(&str, f64)> =
            found.operations.iter().map(|it| (it.name.as_str(), it.per_session.value)).collect();
        assert_eq!(per_session, [("Home", 1.0), ("Item", 2.0), ("Buy", 10.0 / 21.0)]);
        // 61 s in ten sessions, 40 s in eleven.
        assert!((found.length_s.value - (610.0 + 440.0) / 21.0).abs() < 1e-9);
        // 21 · 3 others for ten.
        assert!((found.others_for_each("Buy").unwrap().value - 6.3).abs() < 1e-9);
        assert_eq!(found.others_for_each("None"), None);
        let notes = found.notes.join("\n");
        for expected in [
            "left out: 1 of 141 lines that cannot be read:\n  access.log:1: has no time in brackets",
            "left out: 1 line without a request of a page",
            "left out: 23 requests (16.5 %) of user agents that say they are programs",
            "left out: 23 requests of styles, scripts, images and fonts",
            "12 requests followed a redirect",
            "23 requests among the operations were answered with status 400",
            "the log may cut 1 session at its begin and 1 at its end: these are left out",
        ] {
            assert!(notes.contains(expected), "{expected} is missing in\n{notes}");
        }
    }

    #[test]
    fn a_short_log_counts_what_it_cuts_and_says_so() {
        let text = line(0, "a", "GET /", 200, "x") + &line(9, "a", "GET /7", 200, "x");
        let found = observed(&text, &Observing::default()).unwrap();
        assert_eq!((found.sessions, found.length_s.value), (1, 9.0));
        assert!(found.notes.join("\n").contains("take a longer one"), "{:?}", found.notes);
        let names: Vec<_> = found.operations.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["/", "/{id}"]);
    }

    #[test]
    fn a_log_without_sessions_says_why() {
        let bots = line(0, "a", "GET /", 200, "curl/8");
        let error = observed(&bots, &Observing::default()).unwrap_err();
        assert!(error.contains("count them with --with-bots"), "{error}");
        let with_bots = Observing { with_bots: true, ..Observing::default() };
        assert_eq!(observed(&bots, &with_bots).unwrap().sessions, 1);
        let other = Observing { scenario: Some(shop()), ..Observing::default() };
        let error = observed(&line(0, "a", "GET /x", 200, "x"), &other).unwrap_err();
        assert!(error.contains("name the scenario of this site"), "{error}");
        let error = observed("", &Observing::default()).unwrap_err();
        assert!(error.contains("has no session"), "{error}");
    }

    #[test]
    fn a_log_of_a_scenarios_customers_has_the_visits_of_the_scenario() {
        use crate::scenario::walk::{Step, Walk};
        use rand::SeedableRng;
        let scenario = shop();
        let (class, pages) = (&scenario.classes()[0], scenario.pages());
        let mut rng = crate::Rng::seed_from_u64(3);
        let mut lines: Vec<(u32, String)> = Vec::new();
        for session in 0..2000u32 {
            // Sessions overlap, and last less than the pause.
            let (mut at, client) =
                (session * 40, format!("10.0.{}.{}", session / 250, session % 250));
            let mut walk: Walk<()> = Walk::new(class.start);
            walk.visit(class.start, ());
            loop {
                let request = match pages[usize::from(walk.page())].name.as_str() {
                    "Home" => "GET /",
                    "Item" => "GET /items/9",
                    _ => "POST /items/9/buy",
                };
                lines.push((at, line(at, &client, request, 200, "x")));
                at += 7;
                match walk.step(&class.navigation, class.session.max_requests, &mut rng) {
                    Some(Step::Visit(page)) => walk.visit(page, ()),
                    Some(Step::Again) => walk.again(),
                    Some(Step::Back) => {
                        walk.back(|page| pages[usize::from(page)].repeat);
                    }
                    None => break,
                }
            }
        }
        lines.sort();
        let text: String = lines.into_iter().map(|(_, line)| line).collect();
        let observing = Observing { scenario: Some(scenario.clone()), ..Observing::default() };
        let found = observed(&text, &observing).unwrap();
        assert!(found.sessions > 1800, "{}", found.sessions);
        for (page, operation) in found.operations.iter().enumerate() {
            let expected = scenario.page_visits().per_session(page).value;
            let off = (operation.per_session.value / expected - 1.0).abs();
            assert!(off < 0.08, "{operation:?} {expected}");
        }
    }

    proptest! {
        #[test]
        fn requests_of_operations_are_those_of_sessions(
            of in proptest::collection::vec((0..50_000u32, 0..9u8, 0..4u8), 1..60),
        ) {
            let mut of = of;
            of.sort_unstable();
            let text: String = of
                .iter()
                .map(|(at, client, page)| line(*at, &client.to_string(), &format!("GET /p{page}x"), 200, "x"))
                .collect();
            let short = Observing { pause: Duration::from_secs(1000), ..Observing::default() };
            let found = observed(&text, &short).unwrap();
            let inside: u64 = found.operations.iter().map(|it| it.requests).sum();
            prop_assert!(inside <= found.counts.requests);
            prop_assert_eq!(found.counts.requests, of.len() as u64);
            let each: f64 = found.operations.iter().map(|it| it.per_session.value).sum();
            prop_assert!((each * found.sessions as f64 - inside as f64).abs() < 1e-6);
            if found.counts.cut_are_in {
                prop_assert_eq!(inside, found.counts.requests);
            }
        }
    }
}
