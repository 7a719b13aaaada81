//! Customers against a server of known manners.

use std::time::Duration;

use crate::common::openssl::SServer;
use crate::common::{Manner, Server, loop_of, plan};
use tidegate_load::{Arrivals, RunStage, Scenario, Summary, TlsVersions, run};

const MS: Duration = Duration::from_millis(1);

fn quiet(plan: tidegate_load::Plan) -> Summary {
    run(plan, &mut |_| ()).unwrap()
}

#[test]
fn a_known_delay_is_measured() {
    let server = Server::start(Manner::Answer { after: 50 * MS });
    let summary = quiet(plan(loop_of(5, ""), &server, 200.0, 40));
    let totals = &summary.totals;
    assert_eq!((totals.offered, totals.started, totals.completed), (40, 40, 40));
    assert_eq!(totals.requests_ok, 200);
    assert_eq!(summary.response.count, 200);
    // The first request of each session also connects.
    assert!(summary.response.p50_ms >= 49.9, "{:?}", summary.response);
    assert!(summary.phases.first_byte.p50_ms >= 49.9, "{:?}", summary.phases);
    assert_eq!((totals.full_ok, totals.resumed_ok), (40, 0));
    assert_eq!(summary.completed_ratio, 1.0);
    assert_eq!(summary.pages["Home"].ok, 200);
}

#[test]
fn a_stall_is_counted_from_the_intended_start() {
    let server = Server::start(Manner::Stall { from: 200 * MS, to: 1200 * MS });
    let mut plan = plan(loop_of(1, ""), &server, 200.0, 300);
    plan.measure = 3 * Duration::from_secs(1);
    let summary = quiet(plan);
    // 200 of the 300 arrive within the second of silence and wait for its
    // end: half a second in the mean of those, and the first one a second. A
    // tool that waits for an answer before it sends the next would show one.
    let response = &summary.response;
    assert_eq!(response.count, 300);
    assert!(response.max_ms >= 950.0, "{response:?}");
    assert!(response.p90_ms >= 700.0, "{response:?}");
    assert!(response.p50_ms >= 150.0, "{response:?}");
    assert!(response.mean_ms >= 250.0, "{response:?}");
}

#[test]
fn a_reset_in_the_handshake_is_a_refusal() {
    let server = Server::start(Manner::Reset);
    let totals = quiet(plan(loop_of(3, ""), &server, 500.0, 20)).totals;
    assert_eq!((totals.refused, totals.refused_by_kind.get("reset")), (20, Some(&20)));
    assert_eq!((totals.admitted, totals.full_attempted, totals.full_ok), (0, 20, 0));
    assert_eq!((totals.failed, totals.requests_ok), (0, 0));
}

#[test]
fn an_alert_and_a_silent_close_are_refusals_of_their_own_kind() {
    for (manner, kind) in [(Manner::Alert, "alert"), (Manner::Close, "closed")] {
        let server = Server::start(manner);
        let summary = quiet(plan(loop_of(3, ""), &server, 500.0, 10));
        assert_eq!(summary.totals.refused_by_kind.get(kind), Some(&10), "{:?}", summary.totals);
        assert_eq!(summary.exit_code(), 3, "no request succeeded");
    }
}

#[test]
fn customers_without_an_answer_lose_patience() {
    for (manner, stage) in [(Manner::Silent, "first_byte"), (Manner::Deaf, "handshake")] {
        let server = Server::start(manner);
        let mut plan = plan(loop_of(3, "patience = \"4s\""), &server, 500.0, 10);
        plan.patience_scale = 0.2;
        let summary = quiet(plan);
        assert_eq!(summary.totals.abandoned_by_stage.get(stage), Some(&10), "{summary:?}");
        assert_eq!(summary.patience_ms, 800.0);
        assert_eq!(summary.completed_ratio, 0.0);
        assert_eq!(summary.response.count, 0);
    }
}

#[test]
fn a_forged_ticket_is_offered_and_declined() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    // More than are forged at a time.
    let mut plan = plan(loop_of(1, ""), &server, 500.0, 100);
    plan.forged_tickets = true;
    let totals = quiet(plan.clone()).totals;
    assert_eq!((totals.full_attempted, totals.resumed_attempted), (0, 100));
    assert_eq!((totals.full_ok, totals.resumed_ok, totals.resumption_declined), (100, 0, 100));
    assert_eq!(totals.completed, 100);

    plan.insecure = false;
    let error = run(plan, &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("forged_tickets"), "{error}");
}

#[test]
fn a_connection_closed_by_the_server_is_resumed() {
    for tls in [TlsVersions::Only13, TlsVersions::Only12] {
        let server = Server::start(Manner::CloseAfter { answers: 1 });
        let mut plan = plan(loop_of(5, ""), &server, 200.0, 10);
        plan.tls = tls;
        let summary = quiet(plan);
        let totals = &summary.totals;
        assert_eq!(totals.completed, 10, "{tls:?} {totals:?}");
        assert_eq!((totals.full_ok, totals.resumed_ok), (10, 40), "{tls:?}");
        assert_eq!((totals.full_attempted, totals.resumed_attempted), (10, 40), "{tls:?}");
        assert_eq!(summary.full_handshake_share, 0.2);
        assert_eq!(totals.returning_refused, 0);
        assert_eq!(summary.phases.resumed_handshake.count, 40);
    }
}

#[test]
fn a_later_connection_turned_away_is_a_returning_one_refused() {
    let server = Server::start(Manner::OneThenReset { keep: 1 });
    let totals = quiet(plan(loop_of(3, ""), &server, 100.0, 5)).totals;
    assert_eq!((totals.admitted, totals.completed, totals.refused), (1, 0, 4), "{totals:?}");
    assert_eq!((totals.returning_refused, totals.failed), (1, 1));
    assert_eq!(totals.failed_by_kind.get("returning_refused"), Some(&1));
}

#[test]
fn broken_answers_and_errors_fail_the_session_by_kind() {
    for (manner, kind) in [(Manner::Half, "closed"), (Manner::Error, "status_5xx")] {
        let server = Server::start(manner);
        let totals = quiet(plan(loop_of(3, ""), &server, 500.0, 10)).totals;
        assert_eq!(totals.failed_by_kind.get(kind), Some(&10), "{totals:?}");
        assert_eq!((totals.requests_ok, totals.requests_failed), (0, 10));
        assert_eq!((totals.failed_admitted, totals.completed), (10, 0));
    }
}

#[test]
fn a_stop_gives_a_valid_partial_summary() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    let mut plan = plan(loop_of(1000, ""), &server, 100.0, 1_000_000);
    plan.measure = Duration::from_secs(60);
    let stop = plan.stop.clone();
    let mut snapshots = Vec::new();
    let summary = run(plan, &mut |snapshot| {
        snapshots.push(snapshot.clone());
        if snapshot.elapsed_s >= 0.75 {
            stop.stop();
        }
    })
    .unwrap();
    assert!(summary.interrupted);
    assert!((0.7..10.0).contains(&summary.measured_s), "{}", summary.measured_s);
    let totals = &summary.totals;
    assert_eq!(totals.offered, totals.started);
    assert_eq!(totals.started, totals.ended() + totals.cut_off, "{totals:?}");
    assert!(totals.cut_off > 0);
    assert_eq!(snapshots.last().unwrap().stage, RunStage::Done);
    assert_eq!(snapshots.last().unwrap().totals, *totals);
}

#[test]
fn the_warm_up_is_not_counted() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    let mut plan = plan(loop_of(1, ""), &server, 100.0, 1_000_000);
    plan.arrivals = Some(Arrivals::even(100.0));
    plan.warm_up = 500 * MS;
    plan.measure = 500 * MS;
    let summary = quiet(plan);
    assert!((49..=51).contains(&summary.totals.offered), "{}", summary.totals.offered);
    assert_eq!(summary.measured_s, 0.5);
    assert!((98.0..=102.0).contains(&summary.offered_per_s));
    assert!(!summary.interrupted);
    assert_eq!(summary.series.len(), 1);
}

#[test]
fn an_unreachable_target_is_reported_at_once() {
    // A port of the system's choice could be another test's by then.
    let mut plan = tidegate_load::Plan::new(loop_of(1, ""), "https://127.0.0.1:1");
    plan.arrivals = Some(Arrivals::poisson(1.0));
    let error = run(plan, &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    assert_eq!(error.exit_code(), 3);
}

#[test]
fn a_certificate_that_does_not_verify_is_reported_with_the_remedy() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    let mut plan = plan(loop_of(1, ""), &server, 10.0, 1);
    plan.insecure = false;
    let error = run(plan, &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("--insecure"), "{error}");
}

#[test]
fn a_server_that_is_its_own_authority_has_to_be_accepted_without_verification() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (certificate, key) = (path("server.pem"), path("server.key"));
    // openssl sets CA:TRUE by default.
    let made = std::process::Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", &key, "-out", &certificate])
        .output();
    assert!(made.unwrap().status.success());
    let server = SServer::with_page(&["-cert", &certificate, "-key", &key]);
    let mut plan = tidegate_load::Plan::new(loop_of(1, ""), &server.url);
    plan.arrivals = Some(Arrivals::poisson(1.0));
    plan.ca = Some(certificate.into());
    let message = run(plan, &mut |_| ()).unwrap_err().to_string();
    assert!(message.contains("(CA:TRUE)") && message.contains("--insecure"), "{message}");
}

#[test]
fn every_request_is_in_the_raw_file_and_a_full_disk_is_reported() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("raw.jsonl");
    let mut with_raw = plan(loop_of(5, ""), &server, 200.0, 20);
    with_raw.raw = Some(path.clone());
    let summary = quiet(with_raw);
    assert_eq!(summary.raw_error, None);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 100);
    assert!(lines.iter().all(|line| line["status"] == 200 && line["page"] == "Home"));

    let mut full = plan(loop_of(5, ""), &server, 200.0, 20);
    full.raw = Some("/dev/full".into());
    let summary = quiet(full);
    assert!(summary.raw_error.as_ref().is_some_and(|error| error.contains("/dev/full")));
    assert_eq!(summary.exit_code(), 3);
    assert_eq!(summary.totals.completed, 20, "the run itself goes on");
}

#[test]
fn thresholds_decide_the_exit_code() {
    let server = Server::start(Manner::Answer { after: 20 * MS });
    for (limit, code) in [("{ min = 1 }", 0), ("{ max = 1 }", 1)] {
        let text =
            format!("[thresholds]\nresponse_p50_ms = {limit}\n[session]\nstart = \"Home\"\n");
        let rest = "[pages]\nHome = { path = \"/\" }\n[transitions]\nHome = { End = 1 }\n";
        let scenario = tidegate_load::Scenario::from_toml(&(text + rest), "limit.toml").unwrap();
        let mut plan = plan(scenario, &server, 100.0, 20);
        plan.cores = Vec::new();
        let mut summary = quiet(plan);
        // Other tests on the machine may delay the driver; not the point here.
        summary.driver_saturated = false;
        assert_eq!(summary.exit_code(), code, "{:?}", summary.thresholds);
    }
}

#[test]
fn a_session_that_has_lasted_ends_where_it_may_and_is_the_same_until_then() {
    let table = |session: &str| {
        let text = format!(
            "[session]\nstart = \"Home\"\nthink = \"1s\"\n{session}\n[pages]\n\
             Home = {{ path = \"/\" }}\nItem = {{ path = \"/item\" }}\n\
             [transitions]\nHome = {{ Item = 0.5, Home = 0.5 }}\nItem = {{ Item = 0.6, Home = 0.4 }}\n"
        );
        Scenario::from_toml(&text, "shop.toml").unwrap()
    };
    let visit = |session: &str| {
        let server = Server::start(Manner::Answer { after: Duration::ZERO });
        let mut plan = plan(table(session), &server, 200.0, 1);
        // Seconds are milliseconds.
        (plan.time_scale, plan.patience_scale) = (0.001, 1000.0);
        let summary = quiet(plan);
        assert_eq!(summary.totals.completed, 1, "{:?}", summary.totals);
        (server.paths(), summary)
    };
    let (long, _) = visit("max_requests = 300");
    // Cut at its mean, so that it is a minute or less: 60 ms here.
    let (paths, summary) = visit("duration = \"1min\"\nduration_cap = 1");
    assert!(paths.len() < 200, "{}", paths.len());
    assert_eq!(paths, long[..paths.len()]);
    assert_eq!(long[paths.len()], "/", "it ends in place of Home");
    assert!(summary.session_length.mean_requests > 20.0, "{:?}", summary.session_length);
}
