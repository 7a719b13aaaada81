//! How sessions are counted, limited and forgotten.

use super::*;
use tidegate_control::{AGES, age};

const ALICE: SessionId = [1; 16];
const LINGER: Duration = Duration::from_secs(20);
const GATE: ClosedBy = ClosedBy::Gate { idle_ticks: 0 };

fn rules(open: u32, capacity: usize) -> Rules {
    Rules {
        connections: Allowance { rate: 20.0, burst: 100.0, open },
        requests: Allowance { rate: 50.0, burst: 500.0, open: 500 },
        linger: LINGER,
        capacity,
    }
}

fn sessions(capacity: usize) -> Arc<Sessions> {
    Sessions::new(rules(1_000, capacity))
}

fn at(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn a_burst_passes_and_then_the_rate_counts() {
    let sessions = sessions(10);
    let _first = sessions.start(ALICE, at(0));
    let passed = (0..500).filter(|_| sessions.connect(ALICE, at(0)).is_ok()).count();
    assert_eq!(passed, 99);
    let passed = (0..500).filter(|_| sessions.connect(ALICE, at(1_000)).is_ok()).count();
    assert_eq!(passed, 20);
}

#[test]
fn a_ticket_whose_handshake_does_not_finish_changes_nothing() {
    let sessions = sessions(10);
    sessions.start(ALICE, at(0)).close(GATE, at(0));
    for _ in 0..500 {
        drop(sessions.recognize(ALICE, at(1)).unwrap());
    }
    assert_eq!(sessions.active(), 1);
    let passed = (0..500).filter(|_| sessions.connect(ALICE, at(1)).is_ok()).count();
    assert_eq!(passed, 99);
}

#[test]
fn handshakes_that_finish_together_do_not_exceed_the_rate() {
    let sessions = sessions(10);
    let _first = sessions.start(ALICE, at(0));
    let begun: Vec<_> = (0..500).filter_map(|_| sessions.recognize(ALICE, at(0)).ok()).collect();
    let proved: Vec<_> = begun.into_iter().map(|unproven| unproven.prove(at(0))).collect();
    assert_eq!(proved.iter().filter(|proved| proved.is_ok()).count(), 99);
    assert_eq!(sessions.recognize(ALICE, at(0)).unwrap_err(), SessionLimit::Rate);
}

#[test]
fn a_session_has_a_limit_of_open_connections() {
    let sessions = Sessions::new(rules(3, 10));
    let first = sessions.start(ALICE, at(0));
    let more = [1, 2].map(|ms| sessions.recognize(ALICE, at(ms)).unwrap().prove(at(ms)));
    assert!(more.iter().all(Result::is_ok));
    assert_eq!(sessions.recognize(ALICE, at(3)).unwrap_err(), SessionLimit::Connections);
    first.close(GATE, at(4));
    assert!(sessions.recognize(ALICE, at(5)).is_ok());
}

#[test]
fn a_session_ends_when_its_customer_closes_the_last_connection() {
    let sessions = sessions(10);
    let (one, two) = (sessions.start(ALICE, at(0)), sessions.connect(ALICE, at(1)).unwrap());
    one.close(ClosedBy::Customer, at(2));
    assert_eq!(sessions.active(), 1);
    two.close(ClosedBy::Customer, at(3));
    assert_eq!(sessions.active(), 0);
    let _back = sessions.connect(ALICE, at(4)).unwrap();
    assert_eq!((sessions.active(), sessions.started()), (1, 1));
}

#[test]
fn a_session_whose_connection_the_gate_closed_lingers() {
    let sessions = sessions(10);
    sessions.start(ALICE, at(0)).close(GATE, at(5));
    sessions.expire(at(20_004));
    assert_eq!(sessions.active(), 1);
    sessions.expire(at(20_005));
    assert_eq!(sessions.active(), 0);
}

#[test]
fn a_session_that_lingers_is_thinking_until_it_returns_or_is_forgotten() {
    let sessions = sessions(10);
    let known = || {
        let mut counts = CensusCounts::default();
        sessions.tick(&mut counts);
        (counts.thinking.iter().sum::<u64>(), counts.requests_by_age)
    };
    let mut requests_by_age = [0; AGES];
    (0..10).for_each(|_| _ = known());
    sessions.start(ALICE, at(0)).close(ClosedBy::Gate { idle_ticks: 6 }, at(1_000));
    assert_eq!(known(), (1, requests_by_age));
    // The session has been thinking since tick 4; this is the eleventh.
    let open = sessions.connect(ALICE, at(1_100)).unwrap();
    requests_by_age[age(7)] += 1;
    assert_eq!(known(), (0, requests_by_age));
    // A further connection does not end a think time.
    sessions.connect(ALICE, at(1_200)).unwrap().close(GATE, at(1_300));
    requests_by_age[0] += 1;
    assert_eq!(known(), (0, requests_by_age));
    open.close(GATE, at(1_400));
    assert_eq!(known(), (1, requests_by_age));
    sessions.expire(at(60_000));
    assert_eq!(known(), (0, requests_by_age));
    // A session that has ended or was forgotten has no think time either.
    sessions.connect(ALICE, at(60_001)).unwrap().close(ClosedBy::Customer, at(60_002));
    sessions.connect(ALICE, at(60_003)).unwrap().close(ClosedBy::Customer, at(60_004));
    requests_by_age[0] += 2;
    assert_eq!(known(), (0, requests_by_age));
}

#[test]
fn a_session_that_has_ended_is_forgotten_at_once() {
    let sessions = sessions(10);
    sessions.start(ALICE, at(0)).end_session();
    assert_eq!((sessions.active(), sessions.started()), (0, 1));
    let shard = lock(&sessions.shards[1]);
    assert!(shard.sessions.is_empty() && shard.leaving.is_empty());
}

#[test]
fn a_session_that_returned_is_not_expired_by_its_former_close() {
    let sessions = sessions(10);
    sessions.start(ALICE, at(0)).close(GATE, at(5));
    let _open = sessions.connect(ALICE, at(10)).unwrap();
    sessions.expire(at(60_000));
    assert_eq!(sessions.active(), 1);
}

#[test]
fn the_oldest_sessions_without_connections_make_room_and_open_sessions_stay() {
    let sessions = sessions(SHARDS);
    let id = |n: u8| [0, n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let _open = sessions.start(id(1), at(0));
    for n in 2..50 {
        sessions.start(id(n), at(1)).close(GATE, at(1));
    }
    assert_eq!(sessions.active(), 2);
}

#[test]
fn connecting_and_closing_repeatedly_takes_no_memory() {
    let sessions = sessions(10);
    sessions.start(ALICE, at(0)).close(GATE, at(0));
    for n in 0..2_000 {
        sessions.connect(ALICE, at(n * 100)).unwrap().close(GATE, at(n * 100));
    }
    assert!(lock(&sessions.shards[1]).leaving.len() < 100);
}

#[test]
fn requests_have_a_rate_and_a_most_of_their_own() {
    let sessions = sessions(10);
    let _first = sessions.start_by_request(ALICE, at(0));
    let open: Vec<_> = (0..900).filter_map(|_| sessions.request(ALICE, at(0)).ok()).collect();
    assert_eq!(open.len(), 499);
    let full = sessions.request(ALICE, at(1_000)).unwrap_err();
    assert_eq!(full, SessionLimit::Connections, "those under way count");
    open.into_iter().for_each(|request| request.close(GATE, at(1_000)));
    let passed = (0..900).filter(|_| sessions.request(ALICE, at(1_000)).is_ok()).count();
    assert_eq!(passed, 50);
    assert_eq!(sessions.request(ALICE, at(1_000)).unwrap_err(), SessionLimit::Rate);
}

#[test]
fn a_session_is_kept_after_its_last_connection_whoever_closed_it() {
    let sessions = sessions(10);
    for by in [ClosedBy::Customer, GATE] {
        let one = sessions.start(ALICE, at(0));
        one.keep(Duration::from_secs(60));
        let two = sessions.connect(ALICE, at(50_000)).unwrap();
        one.close(by, at(51_000));
        two.close(by, at(100_000));
        sessions.expire(at(130_000));
        sessions.expire(at(159_999));
        assert_eq!(sessions.active(), 1);
        // Forgotten within the linger time after that.
        sessions.expire(at(180_000));
        assert_eq!(sessions.active(), 0);
    }
}

#[test]
fn a_session_that_the_service_has_ended_loads_the_rest_of_the_page_and_counts_again_later() {
    let sessions = sessions(10);
    let open = sessions.start_by_request(ALICE, at(0));
    open.keep(Duration::from_secs(60));
    open.gives_its_place_back(at(1_000));
    open.close(GATE, at(1_000));
    for ms in [1_001, 20_000] {
        sessions.request(ALICE, at(ms)).unwrap().close(GATE, at(ms));
        assert_eq!(sessions.active(), 0);
    }
    let back = sessions.request(ALICE, at(21_000)).unwrap();
    assert_eq!(sessions.active(), 1);
    back.close(ClosedBy::Customer, at(21_000));
    assert_eq!(sessions.active(), 0, "it is kept no more");
}
