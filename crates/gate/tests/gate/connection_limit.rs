//! The connection limit of a gate, and what is reserved below it.

use crate::common::*;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use tidegate_gate::Gate;
use tidegate_gate::telemetry::labels::{Class, End};

/// A gate with this connection limit, on one core.
fn gate_with_limit(limit: usize) -> Gate {
    gate(hello(), &format!("[limits]\nmax_connections = {limit}\nhello_deadline = \"60s\"\n"))
}

/// A customer who has sent the first half of a hello.
struct Half {
    session: ClientConnection,
    socket: TcpStream,
    rest: Vec<u8>,
}

impl Half {
    fn send(gate: &Gate, config: &Arc<ClientConfig>) -> Self {
        let name = "localhost".try_into().unwrap();
        let mut session = ClientConnection::new(config.clone(), name).unwrap();
        let mut first = Vec::new();
        session.write_tls(&mut first).unwrap();
        let rest = first.split_off(first.len() / 2);
        let mut socket = TcpStream::connect(gate.address()).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(&first).unwrap();
        Self { session, socket, rest }
    }

    /// The same, for a connection that the gate keeps.
    fn send_and_keep(gate: &Gate, config: &Arc<ClientConfig>) -> Self {
        let before = gate.totals();
        let half = Self::send(gate, config);
        counted(gate, "kept or closed", |totals| {
            totals.in_first_flight > before.in_first_flight || totals.ends != before.ends
        });
        assert_eq!(gate.totals().ends, before.ends, "it was closed");
        half
    }

    /// Sends the rest.
    fn finish(mut self) -> Connection {
        self.socket.write_all(&self.rest).unwrap();
        BufReader::new(StreamOwned::new(self.session, self.socket))
    }

    #[track_caller]
    fn assert_reset(mut self) {
        assert_eq!(self.socket.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
}

/// New sessions with open connections.
fn new_sessions(gate: &Gate, count: usize) -> Vec<Connection> {
    let begin = |_| {
        let mut connection = connect(gate, &any_client());
        assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
        connection
    };
    (0..count).map(begin).collect()
}

/// A customer with a ticket and no connection.
fn returning(gate: &Gate, version: &'static rustls::SupportedProtocolVersion) -> Arc<ClientConfig> {
    let config = Arc::new(client(&[version]));
    let open = gate.totals().open;
    get(&mut connect(gate, &config), "/").unwrap();
    counted(gate, "left", |totals| totals.open == open);
    config
}

#[test]
fn a_returning_hello_in_two_segments_is_served_above_half_of_the_limit() {
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let gate = gate_with_limit(16);
        let customer = returning(&gate, version);
        // All that new sessions may use.
        let _active = new_sessions(&gate, 14);
        let mut connection = Half::send_and_keep(&gate, &customer).finish();
        assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
        let totals = gate.totals();
        assert_eq!(
            (totals.admitted[Class::Returning], totals.in_first_flight),
            (1, 0),
            "{version:?}"
        );
        assert_eq!((totals.refused.values(), totals.ends[End::TooMany]), (&[0, 0], 0));
    }
}

#[test]
fn the_last_new_session_may_send_its_hello_in_two_segments() {
    let gate = gate_with_limit(16);
    let _active = new_sessions(&gate, 13);
    let mut connection = Half::send_and_keep(&gate, &any_client()).finish();
    assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
    let error = get(&mut connect(&gate, &any_client()), "/").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let totals = gate.totals();
    assert_eq!((totals.admitted[Class::New], totals.refused[Class::New]), (14, 1));
}

#[test]
fn a_flood_of_half_hellos_gets_half_of_the_limit() {
    let gate = gate_with_limit(16);
    let customer = returning(&gate, &rustls::version::TLS13);
    let flood: Vec<_> = (0..8).map(|_| Half::send_and_keep(&gate, &any_client())).collect();
    for refused in 1..=3 {
        Half::send(&gate, &any_client()).assert_reset();
        assert_eq!(gate.totals().ends[End::TooMany], refused);
    }
    let _new = new_sessions(&gate, 6);
    let mut back = connect(&gate, &customer);
    assert_eq!(get(&mut back, "/").unwrap().text(), "hello");
    drop(flood);
    counted(&gate, "the flood is over", |totals| totals.in_first_flight == 0);
    Half::send_and_keep(&gate, &any_client());
}

#[test]
fn half_hellos_leave_the_last_sixteenth_to_connections_with_a_ticket() {
    let gate = gate_with_limit(16);
    let customer = returning(&gate, &rustls::version::TLS13);
    let _active = new_sessions(&gate, 14);
    let _half = Half::send_and_keep(&gate, &any_client());
    Half::send(&gate, &any_client()).assert_reset();
    assert_eq!(get(&mut connect(&gate, &customer), "/").unwrap().text(), "hello");
}

#[test]
fn a_gate_for_one_connection_serves_a_hello_in_two_segments() {
    let gate = gate_with_limit(1);
    let mut connection = Half::send_and_keep(&gate, &any_client()).finish();
    assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
}

#[test]
fn plain_http_on_the_tls_port_counts_like_half_hellos() {
    let gate = gate_with_limit(4);
    let _flood = [(); 2].map(|()| Half::send_and_keep(&gate, &any_client()));
    let mut socket = TcpStream::connect(gate.address()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert_eq!(socket.read(&mut [0; 1]).unwrap(), 0, "closed without an answer");
    assert_eq!(gate.totals().ends[End::ClearHttp], 1);
}
