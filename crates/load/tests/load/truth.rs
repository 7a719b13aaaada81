//! What the generator reports beside what a server knows that it did: within 1 %.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::common::{Manner, Server, loop_of, plan};
use tidegate_load::{Scenario, Summary, report, run};

const MS: Duration = Duration::from_millis(1);

fn quiet(plan: tidegate_load::Plan) -> Summary {
    run(plan, &mut |_| ()).unwrap()
}

/// Whether what was found is what is true.
type Finding = Result<(), String>;

/// A machine that is short of time delays driver and server by more than that at
/// times, which no measurement can tell from the service; an error of our own is
/// there in every run. So one of ten has to be right.
fn in_one_of_ten_runs(finding: impl Fn() -> Finding) {
    let wrong: Vec<String> = (0..10).map_while(|_| finding().err()).collect();
    assert!(wrong.len() < 10, "{wrong:#?}");
}

fn within_one_percent(what: &str, found_ms: f64, true_ms: f64) -> Finding {
    between(what, found_ms, true_ms * 0.99..=true_ms * 1.01)
}

fn between(what: &str, found_ms: f64, truth_ms: RangeInclusive<f64>) -> Finding {
    match truth_ms.contains(&found_ms) {
        true => Ok(()),
        false => Err(format!("{what}: {found_ms:.3} ms, in truth {truth_ms:.3?}")),
    }
}

/// The value that a share `q` of them does not exceed, as HdrHistogram defines it.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let rank = (q * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted[rank - 1]
}

#[test]
fn percentiles_of_known_delays_are_within_one_percent() {
    in_one_of_ten_runs(known_delays);
}

fn known_delays() -> Finding {
    // Of each hundred requests 60 take 200 ms, 32 take 300, 5 take 500 and 3 take
    // 800, so that no percentile lies where one delay ends and the next begins.
    let server = Server::start(Manner::Delays(|n| match n % 100 {
        0..60 => 200 * MS,
        60..92 => 300 * MS,
        92..97 => 500 * MS,
        _ => 800 * MS,
    }));
    let mut plan = plan(loop_of(10, ""), &server, 80.0, 60);
    plan.measure = Duration::from_secs(20);
    let summary = quiet(plan);
    assert_eq!(summary.totals.requests_ok, 600);
    let mut truth: Vec<f64> =
        server.delays().into_iter().map(|delay| delay.as_secs_f64() * 1000.0).collect();
    truth.sort_unstable_by(f64::total_cmp);
    assert_eq!(truth.len(), 600);
    let found = &summary.phases.first_byte;
    for (what, found, q) in [
        ("p50", found.p50_ms, 0.5),
        ("p90", found.p90_ms, 0.9),
        ("p95", found.p95_ms, 0.95),
        ("p99", found.p99_ms, 0.99),
    ] {
        within_one_percent(what, found, quantile(&truth, q))?;
    }
    // Think times are none of it, nor of the response time.
    let response = &summary.response;
    assert!(response.p50_ms >= found.p50_ms && response.p90_ms >= found.p90_ms, "{response:?}");
    within_one_percent("mean", found.mean_ms, truth.iter().sum::<f64>() / truth.len() as f64)
}

#[test]
fn a_stall_costs_each_customer_what_is_left_of_it() {
    in_one_of_ten_runs(a_stall);
}

fn a_stall() -> Finding {
    // One customer every 10 ms for three seconds; from 0.5 s on the server sends no
    // response for two seconds. A customer due `a` after the start of the stall waits
    // 2 s - a, however many others wait. A closed loop would record one long response
    // and hide the rest.
    let server = Server::start(Manner::Stall { from: 500 * MS, to: 2500 * MS });
    let times: Vec<Duration> = (0..300).map(|n| 10 * n * MS).collect();
    let mut plan = plan(loop_of(1, ""), &server, 1.0, 300);
    plan.arrivals = Some(tidegate_load::Arrivals::times(times.clone()));
    plan.measure = Duration::from_secs(4);
    let summary = quiet(plan);
    assert_eq!(summary.response.count, 300);
    let mut truth: Vec<f64> = times
        .iter()
        .map(|at| if *at < 500 * MS { 0.0 } else { (2500.0 - at.as_secs_f64() * 1e3).max(0.0) })
        .collect();
    truth.sort_unstable_by(f64::total_cmp);
    // The server's clock begins with the first request, a handshake after the
    // driver's, which is part of what each customer waits.
    let handshake = summary.phases.full_handshake.max_ms.min(20.0);
    let response = &summary.response;
    for (what, found, q) in [
        ("p90", response.p90_ms, 0.9),
        ("p95", response.p95_ms, 0.95),
        ("p99", response.p99_ms, 0.99),
    ] {
        let truth = quantile(&truth, q);
        between(what, found, truth * 0.99..=truth * 1.01 + handshake)?;
    }
    let mean = truth.iter().sum::<f64>() / truth.len() as f64;
    between("mean", response.mean_ms, mean * 0.99..=mean * 1.01 + handshake)
}

#[test]
fn patience_ends_after_just_what_it_is() {
    in_one_of_ten_runs(patience);
}

fn patience() -> Finding {
    let server = Server::start(Manner::Silent);
    let directory = tempfile::tempdir().unwrap();
    let raw = directory.path().join("raw.jsonl");
    let mut plan = plan(loop_of(1, "patience = \"800ms\""), &server, 100.0, 50);
    plan.raw = Some(raw.clone());
    assert_eq!(quiet(plan).totals.abandoned, 50);
    let text = std::fs::read_to_string(raw).unwrap();
    let mut waited: Vec<f64> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|line| line["response_ms"].as_f64().unwrap())
        .collect();
    waited.sort_unstable_by(f64::total_cmp);
    assert_eq!(waited.len(), 50);
    assert!(waited[0] >= 800.0, "{waited:?}");
    within_one_percent("median of what was given up", quantile(&waited, 0.5), 800.0)
}

#[test]
fn the_window_is_as_long_as_asked_though_no_session_is_in_flight() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    let mut plan = plan(loop_of(1, ""), &server, 0.75, 1);
    plan.max_sessions = None;
    plan.measure = Duration::from_secs(2);
    let summary = quiet(plan);
    assert_eq!(summary.measured_s, 2.0);
    let sessions = summary.totals.offered as f64;
    assert!(sessions >= 1.0, "{summary:?}");
    assert_eq!((summary.offered_per_s, summary.completed_per_s), (sessions / 2.0, sessions / 2.0));
    assert!(!summary.interrupted);
}

#[test]
fn a_threshold_without_data_is_missed_and_reported_as_such() {
    let server = Server::start(Manner::Reset);
    let text = "[thresholds]\nresponse_p95_ms = { max = 100 }\n[session]\nstart = \"Home\"\n\
                max_requests = 1\npatience = \"100ms\"\n[pages]\nHome = { path = \"/\" }\n\
                [transitions]\nHome = { Home = 1 }\n";
    let scenario = Scenario::from_toml(text, "limit.toml").unwrap();
    let summary = quiet(plan(scenario, &server, 100.0, 5));
    let verdict = &summary.thresholds[0];
    assert_eq!((verdict.value, verdict.met), (None, false));
    let line = "MISSED response_p95_ms = no data (at most 100)";
    assert!(report(&summary).contains(line), "{}", report(&summary));
    // No request succeeded, so the run failed, whatever the thresholds.
    assert_eq!(summary.exit_code(), 3);
}

#[test]
fn the_report_has_the_percentile_of_one_in_a_thousand() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    let summary = quiet(plan(loop_of(1, ""), &server, 100.0, 5));
    assert!(summary.response.p99_9_ms >= summary.response.p99_ms);
    assert!(report(&summary).contains(" p99.9 "), "{}", report(&summary));
}
