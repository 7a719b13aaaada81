//! How connections are kept, closed and spread over source addresses.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::common::{Manner, Server, loop_of, plan};
use tidegate_load::{Arrivals, Close, KeepAlive, Plan, Scenario, Sources, Totals, run};

const AT_ONCE: Manner = Manner::Answer { after: Duration::ZERO };

fn totals(plan: Plan) -> Totals {
    run(plan, &mut |_| ()).unwrap().totals
}

/// Connections without the probe.
fn connections(server: &Server) -> u64 {
    server.connections.load(Ordering::Relaxed) - 1
}

#[test]
fn a_connection_per_request_resumes_within_the_session() {
    let server = Server::start(AT_ONCE);
    let mut plan = plan(loop_of(4, ""), &server, 200.0, 10);
    plan.keep = KeepAlive::Request;
    let totals = totals(plan);
    assert_eq!((totals.completed, totals.requests_ok), (10, 40));
    assert_eq!(connections(&server), 40);
    assert_eq!((totals.full_ok, totals.resumed_ok), (10, 30), "{totals:?}");
}

#[test]
fn a_connection_per_session_is_opened_by_each_session() {
    let server = Server::start(AT_ONCE);
    let mut plan = plan(loop_of(4, ""), &server, 1.0, 10);
    plan.arrivals = Some(Arrivals::closed(2));
    plan.time_scale = 0.001;
    plan.patience_scale = 1000.0;
    let totals = totals(plan);
    assert_eq!((totals.completed, totals.full_ok, totals.resumed_ok), (10, 10, 0));
    assert_eq!(connections(&server), 10);
}

#[test]
fn a_customer_of_the_closed_model_keeps_it_from_session_to_session() {
    let server = Server::start(AT_ONCE);
    let mut kept = plan(loop_of(4, ""), &server, 1.0, 30);
    kept.arrivals = Some(Arrivals::closed(3));
    kept.keep = KeepAlive::Customer;
    let totals_of = totals(kept.clone());
    assert_eq!((totals_of.completed, totals_of.requests_ok), (30, 120));
    assert_eq!((totals_of.admitted, totals_of.full_ok), (30, 3), "{totals_of:?}");
    assert_eq!(connections(&server), 3);

    // Where the server closes it in between, the ticket is kept all the same.
    let server = Server::start(Manner::CloseAfter { answers: 4 });
    kept.target = server.url.clone();
    let totals_of = totals(kept.clone());
    assert_eq!(totals_of.completed, 30, "{totals_of:?}");
    assert_eq!((totals_of.full_ok, totals_of.resumed_ok), (3, 27), "{totals_of:?}");

    kept.arrivals = Some(Arrivals::even(10.0));
    let error = run(kept, &mut |_| ()).unwrap_err().to_string();
    assert!(error.starts_with("keep: customers with a single session"), "{error}");
}

#[test]
fn connections_end_by_shutdown_or_reset_as_asked() {
    for (close, by_shutdown) in [(Close::Shutdown, true), (Close::Reset, false)] {
        let server = Server::start(AT_ONCE);
        let mut plan = plan(loop_of(2, ""), &server, 500.0, 20);
        plan.close = close;
        assert_eq!(totals(plan).completed, 20);
        // The probe is shut down.
        let ends = ends(&server, 21);
        assert_eq!(ends.len(), 21);
        let shut = ends.iter().filter(|shut| **shut).count();
        assert_eq!(shut, if by_shutdown { 21 } else { 1 }, "{close:?}");
    }
}

#[test]
fn connections_at_rest_when_the_run_ends_are_closed_as_asked() {
    let text = "[session]\nstart = \"Home\"\nthink = \"10h\"\n[pages]\nHome = { path = \"/\" }\n\
                [transitions]\nHome = { Home = 1 }\n";
    let scenario = tidegate_load::Scenario::from_toml(text, "rest.toml").unwrap();
    // More than the runtime lets run in one turn.
    const MANY: usize = 150;
    for (close, shut) in [(Close::Shutdown, MANY + 1), (Close::Reset, 1)] {
        let server = Server::start(AT_ONCE);
        let mut plan = plan(scenario.clone(), &server, 1000.0, MANY as u64);
        plan.close = close;
        plan.stop = tidegate_load::Stop::default();
        let stop = plan.stop.clone();
        let summary = run(plan, &mut |snapshot| {
            if snapshot.totals.requests_ok >= MANY as u64 {
                stop.stop();
            }
        });
        assert_eq!(summary.unwrap().totals.cut_off, MANY as u64);
        let ends = ends(&server, MANY + 1);
        assert_eq!(ends.iter().filter(|end| **end).count(), shut, "{close:?}");
    }
}

/// Whether connections were shut down, of so many that have ended; the server may
/// still be about to notice.
fn ends(server: &Server, count: usize) -> Vec<bool> {
    let deadline = Instant::now() + Duration::from_secs(60);
    while server.ends.lock().unwrap().len() < count && Instant::now() < deadline {
        std::thread::yield_now();
    }
    server.ends.lock().unwrap().clone()
}

#[test]
fn connections_come_from_all_addresses_in_turn() {
    let server = Server::start(AT_ONCE);
    let mut plan = plan(loop_of(1, ""), &server, 500.0, 40);
    plan.sources = Sources::parse("127.9.0.0/16").unwrap();
    assert_eq!(totals(plan.clone()).completed, 40);
    let peers = |skip| server.peers.lock().unwrap()[skip..].to_vec();
    let apart: BTreeSet<_> = peers(1).into_iter().collect();
    assert_eq!(apart.len(), 40);
    assert!(apart.iter().all(|ip| ip.to_string().starts_with("127.9.")), "{apart:?}");
    plan.sources = Sources::System;
    assert_eq!(totals(plan).completed, 40);
    assert!(peers(42).iter().all(|ip| ip.to_string() == "127.0.0.1"));
}

#[test]
fn a_request_that_is_not_idempotent_is_never_sent_twice() {
    for (method, sent_twice) in [("POST", false), ("PATCH", false), ("PUT", true), ("GET", true)] {
        let server = Server::start(Manner::CloseUnanswered { answers: 1 });
        let text = format!(
            "[session]\nsteps = [\"Home\", \"Order\"]\nthink = \"1ms\"\n[pages]\n\
             Home = {{ path = \"/\" }}\nOrder = {{ path = \"/order\", method = \"{method}\" }}\n"
        );
        let scenario = Scenario::from_toml(&text, "order.toml").unwrap();
        let totals = totals(plan(scenario, &server, 100.0, 5));
        let orders = server.paths().iter().filter(|path| *path == "/order").count();
        // Sent again it is the first request of its connection, and answered.
        let expected = if sent_twice { (5, 0, 5, 10) } else { (0, 5, 0, 5) };
        let found = (totals.completed, totals.failed, totals.retries, orders);
        assert_eq!(found, expected, "{method}: {totals:?}");
        let closed = totals.failed_by_kind.get("closed").copied().unwrap_or(0);
        assert_eq!(closed, expected.1, "{method}: {totals:?}");
    }
}
