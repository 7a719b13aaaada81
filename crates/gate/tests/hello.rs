//! Bytes on the TLS port that are not a complete and valid hello.

mod common;

use common::*;
use std::io::{Read, Write};
use std::net::TcpStream;
use tidegate_gate::telemetry::labels::{End, Kind};

fn exchange(gate: &tidegate_gate::Gate, bytes: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect(gate.address()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    match socket.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
    answer
}

#[test]
fn plain_http_gets_a_400_that_explains_it() {
    let gate = gate(hello(), "");
    let answer = exchange(&gate, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
    assert!(answer.ends_with("https:// instead of http://\r\n"), "{answer}");
    let url = format!("http://{}/", gate.address());
    let curl = std::process::Command::new("curl").args(["-s", "--noproxy", "*", &url]).output();
    let curl = curl.expect("curl is installed");
    assert!(curl.status.success());
    assert!(String::from_utf8_lossy(&curl.stdout).contains("HTTPS only"));
    assert_eq!(gate.totals().not_tls.values(), &[2, 0, 0, 0, 0]);
}

#[test]
fn other_protocols_are_closed_and_counted_by_kind() {
    let gate = gate(hello(), "");
    assert!(exchange(&gate, b"SSH-2.0-OpenSSH_9.2\r\n").is_empty());
    assert!(exchange(&gate, b"\x80\x2e\x01\x00\x02\x00\x15").is_empty());
    assert!(exchange(&gate, b"\x00\x01\x02").is_empty());
    assert!(exchange(&gate, b"\x17\x03\x03\x00\x01\x00").is_empty());
    let totals = gate.totals();
    assert_eq!(totals.not_tls.values(), &[0, 1, 1, 0, 1]);
    let shown = gate.snapshot().not_tls;
    assert!(shown.contains(&("ssh", 1)), "{shown:?}");
    assert_eq!(totals.ends[End::MalformedHello], 1);
    assert_eq!(totals.admitted.values(), &[0, 0]);
}

#[test]
fn an_incomplete_hello_is_cut_at_its_deadline() {
    let gate = gate(hello(), "[limits]\nhello_deadline = \"100ms\"\n");
    assert!(exchange(&gate, b"\x16\x03\x01\x02\x00\x01\x00").is_empty());
    assert!(exchange(&gate, b"\x16").is_empty());
    assert_eq!(gate.totals().ends[End::HelloDeadline], 2);
}

#[test]
fn a_hello_above_the_limit_is_cut() {
    let gate = gate(hello(), "[limits]\nhello_max_bytes = \"1KiB\"\n");
    let mut bytes = vec![0x16, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb, 3, 3];
    bytes.resize(2_000, 0);
    assert!(exchange(&gate, &bytes).is_empty());
    assert_eq!(gate.totals().ends[End::MalformedHello], 1);
}

#[test]
fn a_hello_may_arrive_in_many_pieces() {
    let gate = gate(hello(), "");
    let mut session =
        rustls::ClientConnection::new(any_client(), "localhost".try_into().unwrap()).unwrap();
    let mut hello = Vec::new();
    session.write_tls(&mut hello).unwrap();
    let mut socket = TcpStream::connect(gate.address()).unwrap();
    socket.set_nodelay(true).unwrap();
    for piece in hello.chunks(7) {
        socket.write_all(piece).unwrap();
    }
    let stream = rustls::StreamOwned::new(session, socket);
    let mut connection = std::io::BufReader::new(stream);
    assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
}

#[test]
fn a_handshake_without_progress_is_cut_at_its_deadline() {
    let gate = gate(hello(), "[limits]\nhandshake_deadline = \"100ms\"\n");
    let mut session =
        rustls::ClientConnection::new(any_client(), "localhost".try_into().unwrap()).unwrap();
    let mut hello = Vec::new();
    session.write_tls(&mut hello).unwrap();
    assert!(!exchange(&gate, &hello).is_empty());
    counted(&gate, "late", |totals| totals.ends[End::HandshakeDeadline] == 1);
    assert_eq!(gate.totals().in_handshake, 0);
}

#[test]
fn a_client_without_a_common_protocol_gets_an_alert() {
    let gate = gate(hello(), "");
    let mut config = client(rustls::ALL_VERSIONS);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let error = get(&mut connect(&gate, &std::sync::Arc::new(config)), "/").unwrap_err();
    assert!(error.to_string().contains("NoApplicationProtocol"), "{error}");
    counted(&gate, "failed", |totals| totals.handshakes_failed[Kind::Full] == 1);
}
