//! Customers in clear.

mod common;

use common::*;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use tidegate_gate::Gate;
use tidegate_gate::telemetry::labels::{Class, End};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A gate that listens in clear too; `more` goes at the end of its configuration.
fn clear_gate(upstream: SocketAddr, more: &str) -> Gate {
    clear_gate_on("127.0.0.1:0", upstream, more)
}

fn clear_gate_on(clear: &str, upstream: SocketAddr, more: &str) -> Gate {
    let address = "127.0.0.1:0";
    let core = a_core();
    let listen =
        format!("[listen]\naddress = \"{address}\"\nclear = \"{clear}\"\ncores = \"{core}\"\n");
    gate(upstream, &format!("{more}\n{listen}"))
}

/// One newcomer may come in, and then for long no other.
fn one_only(more: &str) -> String {
    format!("[admission]\npolicy = \"static\"\nrate = 0.01\n{more}\n")
}

/// Connects a customer in clear.
fn connect_in_clear(gate: &Gate) -> BufReader<TcpStream> {
    let socket = TcpStream::connect(gate.clear_address().unwrap()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    BufReader::new(socket)
}

/// A customer who has asked and waits for the answer.
fn ask(gate: &Gate) -> BufReader<TcpStream> {
    let mut connection = connect_in_clear(gate);
    send(&mut connection, GET);
    connection
}

/// Waits for a connection to be reset.
#[track_caller]
fn assert_reset(connection: &mut BufReader<TcpStream>) {
    assert_eq!(connection.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_connection_in_clear_is_kept_and_proxied_with_its_origin() {
    let (sender, seen) = mpsc::channel();
    let upstream = answering(move |got| {
        sender.send(got).unwrap();
        ok("hello")
    });
    let gate = clear_gate(upstream, "");
    let mut connection = connect_in_clear(&gate);
    for asked in 1..=3 {
        let response = get(&mut connection, "/a?b").unwrap();
        assert_eq!(response.text(), "hello");
        let got = seen.recv().unwrap();
        assert_eq!(got.line, "GET /a?b HTTP/1.1");
        assert_eq!(got.header("x-forwarded-proto"), Some("http"));
        assert_eq!(got.header("x-forwarded-for"), Some("127.0.0.1"));
        assert_eq!(got.header("x-forwarded-host"), Some("localhost"));
        assert_eq!(got.header("via"), Some("1.1 tidegate"));
        let request = "GET /a?b HTTP/1.1\r\nHost: localhost\r\n\r\n".len() as u64;
        let answer = (response.head.len() + response.body.len()) as u64;
        counted(&gate, "bytes", |totals| {
            (totals.bytes_in, totals.bytes_out) == (asked * request, asked * answer)
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
fn a_session_in_clear_is_over_with_its_connection() {
    let gate = clear_gate(hello(), "[limits]\nidle_deadline = \"100ms\"\n");
    let (mut leaving, mut idle) = (ask(&gate), ask(&gate));
    receive(&mut leaving, "GET").unwrap();
    receive(&mut idle, "GET").unwrap();
    let snapshot = gate.snapshot();
    assert_eq!((snapshot.sessions_started, snapshot.sessions_active <= 2), (2, true));
    assert_eq!(snapshot.clear_address, gate.clear_address().unwrap().to_string());
    drop(leaving);
    assert_eq!(idle.read(&mut [0; 1]).unwrap(), 0, "closed, not cut");
    until("nobody is inside", || gate.snapshot().sessions_active == 0);
    counted(&gate, "idle", |totals| totals.ends[End::Idle] >= 1);
}

#[test]
fn customers_over_tls_are_told_apart_beside_those_in_clear() {
    let gate = clear_gate(hello(), &one_only("hold_time = \"0s\""));
    let inside = any_client();
    get(&mut connect(&gate, &inside), "/").unwrap();
    assert_reset(&mut ask(&gate));
    assert_eq!(get(&mut connect(&gate, &inside), "/").unwrap().text(), "hello");
    let totals = gate.totals();
    assert_eq!(
        (totals.admitted.values(), totals.refused.values(), totals.in_clear),
        (&[1, 1], &[1, 0], 0)
    );
}

#[test]
fn what_breaks_http_in_clear_is_answered_400_and_closed() {
    let gate = clear_gate(hello(), "");
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n";
    for request in [
        format!("{head}Content-Length: 5\r\n\r\n0\r\n\r\n"),
        // Still sending: the answer must not be overtaken by a reset.
        format!("{head}Content-Length: 5\r\n\r\n{}", "x".repeat(100_000)),
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".into(),
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".into(),
    ] {
        let mut connection = connect_in_clear(&gate);
        send(&mut connection, request.as_bytes());
        assert_eq!(receive(&mut connection, "POST").unwrap().code, 400, "{request}");
        assert!(matches!(connection.read(&mut [0; 1]), Ok(0)), "{request}");
    }
    counted(&gate, "told", |totals| totals.ends[End::BadRequest] == 4);
    assert_eq!(gate.totals().upstream_responses, 0);
}

#[test]
fn what_came_before_the_decision_is_part_of_the_request() {
    let gate = clear_gate(answering(|got| ok(&got.body.len().to_string())), "");
    for length in [1, 4_000, 16_384, 300_000] {
        let body = "x".repeat(length);
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
        let mut connection = connect_in_clear(&gate);
        send(&mut connection, format!("{head}{body}{head}{body}").as_bytes());
        for _ in 0..2 {
            assert_eq!(receive(&mut connection, "POST").unwrap().text(), length.to_string());
        }
    }
    let mut pieces = connect_in_clear(&gate);
    pieces.get_ref().set_nodelay(true).unwrap();
    GET.chunks(5).for_each(|piece| send(&mut pieces, piece));
    assert_eq!(receive(&mut pieces, "GET").unwrap().text(), "0");
}

#[test]
fn a_newcomer_in_clear_is_refused_by_a_reset() {
    let gate = clear_gate(hello(), &one_only("hold_time = \"0s\""));
    let mut inside = ask(&gate);
    receive(&mut inside, "GET").unwrap();
    for turned_away in 1..=3 {
        assert_reset(&mut ask(&gate));
        assert_eq!(gate.totals().refused[Class::New], turned_away);
        assert_eq!(get(&mut inside, "/").unwrap().text(), "hello", "who is inside stays");
    }
    assert_eq!(gate.totals().ends[End::Refused], 3);
}

#[test]
fn a_newcomer_in_clear_may_be_refused_with_a_word() {
    let gate = clear_gate(hello(), &one_only("hold_time = \"0s\"\nrefuse = \"alert\""));
    receive(&mut ask(&gate), "GET").unwrap();
    let mut refused = ask(&gate);
    let response = receive(&mut refused, "GET").unwrap();
    assert_eq!(response.code, 503);
    assert!(response.head.contains("Retry-After: ") && response.head.contains("close"));
    assert!(response.text().contains("try again"), "{}", response.text());
    assert_eq!(refused.read(&mut [0; 1]).unwrap(), 0);
    let totals = gate.totals();
    assert_eq!((totals.refused[Class::New], totals.upstream_responses), (1, 1));
}

#[test]
fn a_newcomer_in_clear_is_held_until_there_is_room() {
    let gate =
        clear_gate(hello(), "[admission]\npolicy = \"static\"\nrate = 20.0\nhold_time = \"20s\"\n");
    let mut customers: Vec<_> = (0..6).map(|_| ask(&gate)).collect();
    for connection in &mut customers {
        assert_eq!(receive(connection, "GET").unwrap().text(), "hello");
    }
    let totals = gate.totals();
    assert!(totals.held[Class::New] >= 4, "{totals:?}");
    assert_eq!((totals.hold_admitted, totals.in_clear), (totals.held[Class::New], 6));
    assert_eq!((totals.holding, totals.holding_bytes), (0, 0));
}

#[test]
fn who_waits_in_clear_may_leave_or_is_turned_away_when_the_gate_closes() {
    let gate = clear_gate(hello(), &one_only("hold_time = \"20s\""));
    receive(&mut ask(&gate), "GET").unwrap();
    let leaving = ask(&gate);
    counted(&gate, "held", |totals| totals.holding_bytes == GET.len() as u64);
    drop(leaving);
    counted(&gate, "left", |totals| totals.hold_left == 1 && totals.holding == 0);
    let mut waiting = ask(&gate);
    counted(&gate, "held", |totals| totals.holding == 1);
    gate.drain();
    assert_reset(&mut waiting);
}

#[test]
fn a_drain_closes_who_is_idle_in_clear_and_lets_the_others_finish() {
    let (upstream, asked, go) = answering_when_told();
    let gate = clear_gate(upstream, "");
    let (mut idle, mut busy) = (ask(&gate), connect_in_clear(&gate));
    receive(&mut idle, "GET").unwrap();
    send(&mut busy, b"GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n");
    asked.recv().unwrap();
    gate.drain();
    assert_eq!(idle.read(&mut [0; 1]).unwrap(), 0);
    let address = gate.clear_address().unwrap();
    until("nobody is accepted", || TcpStream::connect(address).is_err());
    go.send(()).unwrap();
    let response = receive(&mut busy, "GET").unwrap();
    assert!(response.head.to_ascii_lowercase().contains("connection: close"));
    assert_eq!(busy.read(&mut [0; 1]).unwrap(), 0);
    gate.join().unwrap();
}

#[test]
fn tls_on_the_port_in_clear_is_told_so_and_takes_no_place() {
    let gate = clear_gate(hello(), &one_only("hold_time = \"0s\""));
    let name = "localhost".try_into().unwrap();
    let mut session = rustls::ClientConnection::new(any_client(), name).unwrap();
    let mut bytes = Vec::new();
    session.write_tls(&mut bytes).unwrap();
    for junk in [&bytes[..], b"\x16", b"\x80\x2e\x01\x00\x02", b"\0\0\0\0"] {
        let mut connection = connect_in_clear(&gate);
        send(&mut connection, junk);
        let response = receive(&mut connection, "GET").unwrap();
        assert_eq!(response.code, 400);
        assert!(response.text().contains("http:// instead of https://"));
        assert_eq!(connection.read(&mut [0; 1]).unwrap(), 0);
    }
    assert_eq!(gate.totals().ends[End::NotHttp], 4);
    assert_eq!(receive(&mut ask(&gate), "GET").unwrap().text(), "hello", "the place is free");
}

#[test]
fn who_says_nothing_in_clear_is_closed_and_takes_no_place() {
    let more = format!("{}[limits]\nhello_deadline = \"100ms\"\n", one_only("hold_time = \"0s\""));
    let gate = clear_gate(hello(), &more);
    let mut silent = connect_in_clear(&gate);
    assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0);
    let totals = gate.totals();
    assert_eq!(totals.ends[End::HelloDeadline], 1);
    assert_eq!((totals.admitted[Class::New], totals.refused[Class::New]), (0, 0));
    assert_eq!(receive(&mut ask(&gate), "GET").unwrap().text(), "hello");
}

#[test]
fn those_who_say_nothing_in_clear_get_half_of_the_places() {
    let gate = clear_gate(hello(), "[limits]\nmax_connections = 4\n");
    let (mut one, _silent) = (ask(&gate), [(); 2].map(|()| connect_in_clear(&gate)));
    receive(&mut one, "GET").unwrap();
    counted(&gate, "both have a place", |totals| totals.in_first_flight == 2);
    assert_reset(&mut connect_in_clear(&gate));
    assert_eq!(gate.totals().ends[End::TooMany], 1);
    assert_eq!(receive(&mut ask(&gate), "GET").unwrap().text(), "hello");
}

#[test]
fn a_request_head_in_clear_that_does_not_end_is_cut() {
    let gate = clear_gate(hello(), "[limits]\nhead_deadline = \"100ms\"\n");
    for start in ["G", "\r\n", "GET / HTTP/1.1\r\nHo"] {
        let mut connection = connect_in_clear(&gate);
        send(&mut connection, start.as_bytes());
        assert_reset(&mut connection);
    }
    counted(&gate, "cut", |totals| totals.ends[End::HeadDeadline] == 3);
}

#[test]
fn a_body_in_clear_that_does_not_go_on_is_cut() {
    let gate = clear_gate(hello(), "[limits]\nbody_progress_deadline = \"100ms\"\n");
    let mut connection = connect_in_clear(&gate);
    send(&mut connection, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhal");
    assert_reset(&mut connection);
    counted(&gate, "cut", |totals| totals.ends[End::BodyDeadline] == 1);
}

#[test]
fn a_response_without_a_length_that_is_cut_is_seen_to_be_cut_in_clear() {
    let upstream = upstream(|mut reader| {
        read_request(&mut reader);
        let part = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
        reader.get_mut().write_all(part.as_bytes()).unwrap();
    });
    let gate = clear_gate(upstream, "");
    let mut connection = connect_in_clear(&gate);
    // For this version the end of the connection is the end of the response.
    send(&mut connection, b"GET / HTTP/1.0\r\n\r\n");
    let error = connection.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    counted(&gate, "cut", |totals| totals.ends[End::Truncated] == 1);
}

#[test]
fn an_answer_in_the_middle_of_an_upload_reaches_the_customer_in_clear() {
    let gate = clear_gate(refusing_at_the_head(), "");
    let mut connection = connect_in_clear(&gate);
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
fn nothing_listens_in_clear_unless_it_is_asked_for() {
    // An address that no other test listens at.
    let listen = format!("[listen]\naddress = \"127.0.84.71:0\"\ncores = \"{}\"\n", a_core());
    let without = gate(hello(), &listen);
    assert_eq!((without.clear_address(), listening_at([127, 0, 84, 71])), (None, 1));
    assert_eq!(without.snapshot().clear_address, "");
    let with = gate(hello(), &format!("{listen}clear = \"127.0.84.71:0\"\n"));
    assert_eq!(listening_at([127, 0, 84, 71]), 3);
    assert_ne!(with.clear_address().unwrap(), with.address());
}

#[test]
fn two_gates_cannot_have_one_port_in_clear() {
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
fn without_idle_time_a_connection_in_clear_serves_one_request() {
    let gate = clear_gate(hello(), "[limits]\nidle_deadline = \"0s\"\n");
    let mut connection = ask(&gate);
    assert_eq!(receive(&mut connection, "GET").unwrap().text(), "hello");
    assert_eq!(connection.read(&mut [0; 1]).unwrap(), 0);
}
