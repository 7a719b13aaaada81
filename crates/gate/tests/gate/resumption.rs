//! Returning connections, over real sockets.

use crate::common::openssl::openssl;
use crate::common::*;
use rustls::HandshakeKind::{Full, Resumed};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tidegate_gate::telemetry::labels::{Class, HandshakeKind, TicketResult};

#[test]
fn a_customer_who_returns_resumes_with_both_versions() {
    let gate = gate(hello(), "");
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let before = gate.totals();
        let config = Arc::new(client(&[version]));
        let mut first = connect(&gate, &config);
        assert_eq!(get(&mut first, "/").unwrap().text(), "hello");
        assert_eq!(kind(&first), Full);
        drop(first);
        for _ in 0..3 {
            let mut again = connect(&gate, &config);
            assert_eq!(get(&mut again, "/").unwrap().text(), "hello");
            assert_eq!(kind(&again), Resumed, "{version:?}");
        }
        let after = gate.totals();
        assert_eq!(after.admitted[Class::New] - before.admitted[Class::New], 1);
        assert_eq!(after.admitted[Class::Returning] - before.admitted[Class::Returning], 3);
        assert_eq!(
            after.handshakes_ok[HandshakeKind::Resumed]
                - before.handshakes_ok[HandshakeKind::Resumed],
            3
        );
    }
}

#[test]
fn another_gates_ticket_gets_a_full_handshake_as_new() {
    let (one, other) = (gate(hello(), ""), gate(hello(), ""));
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let before = other.totals();
        let config = Arc::new(client(&[version]));
        get(&mut connect(&one, &config), "/").unwrap();
        let mut foreign = connect(&other, &config);
        assert_eq!(get(&mut foreign, "/").unwrap().text(), "hello");
        assert_eq!(kind(&foreign), Full);
        let after = other.totals();
        assert_eq!(after.admitted[Class::New] - before.admitted[Class::New], 1);
        assert_eq!(after.tickets[TicketResult::Foreign] - before.tickets[TicketResult::Foreign], 1);
    }
}

#[test]
fn an_expired_ticket_gets_a_full_handshake_as_new() {
    let gate = gate_with(hello(), "", |config| config.tls.ticket_lifetime = Duration::ZERO);
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let before = gate.totals();
        let config = Arc::new(client(&[version]));
        get(&mut connect(&gate, &config), "/").unwrap();
        let issued = unix_seconds();
        until("the clock advances", || unix_seconds() > issued);
        let mut late = connect(&gate, &config);
        assert_eq!(get(&mut late, "/").unwrap().text(), "hello");
        assert_eq!(kind(&late), Full);
        let after = gate.totals();
        assert_eq!(after.admitted[Class::New] - before.admitted[Class::New], 2);
    }
}

#[test]
fn a_session_that_connects_above_its_rate_is_new() {
    let limits = "[admission]\npolicy = \"off\"\nsession_rate = 0.1\nsession_burst = 3\n";
    let gate = gate(hello(), limits);
    let config = Arc::new(client(&[&rustls::version::TLS12]));
    let mut kinds = Vec::new();
    for _ in 0..5 {
        let mut connection = connect(&gate, &config);
        get(&mut connection, "/").unwrap();
        kinds.push(kind(&connection));
    }
    // The fourth begins a session of its own, which the fifth continues.
    assert_eq!(kinds, [Full, Resumed, Resumed, Full, Resumed]);
    assert_eq!(gate.totals().tickets[TicketResult::OverRate], 1);
    let shown = gate.snapshot().tickets;
    assert_eq!(shown.len(), TicketResult::ALL.len());
    assert!(shown.contains(&("good", 3)) && shown.contains(&("over_rate", 1)), "{shown:?}");
}

/// A hello that offers more ticket identities after those that it has, with
/// binders as long as real ones.
///
/// Source: RFC 8446, sections 4.1.2 and 4.2.11: pre_shared_key comes last.
fn with_more_identities(hello: &[u8], more: usize) -> Vec<u8> {
    let number = |at: usize| usize::from(u16::from_be_bytes([hello[at], hello[at + 1]]));
    // Record, message, version and random; then session id, suites, compression.
    let mut at = 5 + 4 + 2 + 32;
    at += 1 + usize::from(hello[at]);
    at += 2 + number(at);
    at += 1 + usize::from(hello[at]);
    let (extensions, mut at) = (at, at + 2);
    while number(at) != 41 {
        at += 4 + number(at + 2);
    }
    let (extension, identities) = (at + 2, at + 4);
    let binders = identities + 2 + number(identities);
    assert_eq!(binders + 2 + number(binders), hello.len(), "the last extension");
    let identity = [&[0, 16][..], &[7; 16], &[0; 4]].concat().repeat(more);
    let binder = [&[32][..], &[9; 32]].concat().repeat(more);
    let mut made = [&hello[..binders], &identity, &hello[binders..], &binder].concat();
    let mut grow = |at: usize, by: usize| {
        let length = u16::from_be_bytes([made[at], made[at + 1]]) + u16::try_from(by).unwrap();
        made[at..at + 2].copy_from_slice(&length.to_be_bytes());
    };
    let all = identity.len() + binder.len();
    // The message's length has three bytes, of which the first is 0.
    [3, 7, extensions, extension].into_iter().for_each(|at| grow(at, all));
    grow(identities, identity.len());
    grow(binders + identity.len(), binder.len());
    made
}

#[test]
fn a_hello_with_more_identities_than_the_limit_is_new_and_gets_a_full_handshake() {
    let gate = gate(hello(), "[limits]\nticket_identities = 3\n");
    let config = Arc::new(client(&[&rustls::version::TLS13]));
    // One of its own, which is good, and so many more.
    for (more, class) in [(2, Class::Returning), (3, Class::New), (9, Class::New)] {
        // A client uses a ticket once.
        get(&mut connect(&gate, &config), "/").unwrap();
        let before = gate.totals();
        let name = "localhost".try_into().unwrap();
        let mut session = rustls::ClientConnection::new(config.clone(), name).unwrap();
        let mut hello = Vec::new();
        session.write_tls(&mut hello).unwrap();
        let mut socket = TcpStream::connect(gate.address()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(&with_more_identities(&hello, more)).unwrap();
        let mut answer = [0; 6];
        socket.read_exact(&mut answer).unwrap();
        let after = gate.totals();
        let many = TicketResult::TooMany;
        assert_eq!(after.admitted[class] - before.admitted[class], 1, "{more}");
        assert_eq!(
            after.tickets[many] - before.tickets[many],
            u64::from(class == Class::New),
            "{more}"
        );
        if class == Class::New {
            assert_eq!((answer[0], answer[5]), (22, 2), "a ServerHello, no alert");
        }
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn openssl_resumes_and_a_ticket_for_other_terms_is_new() {
    let gate = gate(hello(), "");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("session").display().to_string();
    let with = |first: &[&str], then: &[&str], expected: &str, class: Class| {
        let first = [first, &["-sess_out", &file][..]].concat();
        assert!(openssl(&gate, &first).contains("hello"));
        let before = gate.totals();
        let then = [then, &["-sess_in", &file][..]].concat();
        let seen = openssl(&gate, &then);
        assert!(seen.contains("hello") && seen.contains(expected), "{then:?}: {seen}");
        let after = gate.totals();
        assert_eq!(after.admitted[class] - before.admitted[class], 1, "{then:?}");
        assert_eq!(after.handshakes_failed.values(), &[0, 0]);
    };
    let (one, two) =
        (["-tls1_2", "-servername", "one.test"], ["-tls1_3", "-servername", "one.test"]);
    with(&one, &one, "Reused, TLSv1.2", Class::Returning);
    with(&two, &two, "Reused, TLSv1.3", Class::Returning);
    // Another server name.
    with(&one, &["-tls1_2", "-servername", "two.test"], "New, TLSv1.2", Class::New);
    with(&two, &["-tls1_3", "-servername", "two.test"], "New, TLSv1.3", Class::New);
    // Another suite with the same hash, so that the client offers the ticket.
    let aes = ["-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256"];
    let chacha = ["-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"];
    with(&aes, &chacha, "New, TLSv1.3", Class::New);
    let aes = ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"];
    let both = "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256";
    with(&aes, &["-tls1_2", "-cipher", both], "New, TLSv1.2", Class::New);
}
