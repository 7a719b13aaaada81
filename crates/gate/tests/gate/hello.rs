//! Bytes on the TLS port that are not a complete and valid hello.

use crate::common::openssl::openssl;
use crate::common::*;
use rustls::{AlertDescription, ClientConfig, ClientConnection};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use tidegate_gate::telemetry::labels::{End, HandshakeKind};

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

/// A fatal alert, as bytes.
fn alert(alert: AlertDescription) -> Vec<u8> {
    vec![21, 3, 3, 0, 2, 2, u8::from(alert)]
}

#[test]
fn other_protocols_are_closed_and_counted_by_kind() {
    let gate = gate(hello(), "");
    assert!(exchange(&gate, b"SSH-2.0-OpenSSH_9.2\r\n").is_empty());
    let old = exchange(&gate, b"\x80\x2e\x01\x00\x02\x00\x15");
    assert_eq!(old, alert(AlertDescription::ProtocolVersion));
    assert!(exchange(&gate, b"\x00\x01\x02").is_empty());
    let totals = gate.totals();
    assert_eq!(totals.not_tls.values(), &[0, 1, 1, 0, 1]);
    let shown = gate.snapshot().not_tls;
    assert!(shown.contains(&("ssh", 1)), "{shown:?}");
    assert_eq!(totals.ends[End::MalformedHello], 0);
    assert_eq!(totals.admitted.values(), &[0, 0]);
}

#[test]
fn what_is_no_hello_gets_the_alert_that_says_so() {
    use AlertDescription::{DecodeError, ProtocolVersion, RecordOverflow, UnexpectedMessage};
    let gate = gate(hello(), "");
    let cases: [(&[u8], AlertDescription); 7] = [
        // Application data, a message of another type, and nothing.
        (b"\x17\x03\x03\x00\x01\x00", UnexpectedMessage),
        (b"\x16\x03\x01\x00\x04\x02\x00\x00\x00", UnexpectedMessage),
        (b"\x16\x03\x01\x00\x00", DecodeError),
        (b"\x16\x03\x01\x50\x00", RecordOverflow),
        // Cut off, and longer than the limit.
        (b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03", DecodeError),
        (b"\x16\x03\x01\x40\x00\x01\x0f\xff\xff\x03\x03", DecodeError),
        // The second record has another version.
        (b"\x16\x03\x01\x00\x05\x01\x00\x00\x09\x03\x16\x09\x01", ProtocolVersion),
    ];
    for (bytes, expected) in cases {
        assert_eq!(exchange(&gate, bytes), alert(expected), "{bytes:02x?}");
    }
    assert!(exchange(&gate, b"\x15\x03\x01\x00\x02\x01\x00").is_empty(), "an alert");
    let totals = gate.totals();
    assert_eq!(totals.ends[End::MalformedHello], 8);
    assert_eq!((totals.admitted.values(), totals.open), (&[0, 0], 0));
}

/// The bytes of a client's hello.
fn hello_of(config: &Arc<ClientConfig>) -> Vec<u8> {
    let mut session = ClientConnection::new(config.clone(), "localhost".try_into().unwrap());
    let mut hello = Vec::new();
    session.as_mut().unwrap().write_tls(&mut hello).unwrap();
    hello
}

/// Where the extension of this type begins in a hello of rustls.
fn extension(hello: &[u8], kind: u16) -> usize {
    let mut at = 5 + 4 + 2 + 32;
    at += 1 + usize::from(hello[at]);
    at += 2 + usize::from(u16::from_be_bytes([hello[at], hello[at + 1]]));
    at += 1 + usize::from(hello[at]) + 2;
    while u16::from_be_bytes([hello[at], hello[at + 1]]) != kind {
        at += 4 + usize::from(u16::from_be_bytes([hello[at + 2], hello[at + 3]]));
    }
    at
}

#[test]
fn a_hello_that_the_certificate_cannot_sign_for_uses_no_admission() {
    // One new session is admitted, and no other for a long time.
    let policy = "[admission]\npolicy = \"static\"\nrate = 0.01\nhold_time = \"0s\"\n";
    let gate = gate(hello(), policy);
    for version in rustls::ALL_VERSIONS {
        let mut hello = hello_of(&Arc::new(client(&[version])));
        let at = extension(&hello, 13);
        // All schemes become one that no key has.
        let end = at + 4 + usize::from(u16::from_be_bytes([hello[at + 2], hello[at + 3]]));
        hello[at + 6..end].as_chunks_mut().0.iter_mut().for_each(|scheme| *scheme = [0xfe, 0xfe]);
        assert_eq!(exchange(&gate, &hello), alert(AlertDescription::HandshakeFailure));
    }
    let totals = gate.totals();
    assert_eq!(totals.handshakes_failed[HandshakeKind::Full], 2);
    assert_eq!((totals.admitted.values(), totals.refused.values()), (&[0, 0], &[0, 0]));
    assert_eq!(gate.snapshot().control.unwrap().budget, Some(1), "nothing is used up");
    assert_eq!(get(&mut connect(&gate, &any_client()), "/").unwrap().text(), "hello");
}

#[test]
fn a_hello_without_what_tls_requires_gets_the_alert_for_it() {
    let gate = gate(hello(), "");
    let hello = hello_of(&Arc::new(client(&[&rustls::version::TLS13])));
    let without = |kind: u16| {
        let mut hello = hello.clone();
        let at = extension(&hello, kind);
        hello[at..at + 2].copy_from_slice(&[0xfe, 0xfe]);
        hello
    };
    for required in [13, 10, 51] {
        let got = exchange(&gate, &without(required));
        assert_eq!(got, alert(AlertDescription::MissingExtension), "{required}");
    }
    let mut old = hello.clone();
    let versions = extension(&old, 43) + 5;
    old[versions..versions + 2].copy_from_slice(&[3, 2]);
    assert_eq!(exchange(&gate, &old), alert(AlertDescription::ProtocolVersion));
    assert_eq!(gate.totals().admitted.values(), &[0, 0]);
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
    assert_eq!(exchange(&gate, &bytes), alert(AlertDescription::DecodeError));
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
    let gate = gate(hello(), "[limits]\nhandshake_deadline = \"500ms\"\n");
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
    config.alpn_protocols = vec![b"spdy/3".to_vec()];
    let error = get(&mut connect(&gate, &std::sync::Arc::new(config)), "/").unwrap_err();
    assert!(error.to_string().contains("NoApplicationProtocol"), "{error}");
    counted(&gate, "failed", |totals| totals.handshakes_failed[HandshakeKind::Full] == 1);
}

#[test]
fn a_server_name_that_is_no_host_name_gets_the_default_certificate() {
    let gate = gate(hello(), "");
    let folder = tempfile::tempdir().unwrap();
    let ticket = folder.path().join("ticket");
    let ticket = ticket.to_str().unwrap();
    for version in ["-tls1_2", "-tls1_3"] {
        for name in ["localhost:8443", "a b", "-", "[::1]:8443"] {
            let new = openssl(&gate, &[version, "-servername", name, "-sess_out", ticket]);
            assert!(new.contains("HTTP/1.1 200") && new.contains("New, "), "{name}: {new}");
            let back = openssl(&gate, &[version, "-servername", name, "-sess_in", ticket]);
            assert!(back.contains("HTTP/1.1 200") && back.contains("Reused, "), "{name}: {back}");
        }
    }
    let totals = gate.totals();
    assert_eq!(totals.admitted.values(), &[8, 8]);
    assert_eq!(
        (totals.handshakes_ok.values(), totals.handshakes_failed.values()),
        (&[8, 8], &[0, 0])
    );
    // It would need a second hello, which rustls rejects.
    let retry = openssl(&gate, &["-tls1_3", "-servername", "a:1", "-groups", "P-521:P-384"]);
    assert!(retry.contains("unrecognized name"), "{retry}");
    assert_eq!(gate.totals().admitted.values(), &[8, 8]);
}

#[test]
fn a_hello_in_many_records_is_served_within_the_cap_on_bytes() {
    let gate = gate(hello(), "");
    for (version, size) in rustls::ALL_VERSIONS.iter().flat_map(|v| [1, 12, 100].map(|n| (v, n))) {
        let socket = TcpStream::connect(gate.address()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let config = Arc::new(client(&[version]));
        let mut session = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
        let mut whole = Vec::new();
        session.write_tls(&mut whole).unwrap();
        let records = whole[5..].chunks(size).flat_map(|content| {
            [&whole[..3], &u16::try_from(content.len()).unwrap().to_be_bytes(), content].concat()
        });
        (&socket).write_all(&records.collect::<Vec<_>>()).unwrap();
        let mut connection = std::io::BufReader::new(rustls::StreamOwned::new(session, socket));
        assert_eq!(get(&mut connection, "/").unwrap().text(), "hello", "records of {size}");
    }
    assert_eq!(gate.totals().ends[End::MalformedHello], 0);
}
