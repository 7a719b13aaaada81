//! Who gets the places of a gate when many want one.

mod common;

use common::*;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use tidegate_gate::Gate;
use tidegate_gate::telemetry::labels::{Class, End};

/// A gate with so many places, all of them on one core.
fn gate_with_places(places: usize) -> Gate {
    gate(hello(), &format!("[limits]\nmax_connections = {places}\nhello_deadline = \"60s\"\n"))
}

/// A customer who has sent the first half of her hello.
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

    /// One that the gate has a place for.
    fn let_in(gate: &Gate, config: &Arc<ClientConfig>) -> Self {
        let before = gate.totals();
        let half = Self::send(gate, config);
        counted(gate, "a place or none", |totals| {
            totals.in_first_flight > before.in_first_flight || totals.ends != before.ends
        });
        assert_eq!(gate.totals().ends, before.ends, "she was turned away");
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

/// New customers with open connections.
fn inside(gate: &Gate, count: usize) -> Vec<Connection> {
    let come_in = |_| {
        let mut connection = connect(gate, &any_client());
        assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
        connection
    };
    (0..count).map(come_in).collect()
}

/// A customer who was here before and left.
fn known(gate: &Gate, version: &'static rustls::SupportedProtocolVersion) -> Arc<ClientConfig> {
    let config = Arc::new(client(&[version]));
    let open = gate.totals().open;
    get(&mut connect(gate, &config), "/").unwrap();
    counted(gate, "left", |totals| totals.open == open);
    config
}

#[test]
fn a_hello_in_two_segments_is_served_while_more_than_half_of_the_places_are_taken() {
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let gate = gate_with_places(16);
        let customer = known(&gate, version);
        // All that newcomers may have.
        let _inside = inside(&gate, 14);
        let mut connection = Half::let_in(&gate, &customer).finish();
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
fn a_newcomer_whose_hello_takes_the_last_place_of_newcomers_in_two_segments_gets_it() {
    let gate = gate_with_places(16);
    let _inside = inside(&gate, 13);
    let mut connection = Half::let_in(&gate, &any_client()).finish();
    assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
    let error = get(&mut connect(&gate, &any_client()), "/").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let totals = gate.totals();
    assert_eq!((totals.admitted[Class::New], totals.refused[Class::New]), (14, 1));
}

#[test]
fn a_flood_of_half_hellos_gets_half_of_the_places_and_whole_hellos_the_others() {
    let gate = gate_with_places(16);
    let customer = known(&gate, &rustls::version::TLS13);
    let flood: Vec<_> = (0..8).map(|_| Half::let_in(&gate, &any_client())).collect();
    for turned_away in 1..=3 {
        Half::send(&gate, &any_client()).assert_reset();
        assert_eq!(gate.totals().ends[End::TooMany], turned_away);
    }
    let _new = inside(&gate, 6);
    let mut back = connect(&gate, &customer);
    assert_eq!(get(&mut back, "/").unwrap().text(), "hello");
    drop(flood);
    counted(&gate, "the flood is over", |totals| totals.in_first_flight == 0);
    Half::let_in(&gate, &any_client());
}

#[test]
fn half_hellos_leave_the_last_sixteenth_to_who_shows_a_ticket() {
    let gate = gate_with_places(16);
    let customer = known(&gate, &rustls::version::TLS13);
    let _inside = inside(&gate, 14);
    let _half = Half::let_in(&gate, &any_client());
    Half::send(&gate, &any_client()).assert_reset();
    assert_eq!(get(&mut connect(&gate, &customer), "/").unwrap().text(), "hello");
}

#[test]
fn a_gate_with_one_place_serves_a_hello_in_two_segments() {
    let gate = gate_with_places(1);
    let mut connection = Half::let_in(&gate, &any_client()).finish();
    assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
}

#[test]
fn http_on_the_tls_port_takes_no_more_places_than_half_hellos() {
    let gate = gate_with_places(4);
    let _flood = [(); 2].map(|()| Half::let_in(&gate, &any_client()));
    let mut socket = TcpStream::connect(gate.address()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert_eq!(socket.read(&mut [0; 1]).unwrap(), 0, "there is no place to tell her");
    assert_eq!(gate.totals().ends[End::ClearHttp], 1);
}
