//! Requests without a response count in the response times, for as long as they waited.

use std::time::Duration;

use crate::common::{Manner, Server, loop_of, plan};
use tidegate_load::{Percentiles, Scenario, Summary, report, run};

const MS: Duration = Duration::from_millis(1);
const NEVER: Duration = Duration::from_secs(3600);

fn measure(scenario: Scenario, server: &Server, per_s: f64, sessions: u64) -> Summary {
    let mut plan = plan(scenario, server, per_s, sessions);
    plan.measure = 1500 * MS;
    run(plan, &mut |_| ()).unwrap()
}

fn bounds(times: &Percentiles) -> Vec<&'static str> {
    times.lower_bounds.names().collect()
}

#[test]
fn a_service_that_never_answers_a_third_has_no_p95_below_the_patience() {
    let server = Server::start(Manner::Delays(|n| if n % 3 == 0 { NEVER } else { MS }));
    let text = "[thresholds]\nresponse_p50_ms = { max = 400 }\nresponse_p95_ms = { max = 5000 }\n\
                response_mean_ms = { max = 5000 }\n\
                [session]\nstart = \"Home\"\nmax_requests = 1\npatience = \"400ms\"\n\
                [pages]\nHome = { path = \"/\" }\n[transitions]\nHome = { Home = 1 }\n";
    let scenario = Scenario::from_toml(text, "third.toml").unwrap();
    let summary = measure(scenario, &server, 60.0, 60);
    let times = &summary.response;
    // The probe of the target is the server's first request, so the first sessions are answered.
    assert_eq!(times.count + times.unanswered, 60);
    assert!((19..=21).contains(&times.unanswered), "{times:?}");
    assert_eq!(bounds(times), ["mean_ms", "p90_ms", "p95_ms", "p99_ms", "p99_9_ms", "max_ms"]);
    assert!(times.p95_ms >= 400.0 && times.p50_ms < 400.0, "{times:?}");
    assert_eq!(summary.pages["Home"].response.p95_ms, times.p95_ms);
    let met: Vec<bool> = summary.thresholds.iter().map(|verdict| verdict.met).collect();
    assert_eq!(met, [true, false, true]);
    let text = report(&summary);
    let missed = format!("MISSED response_p95_ms > {:.3} (at most 5000)", times.p95_ms);
    assert!(text.contains(&missed) && text.contains(" p95 >4"), "{text}");
    assert!(text.contains(&format!("{} without a response", times.unanswered)), "{text}");
    // What other tools show.
    assert_eq!(summary.response_uncorrected.unanswered, 0);
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["response"]["lower_bounds"][2], "p95_ms");
}

#[test]
fn a_service_that_freezes_in_the_last_second_shows_it() {
    let server = Server::start(Manner::Stall { from: 500 * MS, to: NEVER });
    let summary = measure(loop_of(1, ""), &server, 100.0, 1000);
    let (times, open) = (&summary.response, summary.totals.requests_cut_off);
    // Nobody lost patience, and nothing failed.
    assert_eq!((summary.totals.abandoned, summary.totals.requests_failed), (0, 0));
    // Those of the last second at least; a server that is late has more under way.
    assert!((90..=150).contains(&open) && times.open == open, "{open} {times:?}");
    assert_eq!(times.count + open, 150);
    assert!(times.p99().is_lower_bound && times.p99_ms > 900.0, "{times:?}");
    assert!(report(&summary).contains(&format!("open at the end {open}")), "{}", report(&summary));
    let last = summary.stretches.last().unwrap();
    assert!(last.open.is_some() && summary.stretches[0].open.is_none());
}

#[test]
fn broken_responses_count_and_refusals_do_not() {
    let broken = measure(loop_of(1, ""), &Server::start(Manner::Half), 100.0, 10);
    assert_eq!((broken.response.count, broken.response.unanswered), (0, 10));
    let refused = measure(loop_of(1, ""), &Server::start(Manner::Reset), 100.0, 10);
    assert_eq!(refused.totals.refused, 10);
    assert!(refused.response.is_empty(), "{:?}", refused.response);
}

#[test]
fn every_session_that_was_due_counts_however_late_the_load_generator_is() {
    let server = Server::start(Manner::Stall { from: Duration::ZERO, to: NEVER });
    // One every 50 µs: some of them are due after the loop last looked and before the end.
    let mut late = plan(loop_of(1, ""), &server, 20_000.0, u64::MAX);
    (late.measure, late.max_in_flight, late.threads) = (300 * MS, 10, 1);
    let totals = run(late, &mut |_| ()).unwrap().totals;
    assert_eq!(totals.offered, 6_000);
    assert_eq!(totals.started + totals.not_started, totals.offered);
}
