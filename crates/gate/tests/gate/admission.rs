//! Admit, hold, refuse, over real sockets.

use crate::common::*;
use rustls::StreamOwned;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_gate::telemetry::labels::Class;

/// One new session is admitted, and no other for a long time.
fn one_only(more: &str) -> String {
    format!("[admission]\npolicy = \"static\"\nrate = 0.01\n{more}\n")
}

#[test]
fn a_refusal_is_a_reset_and_active_sessions_are_admitted_all_the_same() {
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let gate = gate(hello(), &one_only("hold_time = \"0s\""));
        let active = Arc::new(client(&[version]));
        get(&mut connect(&gate, &active), "/").unwrap();
        for refused in 1..=3 {
            let error = get(&mut connect(&gate, &any_client()), "/").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            assert_eq!(gate.totals().refused[Class::New], refused);
            let mut again = connect(&gate, &active);
            assert_eq!(get(&mut again, "/").unwrap().text(), "hello");
            let seen = again.get_ref().conn.protocol_version();
            assert_eq!(seen, Some(version.version));
        }
        let totals = gate.totals();
        assert_eq!((totals.admitted[Class::New], totals.admitted[Class::Returning]), (1, 3));
        assert_eq!(totals.handshakes_ok.values(), &[1, 3], "none for the refused");
    }
}

#[test]
fn a_refusal_may_be_an_alert() {
    let gate = gate(hello(), &one_only("hold_time = \"0s\"\nrefuse = \"alert\""));
    get(&mut connect(&gate, &any_client()), "/").unwrap();
    let error = get(&mut connect(&gate, &any_client()), "/").unwrap_err();
    assert!(error.to_string().contains("InternalError"), "{error}");
}

#[test]
fn held_sessions_are_admitted_in_order_with_the_next_budget() {
    let gate = gate(hello(), "[admission]\npolicy = \"static\"\nrate = 4.0\nhold_time = \"20s\"\n");
    let customers: Vec<_> = (0..6)
        .map(|_| {
            let mut connection = connect(&gate, &any_client());
            // Sends the hello.
            let StreamOwned { conn, sock } = connection.get_mut();
            conn.write_tls(sock).unwrap();
            connection
        })
        .collect();
    counted(&gate, "all were decided on", |totals| {
        totals.admitted[Class::New] + totals.held[Class::New] == 6
    });
    for mut connection in customers {
        assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
    }
    let totals = gate.totals();
    // How many are admitted at once depends on how fast they connect.
    assert!(totals.held[Class::New] >= 1, "{totals:?}");
    assert_eq!(totals.hold_admitted, totals.held[Class::New]);
    assert_eq!((totals.refused[Class::New], totals.holding, totals.holding_bytes), (0, 0, 0));
}

/// A complete hello as bytes.
fn some_hello() -> Vec<u8> {
    let name = "localhost".try_into().unwrap();
    let mut session = rustls::ClientConnection::new(any_client(), name).unwrap();
    let mut bytes = Vec::new();
    session.write_tls(&mut bytes).unwrap();
    bytes
}

/// A customer who has sent a hello and nothing else.
fn send_hello(gate: &tidegate_gate::Gate) -> TcpStream {
    let mut socket = TcpStream::connect(gate.address()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(&some_hello()).unwrap();
    socket
}

#[test]
fn the_queue_is_bounded_and_the_oldest_makes_room() {
    let gate = gate(hello(), &one_only("hold_time = \"20s\"\nhold_connections = 1"));
    get(&mut connect(&gate, &any_client()), "/").unwrap();
    let mut first = send_hello(&gate);
    counted(&gate, "held", |totals| totals.holding == 1);
    let _second = send_hello(&gate);
    assert_eq!(first.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    counted(&gate, "the second replaces the first", |totals| {
        (totals.held[Class::New], totals.holding, totals.hold_expired) == (2, 1, 1)
    });
}

#[test]
fn a_customer_who_closes_leaves_the_queue_at_the_next_decision() {
    let gate = gate(hello(), &one_only("hold_time = \"20s\""));
    get(&mut connect(&gate, &any_client()), "/").unwrap();
    let waiting = send_hello(&gate);
    counted(&gate, "held", |totals| totals.holding == 1);
    drop(waiting);
    counted(&gate, "left", |totals| totals.hold_left == 1 && totals.holding == 0);
    assert_eq!(gate.totals().hold_expired, 0);
}

#[test]
fn where_customers_hang_up_in_the_queue_nobody_waits_for_the_hold_time() {
    const HOLD_TIME: Duration = Duration::from_secs(20);
    let gate = gate(hello(), &one_only("hold_time = \"20s\""));
    get(&mut connect(&gate, &any_client()), "/").unwrap();
    // One after another: what was learned is summed up at most ten times a second.
    for hung_up in 1..=4 {
        let waiting = send_hello(&gate);
        counted(&gate, "held", |totals| totals.holding == 1);
        std::thread::sleep(Duration::from_millis(300));
        drop(waiting);
        counted(&gate, "left", |totals| totals.hold_left == hung_up && totals.holding == 0);
    }
    let begun = Instant::now();
    let mut patient = send_hello(&gate);
    assert_eq!(patient.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let waited = begun.elapsed();
    assert!(waited < HOLD_TIME / 2, "{waited:?}");
    assert_eq!(gate.totals().hold_expired, 1);
}

#[test]
fn a_hello_larger_than_the_limit_of_held_bytes_is_refused() {
    let gate = gate_with(hello(), &one_only("hold_time = \"20s\""), |config| {
        config.admission.hold_bytes = some_hello().len() - 1;
    });
    get(&mut connect(&gate, &any_client()), "/").unwrap();
    let mut refused = send_hello(&gate);
    assert_eq!(refused.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let totals = gate.totals();
    assert_eq!((totals.refused[Class::New], totals.holding_bytes), (1, 0));
}

#[test]
fn queued_sessions_are_refused_when_the_gate_closes() {
    let gate = gate(hello(), &one_only("hold_time = \"20s\""));
    get(&mut connect(&gate, &any_client()), "/").unwrap();
    let mut waiting = send_hello(&gate);
    counted(&gate, "held", |totals| totals.holding == 1);
    gate.drain();
    assert_eq!(waiting.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_queued_session_is_refused_when_its_time_is_up() {
    let gate = gate(hello(), &one_only("hold_time = \"100ms\""));
    get(&mut connect(&gate, &any_client()), "/").unwrap();
    let mut waiting = send_hello(&gate);
    assert_eq!(waiting.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let totals = gate.totals();
    assert_eq!(
        (totals.held[Class::New], totals.hold_expired, totals.refused[Class::New]),
        (1, 1, 0)
    );
    assert!(totals.hold_ns >= 100_000_000);
}

#[test]
fn connections_above_the_limit_are_reset() {
    let gate = gate(hello(), "[limits]\nmax_connections = 1\n");
    let mut one = connect(&gate, &any_client());
    get(&mut one, "/").unwrap();
    let error = get(&mut connect(&gate, &any_client()), "/").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(get(&mut one, "/").unwrap().text(), "hello");
    drop(one);
    counted(&gate, "closed", |totals| totals.open == 0);
    get(&mut connect(&gate, &any_client()), "/").unwrap();
}
