//! What customers do who are turned away or wait too long, by what the server
//! saw of it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::common::{Manner, Server, loop_of, plan};
use tidegate_load::{Arrivals, Plan, Summary, TicketsOf, report, run};

const MS: Duration = Duration::from_millis(1);

fn quiet(plan: Plan) -> Summary {
    run(plan, &mut |_| ()).unwrap()
}

/// Checks that every offered or returned session started or did not, and that every
/// started session ended.
fn adds_up(summary: &Summary) {
    let totals = &summary.totals;
    let came = totals.offered + totals.sessions_returned;
    assert_eq!(came, totals.started + totals.not_started, "{totals:?}");
    assert_eq!(totals.started, totals.ended() + totals.cut_off, "{totals:?}");
}

#[test]
fn a_customer_without_patience_returns_as_often_as_configured() {
    let server = Server::start(Manner::Silent);
    let more = "patience = \"600ms\"\n\
                impatience = { come_back = { back_off = \"20ms\", attempts = 3 } }";
    let summary = quiet(plan(loop_of(3, more), &server, 500.0, 10));
    let totals = &summary.totals;
    assert_eq!((totals.offered, totals.sessions_returned), (10, 20), "{totals:?}");
    assert_eq!((totals.abandoned, totals.requests_reloaded), (30, 0));
    // Each is a session of its own: a connection, a full handshake, a request;
    // the first connection of all is the probe.
    assert_eq!(server.connections.load(Ordering::Relaxed), 31);
    assert_eq!((totals.full_ok, totals.resumed_attempted), (30, 0));
    assert_eq!(server.seen().len(), 30);
    adds_up(&summary);
    let expected = "impatience      20 sessions returned, 0 requests were repeated";
    assert!(report(&summary).contains(expected), "{}", report(&summary));
}

#[test]
fn refused_new_customers_return_until_they_are_admitted() {
    let server = Server::start(Manner::Reset);
    let more = "impatience = { come_back = { back_off = \"10ms\", attempts = 4 } }";
    let summary = quiet(plan(loop_of(1, more), &server, 500.0, 5));
    assert_eq!((summary.totals.refused, summary.totals.sessions_returned), (20, 15));
    assert_eq!(server.connections.load(Ordering::Relaxed), 21);
    adds_up(&summary);
}

#[test]
fn a_customer_that_completed_or_failed_otherwise_does_not_return() {
    for manner in [Manner::Answer { after: Duration::ZERO }, Manner::Error] {
        let server = Server::start(manner);
        let summary = quiet(plan(loop_of(2, "impatience = \"come_back\""), &server, 500.0, 5));
        assert_eq!(summary.totals.sessions_returned, 0);
        adds_up(&summary);
    }
}

#[test]
fn a_hammering_customer_repeats_the_request_within_the_session() {
    let server = Server::start(Manner::Silent);
    let more = "patience = \"600ms\"\nimpatience = { hammer = { attempts = 4 } }";
    let summary = quiet(plan(loop_of(3, more), &server, 500.0, 10));
    let totals = &summary.totals;
    assert_eq!((totals.offered, totals.sessions_returned), (10, 0));
    assert_eq!((totals.abandoned, totals.requests_reloaded), (10, 30), "{totals:?}");
    assert_eq!((totals.requests_failed, totals.admitted), (10, 10));
    assert_eq!(server.seen().len(), 40);
    assert_eq!(server.connections.load(Ordering::Relaxed), 41);
    adds_up(&summary);
}

#[test]
fn a_reloaded_request_counts_from_its_first_intended_start() {
    // The server sends no response for 400 ms; the first requests succeed after a reload.
    let server = Server::start(Manner::Stall { from: Duration::ZERO, to: 400 * MS });
    let more = "patience = \"150ms\"\nimpatience = \"hammer\"";
    let summary = quiet(plan(loop_of(1, more), &server, 500.0, 5));
    let totals = &summary.totals;
    assert_eq!((totals.completed, totals.requests_ok), (5, 5), "{totals:?}");
    // Twice each, or once if timers are late.
    assert!(totals.requests_reloaded >= 5, "{totals:?}");
    assert!(summary.response.p50_ms >= 300.0, "{:?}", summary.response);
}

#[test]
fn with_shared_tickets_a_returning_customer_resumes() {
    let server = Server::start(Manner::Silent);
    let more = "patience = \"600ms\"\n\
                impatience = { come_back = { back_off = \"50ms\", attempts = 2 } }";
    let mut shared = plan(loop_of(1, more), &server, 100.0, 4);
    shared.tickets = Some(TicketsOf::All);
    let totals = quiet(shared).totals;
    assert_eq!(totals.sessions_returned, 4);
    assert!(totals.resumed_attempted > 0, "{totals:?}");
}

#[test]
fn customers_of_the_closed_model_come_back_before_they_think() {
    let server = Server::start(Manner::Silent);
    let more = "patience = \"150ms\"\n\
                impatience = { come_back = { back_off = \"10ms\", attempts = 3 } }";
    let mut closed = plan(loop_of(1, more), &server, 1.0, 4);
    closed.arrivals = Some(Arrivals::closed(2));
    let summary = quiet(closed);
    let totals = &summary.totals;
    assert_eq!((totals.offered, totals.sessions_returned), (4, 8), "{totals:?}");
    adds_up(&summary);
}

#[test]
fn returns_are_bounded_by_the_sessions_in_flight() {
    let server = Server::start(Manner::Silent);
    let more = "patience = \"300ms\"\n\
                impatience = { come_back = { back_off = \"1ms\", attempts = 1000 } }";
    let mut crowd = plan(loop_of(1, more), &server, 1000.0, 50);
    crowd.max_in_flight = 10;
    crowd.measure = 500 * MS;
    let summary = quiet(crowd);
    adds_up(&summary);
    assert!(summary.totals.not_started >= 40, "{:?}", summary.totals);
    assert!(summary.totals.sessions_returned <= 20, "{:?}", summary.totals);
    assert!(summary.driver_saturated);
}
