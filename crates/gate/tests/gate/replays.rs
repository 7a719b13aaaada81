//! Tickets without the secret of their session: hellos recorded from the network and sent
//! again.

use crate::common::*;
use rustls::HandshakeKind::{Full, Resumed};
use rustls::{ClientConfig, ClientConnection, StreamOwned, SupportedProtocolVersion};
use socket2::{Domain, Socket, Type};
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use tidegate_gate::Gate;
use tidegate_gate::telemetry::labels::{Class, End, HandshakeKind, TicketResult};

const VERSIONS: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS12, &rustls::version::TLS13];

/// A customer with a ticket.
fn customer(gate: &Gate, version: &'static SupportedProtocolVersion) -> Arc<ClientConfig> {
    let config = Arc::new(client(&[version]));
    assert_eq!(get(&mut connect(gate, &config), "/").unwrap().text(), "hello");
    config
}

/// A customer who returns, and the hello that was recorded.
fn return_recorded(gate: &Gate, config: &Arc<ClientConfig>) -> (Connection, Vec<u8>) {
    let name = "localhost".try_into().unwrap();
    let mut session = ClientConnection::new(config.clone(), name).unwrap();
    let mut hello = Vec::new();
    session.write_tls(&mut hello).unwrap();
    let mut socket = send_hello(gate, &hello);
    socket.flush().unwrap();
    (BufReader::new(StreamOwned::new(session, socket)), hello)
}

/// A client that sends a hello, and has no secret to continue with.
fn send_hello(gate: &Gate, hello: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(gate.address()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(hello).unwrap();
    socket
}

/// The hello with another random: for TLS 1.2 as good as the recorded one, since nothing
/// in it depends on the secret.
///
/// Source: RFC 8446, section 4.1.2: the random follows record, message and version.
fn changed(hello: &[u8], to: u8) -> Vec<u8> {
    let mut hello = hello.to_vec();
    hello[11..43].fill(to);
    hello
}

/// Waits until the gate has closed.
fn drain(mut socket: TcpStream) {
    let _ = socket.shutdown(std::net::Shutdown::Write);
    while socket.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
}

#[test]
fn replayed_hellos_use_nothing_of_the_sessions_rate() {
    let limits = "[admission]\npolicy = \"off\"\nsession_rate = 0.1\nsession_burst = 5\n";
    for version in VERSIONS {
        let gate = gate(hello(), limits);
        let config = customer(&gate, version);
        let (mut first, recorded) = return_recorded(&gate, &config);
        assert_eq!(get(&mut first, "/").unwrap().text(), "hello");
        for copy in 0..20 {
            drain(send_hello(&gate, &recorded));
            drain(send_hello(&gate, &changed(&recorded, copy)));
        }
        for _ in 0..3 {
            let mut back = connect(&gate, &config);
            assert_eq!(get(&mut back, "/").unwrap().text(), "hello");
            assert_eq!(kind(&back), Resumed, "{version:?}");
        }
        assert_eq!(gate.totals().tickets[TicketResult::OverRate], 0);
    }
}

#[test]
fn a_replayed_hello_neither_begins_nor_ends_a_session() {
    for version in VERSIONS {
        // The gate closes after each request, and the session stays active.
        let gate = gate(hello(), "[limits]\nidle_deadline = \"0s\"\n");
        let config = customer(&gate, version);
        let (mut first, recorded) = return_recorded(&gate, &config);
        get(&mut first, "/").unwrap();
        counted(&gate, "closed", |totals| totals.open == 0);
        assert_eq!(gate.snapshot().sessions_active, 1);
        for copy in 0..3 {
            drain(send_hello(&gate, &changed(&recorded, copy)));
        }
        counted(&gate, "failed", |totals| totals.handshakes_failed[HandshakeKind::Resumed] == 3);
        assert_eq!(gate.snapshot().sessions_active, 1, "{version:?}");
    }
}

#[test]
fn a_ticket_of_a_session_that_is_over_makes_it_active_only_with_its_secret() {
    let gate = gate(hello(), "");
    let config = customer(&gate, &rustls::version::TLS12);
    let (mut first, recorded) = return_recorded(&gate, &config);
    get(&mut first, "/").unwrap();
    drop(first);
    counted(&gate, "left", |totals| totals.open == 0);
    assert_eq!(gate.snapshot().sessions_active, 0);
    let waiting = send_hello(&gate, &changed(&recorded, 1));
    counted(&gate, "in handshake", |totals| totals.in_handshake == 1);
    assert_eq!(gate.snapshot().sessions_active, 0);
    drop(waiting);
    get(&mut connect(&gate, &config), "/").unwrap();
    assert_eq!(gate.totals().admitted[Class::New], 1);
}

#[test]
fn a_session_has_a_limit_of_open_connections_beyond_which_it_is_new() {
    let limits = "[admission]\npolicy = \"off\"\nsession_connections = 3\n";
    for version in VERSIONS {
        let gate = gate(hello(), limits);
        let config = Arc::new(client(&[version]));
        let mut open = Vec::new();
        for expected in [Full, Resumed, Resumed, Full] {
            let mut connection = connect(&gate, &config);
            assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
            assert_eq!(kind(&connection), expected, "{version:?}");
            open.push(connection);
        }
        assert_eq!(gate.totals().tickets[TicketResult::OverConnections], 1);
        drop(open);
        counted(&gate, "closed", |totals| totals.open == 0);
        let mut back = connect(&gate, &config);
        get(&mut back, "/").unwrap();
        assert_eq!(kind(&back), Resumed);
    }
}

#[test]
fn of_handshakes_that_finish_together_as_many_are_served_as_the_session_may_have() {
    let limits = "[admission]\npolicy = \"off\"\nsession_rate = 0.1\nsession_burst = 2\n";
    let gate = gate(hello(), limits);
    let config = customer(&gate, &rustls::version::TLS12);
    // All hellos first: each has the ticket of the first connection.
    let begun: Vec<_> = (0..3).map(|_| return_recorded(&gate, &config).0).collect();
    counted(&gate, "recognized", |totals| totals.tickets[TicketResult::Good] == 3);
    let served = begun.into_iter().map(|mut back| get(&mut back, "/").is_ok());
    assert_eq!(served.filter(|served| *served).count(), 1);
    counted(&gate, "closed", |totals| totals.ends[End::SessionLimit] == 2);
}

#[test]
fn an_exact_copy_of_a_hello_is_closed_without_a_handshake() {
    for version in VERSIONS {
        let gate = gate(hello(), "");
        let config = customer(&gate, version);
        let (mut first, recorded) = return_recorded(&gate, &config);
        get(&mut first, "/").unwrap();
        let before = gate.totals();
        for _ in 0..5 {
            let error = send_hello(&gate, &recorded).read(&mut [0; 1]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        }
        let after = gate.totals();
        assert_eq!(after.handshakes_by_class.values(), before.handshakes_by_class.values());
        assert_eq!((after.ends[End::CopiedHello], after.tickets[TicketResult::Copied]), (5, 5));
        assert_eq!(after.admitted, before.admitted);
        assert_eq!(get(&mut first, "/").unwrap().text(), "hello");
    }
}

#[test]
fn after_many_unfinished_handshakes_tickets_from_the_address_are_new() {
    let gate = gate(hello(), "[admission]\npolicy = \"static\"\nrate = 0.01\n");
    let config = customer(&gate, &rustls::version::TLS12);
    let (mut first, recorded) = return_recorded(&gate, &config);
    get(&mut first, "/").unwrap();
    let mut random = 0_u32;
    until("the next is new", || {
        let mut copied = changed(&recorded, 0);
        copied[11..15].copy_from_slice(&random.to_be_bytes());
        random += 1;
        drop(send_hello(&gate, &copied));
        gate.totals().tickets[TicketResult::Unproven] > 0
    });
    assert!(gate.totals().admitted[Class::Returning] > 100);
    assert_eq!(get(&mut first, "/").unwrap().text(), "hello");
    // From another address the customer still returns.
    let name = "localhost".try_into().unwrap();
    let session = ClientConnection::new(config, name).unwrap();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 9, 1], 0)).into()).unwrap();
    socket.connect(&gate.address().into()).unwrap();
    let mut back = BufReader::new(StreamOwned::new(session, TcpStream::from(socket)));
    assert_eq!(get(&mut back, "/").unwrap().text(), "hello");
    assert_eq!(kind(&back), Resumed);
}
