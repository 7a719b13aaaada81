//! Customers over plain HTTP.

use crate::common::plain::{clear_gate, connect_plain};
use crate::common::*;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use tidegate_gate::Gate;
use tidegate_gate::telemetry::labels::{Class, End};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// One new session is admitted, and no other for a long time.
fn one_only(more: &str) -> String {
    format!("[admission]\npolicy = \"static\"\nrate = 0.01\n{more}\n")
}

/// A customer who has sent a request and waits for the response.
fn request(gate: &Gate) -> BufReader<TcpStream> {
    let mut connection = connect_plain(gate);
    send(&mut connection, GET);
    connection
}

/// Waits for a connection to be reset.
#[track_caller]
fn assert_reset(connection: &mut BufReader<TcpStream>) {
    assert_eq!(connection.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_plain_connection_is_kept_and_proxied_with_its_origin() {
    let (sender, seen) = mpsc::channel();
    let upstream = answering(move |got| {
        sender.send(got).unwrap();
        ok("hello")
    });
    let gate = clear_gate(upstream, "");
    let mut connection = connect_plain(&gate);
    for count in 1..=3 {
        let response = get(&mut connection, "/a?b").unwrap();
        assert_eq!(response.text(), "hello");
        let got = seen.recv().unwrap();
        assert_eq!(got.line, "GET /a?b HTTP/1.1");
        assert_eq!(got.header("x-forwarded-proto"), Some("http"));
        assert_eq!(got.header("x-forwarded-for"), Some("127.0.0.1"));
        assert_eq!(got.header("x-forwarded-host"), Some("localhost"));
        assert_eq!(got.header("via"), Some("1.1 tidegate"));
        let sent = "GET /a?b HTTP/1.1\r\nHost: localhost\r\n\r\n".len() as u64;
        let answer = (response.head.len() + response.body.len()) as u64;
        counted(&gate, "bytes", |totals| {
            (totals.bytes_in, totals.bytes_out) == (count * sent, count * answer)
        });
    }
    let totals = gate.totals();
    assert_eq!((totals.upstream_connects, totals.admitted.values()), (1, &[1, 0]));
    assert_eq!((totals.in_clear, totals.handshakes_by_class.values()), (1, &[0, 0]));
    assert_eq!(
        (totals.handshakes_ok.values(), totals.handshakes_failed.values()),
        (&[0, 0], &[0, 0])
    );
}

#[test]
fn a_plain_session_ends_with_its_connection() {
    let gate = clear_gate(hello(), "[limits]\nidle_deadline = \"500ms\"\n");
    let (mut leaving, mut idle) = (request(&gate), request(&gate));
    receive(&mut leaving, "GET").unwrap();
    receive(&mut idle, "GET").unwrap();
    let snapshot = gate.snapshot();
    assert_eq!((snapshot.sessions_started, snapshot.sessions_active <= 2), (2, true));
    assert_eq!(snapshot.clear_address, gate.clear_address().unwrap().to_string());
    drop(leaving);
    assert_eq!(idle.read(&mut [0; 1]).unwrap(), 0, "closed, not cut");
    until("no session is active", || gate.snapshot().sessions_active == 0);
    counted(&gate, "idle", |totals| totals.ends[End::Idle] >= 1);
}

#[test]
fn returning_customers_over_tls_are_admitted_beside_plain_ones() {
    let gate = clear_gate(hello(), &one_only("hold_time = \"0s\""));
    let active = any_client();
    get(&mut connect(&gate, &active), "/").unwrap();
    assert_reset(&mut request(&gate));
    assert_eq!(get(&mut connect(&gate, &active), "/").unwrap().text(), "hello");
    let totals = gate.totals();
    assert_eq!(
        (totals.admitted.values(), totals.refused.values(), totals.in_clear),
        (&[1, 1], &[1, 0], 0)
    );
}

#[test]
fn a_malformed_plain_request_is_answered_400_and_closed() {
    let gate = clear_gate(hello(), "");
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n";
    for request in [
        format!("{head}Content-Length: 5\r\n\r\n0\r\n\r\n"),
        // Still sending: the answer must not be overtaken by a reset.
        format!("{head}Content-Length: 5\r\n\r\n{}", "x".repeat(100_000)),
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".into(),
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".into(),
    ] {
        let mut connection = connect_plain(&gate);
        send(&mut connection, request.as_bytes());
        assert_eq!(receive(&mut connection, "POST").unwrap().code, 400, "{request}");
        assert!(matches!(connection.read(&mut [0; 1]), Ok(0)), "{request}");
    }
    counted(&gate, "answered", |totals| totals.ends[End::BadRequest] == 4);
    assert_eq!(gate.totals().upstream_responses, 0);
}

#[test]
fn bytes_that_arrived_before_the_decision_are_part_of_the_request() {
    let gate = clear_gate(answering(|got| ok(&got.body.len().to_string())), "");
    for length in [1, 4_000, 16_384, 300_000] {
        let body = "x".repeat(length);
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
        let mut connection = connect_plain(&gate);
        send(&mut connection, format!("{head}{body}{head}{body}").as_bytes());
        for _ in 0..2 {
            assert_eq!(receive(&mut connection, "POST").unwrap().text(), length.to_string());
        }
    }
    let mut pieces = connect_plain(&gate);
    pieces.get_ref().set_nodelay(true).unwrap();
    GET.chunks(5).for_each(|piece| send(&mut pieces, piece));
    assert_eq!(receive(&mut pieces, "GET").unwrap().text(), "0");
}

#[test]
fn a_plain_new_session_is_refused_by_a_reset() {
    let gate = clear_gate(hello(), &one_only("hold_time = \"0s\""));
    let mut active = request(&gate);
    receive(&mut active, "GET").unwrap();
    for refused in 1..=3 {
        assert_reset(&mut request(&gate));
        assert_eq!(gate.totals().refused[Class::New], refused);
        assert_eq!(get(&mut active, "/").unwrap().text(), "hello", "active sessions stay");
    }
    assert_eq!(gate.totals().ends[End::Refused], 3);
}

#[test]
fn a_plain_new_session_may_be_refused_with_a_503() {
    let gate = clear_gate(hello(), &one_only("hold_time = \"0s\"\nrefuse = \"alert\""));
    receive(&mut request(&gate), "GET").unwrap();
    let mut refused = request(&gate);
    let response = receive(&mut refused, "GET").unwrap();
    assert_eq!(response.code, 503);
    assert!(response.head.contains("Retry-After: ") && response.head.contains("close"));
    assert!(response.text().contains("try again"), "{}", response.text());
    assert_eq!(refused.read(&mut [0; 1]).unwrap(), 0);
    let totals = gate.totals();
    assert_eq!((totals.refused[Class::New], totals.upstream_responses), (1, 1));
}

#[test]
fn a_plain_new_session_is_held_until_the_budget_admits_it() {
    let gate =
        clear_gate(hello(), "[admission]\npolicy = \"static\"\nrate = 20.0\nhold_time = \"20s\"\n");
    let mut customers: Vec<_> = (0..6).map(|_| request(&gate)).collect();
    for connection in &mut customers {
        assert_eq!(receive(connection, "GET").unwrap().text(), "hello");
    }
    let totals = gate.totals();
    assert!(totals.held[Class::New] >= 4, "{totals:?}");
    assert_eq!((totals.hold_admitted, totals.in_clear), (totals.held[Class::New], 6));
    assert_eq!((totals.holding, totals.holding_bytes), (0, 0));
}

#[test]
fn a_held_plain_customer_may_leave_or_is_refused_when_the_gate_closes() {
    let gate = clear_gate(hello(), &one_only("hold_time = \"20s\""));
    receive(&mut request(&gate), "GET").unwrap();
    let leaving = request(&gate);
    counted(&gate, "held", |totals| totals.holding_bytes == GET.len() as u64);
    drop(leaving);
    counted(&gate, "left", |totals| totals.hold_left == 1 && totals.holding == 0);
    let mut waiting = request(&gate);
    counted(&gate, "held", |totals| totals.holding == 1);
    gate.drain();
    assert_reset(&mut waiting);
}

#[test]
fn a_drain_closes_idle_plain_connections_and_finishes_requests() {
    let (upstream, requested, go) = answering_on_request();
    let gate = clear_gate(upstream, "");
    let (mut idle, mut busy) = (request(&gate), connect_plain(&gate));
    receive(&mut idle, "GET").unwrap();
    send(&mut busy, b"GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n");
    comes_to_the_upstream(&gate, &requested);
    gate.drain();
    assert_eq!(idle.read(&mut [0; 1]).unwrap(), 0);
    let address = gate.clear_address().unwrap();
    until("no connection is accepted", || TcpStream::connect(address).is_err());
    go.send(()).unwrap();
    let response = receive(&mut busy, "GET").unwrap();
    assert!(response.head.to_ascii_lowercase().contains("connection: close"));
    assert_eq!(busy.read(&mut [0; 1]).unwrap(), 0);
    gate.join().unwrap();
}

#[test]
fn tls_on_the_plain_port_gets_a_400_and_uses_no_budget() {
    let gate = clear_gate(hello(), &one_only("hold_time = \"0s\""));
    let name = "localhost".try_into().unwrap();
    let mut session = rustls::ClientConnection::new(any_client(), name).unwrap();
    let mut bytes = Vec::new();
    session.write_tls(&mut bytes).unwrap();
    for junk in [&bytes[..], b"\x16", b"\x80\x2e\x01\x00\x02", b"\0\0\0\0"] {
        let mut connection = connect_plain(&gate);
        send(&mut connection, junk);
        let response = receive(&mut connection, "GET").unwrap();
        assert_eq!(response.code, 400);
        assert!(response.text().contains("http:// instead of https://"));
        assert_eq!(connection.read(&mut [0; 1]).unwrap(), 0);
    }
    assert_eq!(gate.totals().ends[End::NotHttp], 4);
    assert_eq!(
        receive(&mut request(&gate), "GET").unwrap().text(),
        "hello",
        "the budget is unused"
    );
}

#[test]
fn a_silent_plain_connection_is_closed_and_uses_no_budget() {
    let more = format!("{}[limits]\nhello_deadline = \"500ms\"\n", one_only("hold_time = \"0s\""));
    let gate = clear_gate(hello(), &more);
    let mut silent = connect_plain(&gate);
    assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0);
    let totals = gate.totals();
    assert_eq!(totals.ends[End::HelloDeadline], 1);
    assert_eq!((totals.admitted[Class::New], totals.refused[Class::New]), (0, 0));
    assert_eq!(receive(&mut request(&gate), "GET").unwrap().text(), "hello");
}

#[test]
fn silent_plain_connections_get_half_of_the_limit() {
    let gate = clear_gate(hello(), "[limits]\nmax_connections = 4\n");
    let (mut one, _silent) = (request(&gate), [(); 2].map(|()| connect_plain(&gate)));
    receive(&mut one, "GET").unwrap();
    counted(&gate, "both are kept", |totals| totals.in_first_flight == 2);
    assert_reset(&mut connect_plain(&gate));
    assert_eq!(gate.totals().ends[End::TooMany], 1);
    assert_eq!(receive(&mut request(&gate), "GET").unwrap().text(), "hello");
}

#[test]
fn an_incomplete_plain_request_head_is_cut() {
    let gate = clear_gate(hello(), "[limits]\nhead_deadline = \"100ms\"\n");
    for start in ["G", "\r\n", "GET / HTTP/1.1\r\nHo"] {
        let mut connection = connect_plain(&gate);
        send(&mut connection, start.as_bytes());
        assert_reset(&mut connection);
    }
    counted(&gate, "cut", |totals| totals.ends[End::HeadDeadline] == 3);
}

#[test]
fn a_plain_body_without_progress_is_cut() {
    let gate = clear_gate(hello(), "[limits]\nbody_progress_deadline = \"100ms\"\n");
    let mut connection = connect_plain(&gate);
    send(&mut connection, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhal");
    assert_reset(&mut connection);
    counted(&gate, "cut", |totals| totals.ends[End::BodyDeadline] == 1);
}

#[test]
fn a_plain_response_without_a_length_is_cut_by_a_reset() {
    let upstream = upstream(|mut reader| {
        read_request(&mut reader);
        let part = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
        reader.get_mut().write_all(part.as_bytes()).unwrap();
    });
    let gate = clear_gate(upstream, "");
    let mut connection = connect_plain(&gate);
    // For this version the end of the connection is the end of the response.
    send(&mut connection, b"GET / HTTP/1.0\r\n\r\n");
    let error = connection.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    counted(&gate, "cut", |totals| totals.ends[End::Truncated] == 1);
}

#[test]
fn a_response_during_an_upload_reaches_the_plain_customer() {
    let gate = clear_gate(refusing_at_the_head(), "");
    let mut connection = connect_plain(&gate);
    let mut sender = connection.get_ref().try_clone().unwrap();
    let upload = std::thread::spawn(move || {
        let _ = sender.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n");
        let _ = sender.write_all(&vec![b'x'; 2_000_000]);
    });
    assert_eq!(receive(&mut connection, "POST").unwrap().code, 413);
    upload.join().unwrap();
    drop(connection);
    counted(&gate, "closed", |totals| totals.open == 0);
}

/// Sockets that listen at an address of this machine.
fn listening_at(ip: [u8; 4]) -> usize {
    let address = format!("{:08X}:", u32::from_ne_bytes(ip));
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let listens = |line: &&str| {
        let columns: Vec<_> = line.split_whitespace().collect();
        columns[1].starts_with(&address) && columns[3] == "0A"
    };
    table.lines().skip(1).filter(listens).count()
}

#[test]
fn the_plain_port_is_off_by_default() {
    // An address that no other test uses.
    let listen = format!("[listen]\naddress = \"127.0.84.71:0\"\ncores = \"{}\"\n", a_core());
    let without = gate(hello(), &listen);
    assert_eq!((without.clear_address(), listening_at([127, 0, 84, 71])), (None, 1));
    assert_eq!(without.snapshot().clear_address, "");
    let with = gate(hello(), &format!("{listen}clear = \"127.0.84.71:0\"\n"));
    assert_eq!(listening_at([127, 0, 84, 71]), 3);
    assert_ne!(with.clear_address().unwrap(), with.address());
}

#[test]
fn two_gates_cannot_listen_on_one_plain_port() {
    let one = clear_gate(hello(), "[limits]\nidle_deadline = \"1s\"\n");
    let clear = one.clear_address().unwrap();
    let text = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\nclear = \"{clear}\"\n[admin]\naddress = \"off\"\n\
         [upstream]\nurl = \"http://127.0.0.1:1\"\n"
    );
    let config = tidegate_gate::config::Config::from_toml(&text, "test.toml").unwrap();
    let error = Gate::start(config).unwrap_err().to_string();
    assert!(error.contains(&format!("cannot listen on {clear}")), "{error}");
    assert!(error.contains("another process"), "{error}");
}

#[test]
fn without_idle_time_a_plain_connection_serves_one_request() {
    let gate = clear_gate(hello(), "[limits]\nidle_deadline = \"0s\"\n");
    let mut connection = request(&gate);
    assert_eq!(receive(&mut connection, "GET").unwrap().text(), "hello");
    assert_eq!(connection.read(&mut [0; 1]).unwrap(), 0);
}
