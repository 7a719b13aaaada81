//! What customers of a scenario do on the site: how often a session requests each page. Pages that
//! are not offered, and what customers do in their place, are among it.

use tidegate_load::Scenario;
use tidegate_plan::Range;
use tidegate_plan::profile::{Profile, Visits};

use super::costs::CONNECTION;
use super::runs::Run;

/// Connections for each request from which they are taken to be one for each.
const FOR_EACH: f64 = 0.8;
/// Standard deviations of a count that are chance.
const BY_CHANCE: f64 = 1.96;

/// Half widths of a measured interval within which it says the same as the simulation.
const SAME: f64 = 2.0;

/// The profile of a scenario on a site. How often a session requests a page is simulated; where a
/// run of the scenario shows something else, because pages are not offered, it is what the run
/// shows: the share of each page in the requests, times the requests of a session. `order` is the
/// page that is an order.
pub(super) fn profile(
    scenario: &Scenario,
    operations: &[String],
    (run, response_s): (&Run, f64),
    order: Option<&str>,
) -> Profile {
    let each = scenario.session_length().mean_requests.max(1.0);
    let requests: f64 = run.counts_per_s.iter().sum::<f64>() * run.seconds;
    let of = |name: &str, per_s: f64| {
        let count = per_s * run.seconds;
        let by_chance = BY_CHANCE * count.max(1.0).sqrt();
        let visits = |count: f64| each * count.max(0.0) / requests.max(1.0);
        let per_session = Range {
            value: visits(count),
            low: visits(count - by_chance),
            high: visits(count + by_chance),
        };
        Visits { operation: name.to_owned(), per_session }
    };
    let mut pages: Vec<Visits> =
        operations.iter().zip(&run.counts_per_s).map(|(name, per_s)| of(name, *per_s)).collect();
    let simulated = |at: usize| {
        let it = scenario.page_visits().per_session(at);
        Range { value: it.value, low: it.low, high: it.high }
    };
    let same = |(at, seen): (usize, &Visits)| {
        let half = (seen.per_session.high - seen.per_session.low) / 2.0;
        (simulated(at).value - seen.per_session.value).abs() <= SAME * half
    };
    if pages.iter().enumerate().all(same) {
        pages.iter_mut().enumerate().for_each(|(at, it)| it.per_session = simulated(at));
    }
    let connections = of(CONNECTION, run.connections_per_s);
    let thinks = scenario.session_duration().as_secs_f64();
    Profile {
        session_s: Range::exactly(thinks + each * response_s),
        sessions: (requests / each).round() as u64,
        checkout: order.map(str::to_owned),
        operations: pages.into_iter().chain([connections]).collect(),
    }
}

/// A given profile with the connections of a session: as many as the scenario's customers make, for
/// each request where they make one for each.
pub(super) fn with_connections(given: &Profile, own: &Profile) -> Profile {
    let mut all = given.clone();
    if let Some(connections) = own.per_session(CONNECTION)
        && all.per_session(CONNECTION).is_none()
    {
        let requests = own.operations_each() - connections.value;
        let for_each = connections.value > FOR_EACH * requests;
        let factor = if for_each { given.operations_each() / requests } else { 1.0 };
        let of = |it: f64| it * factor;
        let per_session = Range {
            value: of(connections.value),
            low: of(connections.low),
            high: of(connections.high),
        };
        all.operations.push(Visits { operation: CONNECTION.to_owned(), per_session });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::costs::tests::run;
    use super::super::options::tests::options;
    use super::*;

    #[test]
    fn visits_are_those_of_the_scenario_unless_the_site_shows_others() {
        let text = "[session]\nsteps = [\"A\", \"B\", \"B\"]\nthink = \"1s\"\n[pages]\n\
                    A = { path = \"/\" }\nB = { path = \"/b\" }\n";
        let scenario = options(text).plan.scenario;
        // For 4 s: 100 and 200 requests with 100 connections.
        let run = run(None, &[25.0, 50.0], 25.0, [1.0, 0.1]);
        let names = ["A", "B"].map(str::to_owned);
        let found = profile(&scenario, &names, (&run, 0.1), Some("B"));
        let of = |name: &str| found.per_session(name).unwrap();
        assert!((of("A").value - 1.0).abs() < 1e-9 && (of("B").value - 2.0).abs() < 1e-9);
        assert!((of(CONNECTION).value - 1.0).abs() < 1e-9);
        assert_eq!((of("A").low, of("A").high), (1.0, 1.0));
        assert!((found.session_s.value - 2.3).abs() < 0.05, "{found:?}");
        assert_eq!((found.sessions, found.checkouts_each().map(|it| it.value)), (100, Some(2.0)));
        // A site that does not offer B as often: 200 and 100 of 300 requests.
        let other = super::super::costs::tests::run(None, &[50.0, 25.0], 25.0, [1.0, 0.1]);
        let found = profile(&scenario, &names, (&other, 0.1), None);
        let a = found.per_session("A").unwrap();
        // Two hundred, give or take 27.7.
        assert!((a.value - 2.0).abs() < 1e-9 && (a.low - 1.7228).abs() < 1e-3, "{a:?}");
    }

    #[test]
    fn a_given_profile_gets_the_connections_of_a_session() {
        let visits = |operation: &str, of: f64| Visits {
            operation: operation.into(),
            per_session: Range::exactly(of),
        };
        let own = Profile {
            session_s: Range::exactly(10.0),
            sessions: 10,
            checkout: None,
            operations: vec![visits("A", 4.0), visits(CONNECTION, 1.0)],
        };
        let given = Profile { operations: vec![visits("A", 8.0)], ..own.clone() };
        assert_eq!(
            with_connections(&given, &own).per_session(CONNECTION),
            Some(Range::exactly(1.0))
        );
        let each = Profile { operations: vec![visits("A", 4.0), visits(CONNECTION, 4.0)], ..own };
        let found = with_connections(&given, &each).per_session(CONNECTION).unwrap();
        assert!((found.value - 8.0).abs() < 1e-9, "{found:?}");
    }
}
