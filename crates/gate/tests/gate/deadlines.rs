//! The deadlines of requests and of idle connections, over real sockets.

use crate::common::*;
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use tidegate_gate::telemetry::labels::End;

const HOST: &str = "Host: localhost\r\n";

#[test]
fn an_idle_connection_is_closed_with_a_close_notify() {
    let gate = gate_with(hello(), "", |config| {
        config.limits.idle_deadline = Duration::from_secs(1);
    });
    let mut connection = connect(&gate, &any_client());
    get(&mut connection, "/").unwrap();
    assert_eq!(connection.read(&mut [0; 1]).unwrap(), 0, "close_notify, not a cut");
    counted(&gate, "idle", |totals| totals.ends[End::Idle] == 1);
    assert_eq!(gate.snapshot().sessions_active, 1, "the customer may return");
}

#[test]
fn a_connection_rests_while_its_customer_thinks_and_serves_the_next_request() {
    let gate = gate_with(hello(), "", |config| {
        config.limits.idle_deadline = Duration::from_secs(3);
    });
    for client in [any_client(), client(&[&rustls::version::TLS12]).into()] {
        let mut connection = connect(&gate, &client);
        for _ in 0..2 {
            assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
            counted(&gate, "rest", |totals| totals.resting == 1);
        }
        // A head that comes in two parts wakes it too.
        send(&mut connection, b"GET / HT");
        counted(&gate, "no rest", |totals| totals.resting == 0);
        send(&mut connection, format!("TP/1.1\r\n{HOST}\r\n").as_bytes());
        assert_eq!(receive(&mut connection, "GET").unwrap().text(), "hello");
        counted(&gate, "rest", |totals| totals.resting == 1);
        assert_eq!(connection.read(&mut [0; 1]).unwrap(), 0, "close_notify, not a cut");
    }
    counted(&gate, "idle", |totals| totals.ends[End::Idle] == 2 && totals.resting == 0);
}

#[test]
fn a_resting_connection_ends_when_the_gate_drains_or_its_customer_leaves() {
    let gate = gate(hello(), "");
    let mut stays = connect(&gate, &any_client());
    let mut leaves = connect(&gate, &any_client());
    get(&mut stays, "/").unwrap();
    get(&mut leaves, "/").unwrap();
    counted(&gate, "rest", |totals| totals.resting == 2);
    drop(leaves);
    counted(&gate, "left", |totals| totals.ends[End::Customer] == 1 && totals.resting == 1);
    gate.drain();
    assert_eq!(stays.read(&mut [0; 1]).unwrap(), 0, "close_notify, not a cut");
}

#[test]
fn an_incomplete_request_head_is_cut() {
    let gate = gate(hello(), "[limits]\nhead_deadline = \"500ms\"\n");
    let mut connection = connect(&gate, &any_client());
    send(&mut connection, b"GET / HTTP/1.1\r\nHo");
    assert!(connection.read(&mut [0; 1]).is_err());
    counted(&gate, "cut", |totals| totals.ends[End::HeadDeadline] == 1);
}

#[test]
fn a_body_that_makes_no_progress_is_cut() {
    let gate = gate(hello(), "[limits]\nbody_progress_deadline = \"100ms\"\n");
    let mut connection = connect(&gate, &any_client());
    send(
        &mut connection,
        format!("POST / HTTP/1.1\r\n{HOST}Content-Length: 9\r\n\r\nhal").as_bytes(),
    );
    assert!(connection.read(&mut [0; 1]).is_err());
    counted(&gate, "cut", |totals| totals.ends[End::BodyDeadline] == 1);
}

#[test]
fn without_idle_time_a_connection_serves_one_request() {
    let gate = gate(hello(), "[limits]\nidle_deadline = \"0s\"\n");
    let mut connection = connect(&gate, &any_client());
    assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
    assert_eq!(connection.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn a_body_below_the_least_rate_is_cut_although_it_makes_progress() {
    // Single bytes cannot be sent at that rate.
    let limits = "[limits]\nbody_progress_deadline = \"200ms\"\nupload_rate = 1000000\n";
    let gate = gate(hello(), limits);
    let mut connection = connect(&gate, &any_client());
    let head = format!("POST / HTTP/1.1\r\n{HOST}Content-Length: 1000000000\r\n\r\n");
    let begun = Instant::now();
    send(&mut connection, head.as_bytes());
    let stream = connection.get_mut();
    while stream.write_all(b"x").and_then(|()| stream.flush()).is_ok() {
        assert!(begun.elapsed() < PATIENCE, "it is not cut");
    }
    counted(&gate, "cut", |totals| totals.ends[End::BodyDeadline] == 1);
    assert!(begun.elapsed() >= Duration::from_millis(200), "not before the first deadline");
}
