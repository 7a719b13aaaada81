//! What one address may take from others: places and turns are shared by prefix. Loopback
//! has many: each customer here has an address in a /24 of their own.

use crate::common::*;
use rustls::{ClientConfig, ClientConnection, StreamOwned, SupportedProtocolVersion};
use socket2::{Domain, Socket, Type};
use std::collections::VecDeque;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tidegate_gate::Gate;
use tidegate_gate::telemetry::counters::Totals;
use tidegate_gate::telemetry::labels::{Class, End, TicketResult};

/// The address that takes what it can.
const FLOOD: u8 = 1;

/// The address of a customer: each has another prefix.
fn address(n: u8) -> IpAddr {
    IpAddr::from([127, 0, n, 1])
}

fn socket_from(gate: &Gate, n: u8) -> TcpStream {
    socket_to(gate.address(), n)
}

fn socket_to(gate: SocketAddr, n: u8) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((address(n), 0)).into()).unwrap();
    socket.connect(&gate.into()).unwrap();
    let socket = TcpStream::from(socket);
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Connects from an address; the handshake is performed with the first bytes.
fn connect_from(gate: &Gate, n: u8, config: &Arc<ClientConfig>) -> Connection {
    let name = "localhost".try_into().unwrap();
    let session = ClientConnection::new(config.clone(), name).unwrap();
    BufReader::new(StreamOwned::new(session, socket_from(gate, n)))
}

/// A customer from an address who has been served one page, if they were.
fn served(gate: &Gate, n: u8, config: &Arc<ClientConfig>) -> Option<Connection> {
    let mut connection = connect_from(gate, n, config);
    get(&mut connection, "/").is_ok().then_some(connection)
}

/// Connections from one address that are served until the gate refuses the next.
fn flood(gate: &Gate) -> Vec<Connection> {
    std::iter::from_fn(|| served(gate, FLOOD, &any_client())).collect()
}

fn gate_with_limit(limit: usize) -> Gate {
    let deadlines =
        "hello_deadline = \"60s\"\nidle_deadline = \"60s\"\nhandshake_deadline = \"60s\"";
    gate(hello(), &format!("[limits]\nmax_connections = {limit}\n{deadlines}\n"))
}

/// A hello without a ticket, or with one that a configuration has.
fn hello_of(config: &Arc<ClientConfig>) -> Vec<u8> {
    let name = "localhost".try_into().unwrap();
    let mut session = ClientConnection::new(config.clone(), name).unwrap();
    let mut bytes = Vec::new();
    session.write_tls(&mut bytes).unwrap();
    bytes
}

/// Sends bytes from an address, and nothing after them.
fn send_from(gate: &Gate, n: u8, bytes: &[u8]) -> TcpStream {
    let mut socket = socket_from(gate, n);
    socket.write_all(bytes).unwrap();
    socket
}

/// How many of these connections the gate has closed.
fn closed(sockets: &[TcpStream]) -> usize {
    let is_closed = |socket: &&TcpStream| {
        socket.set_nonblocking(true).unwrap();
        match socket.peek(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    };
    sockets.iter().filter(is_closed).count()
}

#[test]
fn idle_connections_of_one_address_give_way_to_newcomers_of_others() {
    let gate = gate_with_limit(40);
    let mut flood = flood(&gate);
    assert_eq!(flood.len(), 35, "alone it may use all that newcomers may");
    let others: Vec<_> = (2..12).map(|n| served(&gate, n, &any_client())).collect();
    assert_eq!(others.iter().flatten().count(), 10);
    counted(&gate, "ended", |totals| totals.ends[End::Displaced] == 10);
    for _ in 0..5 {
        assert!(served(&gate, FLOOD, &any_client()).is_none(), "it has the most");
    }
    // Properly closed, so that a customer among them returns at once.
    for connection in &flood {
        connection.get_ref().sock.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    }
    until("ten are closed", || {
        flood.iter_mut().filter_map(|connection| connection.read(&mut [0]).ok()).count() == 10
    });
    counted(&gate, "those that are left", |totals| totals.open == 35);
}

#[test]
fn prefixes_with_equal_numbers_do_not_take_places_from_each_other() {
    let gate = gate_with_limit(8);
    let open: Vec<_> = (2..9).map(|n| served(&gate, n, &any_client()).unwrap()).collect();
    assert!(served(&gate, 20, &any_client()).is_none());
    assert!(served(&gate, 2, &any_client()).is_none());
    assert_eq!(gate.totals().ends[End::Displaced], 0);
    drop(open);
}

#[test]
fn slow_uploads_of_one_address_give_way() {
    let gate = gate_with_limit(16);
    let uploads: Vec<_> = std::iter::from_fn(|| {
        let mut connection = served(&gate, FLOOD, &any_client())?;
        send(&mut connection, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\nx");
        Some(connection)
    })
    .collect();
    assert_eq!(uploads.len(), 14);
    counted(&gate, "uploads", |totals| totals.in_requests == 14);
    let others: Vec<_> = (2..8).filter_map(|n| served(&gate, n, &any_client())).collect();
    assert_eq!(others.len(), 6);
    counted(&gate, "ended", |totals| totals.ends[End::Displaced] == 6 && totals.in_requests == 8);
}

#[test]
fn a_response_over_plain_http_that_gives_way_ends_with_a_reset() {
    let upstream = upstream(|mut reader| {
        if read_request(&mut reader).is_some() {
            reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\n\r\npart").unwrap();
            let _ = std::io::copy(&mut reader, &mut std::io::sink());
        }
    });
    let core = a_core();
    let more = format!(
        "[limits]\nmax_connections = 8\n\
         [listen]\naddress = \"127.0.0.1:0\"\nclear = \"127.0.0.1:0\"\ncores = \"{core}\"\n"
    );
    let gate = gate(upstream, &more);
    let begin = |n| {
        let mut socket = socket_to(gate.clear_address().unwrap(), n);
        socket.write_all(b"GET / HTTP/1.0\r\nHost: a\r\n\r\n").unwrap();
        let mut received = Vec::new();
        while !received.ends_with(b"part") {
            let mut bytes = [0; 1024];
            let read = socket.read(&mut bytes).unwrap();
            received.extend(&bytes[..read]);
        }
        socket
    };
    let mut slow: Vec<_> = (0..7).map(|_| begin(FLOOD)).collect();
    let _other = begin(2);
    counted(&gate, "ended", |totals| totals.ends[End::Displaced] == 1 && totals.open == 7);
    let mut reset = 0;
    until("one is reset", || {
        reset += slow
            .iter_mut()
            .filter_map(|socket| {
                socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
                socket.read(&mut [0]).err()
            })
            .filter(|error| error.kind() == ErrorKind::ConnectionReset)
            .count();
        reset > 0
    });
    assert_eq!(reset, 1);
}

#[test]
fn incomplete_hellos_of_one_address_give_way_to_those_of_others() {
    let gate = gate_with_limit(16);
    let half = |n| {
        let config = any_client();
        let name = "localhost".try_into().unwrap();
        let mut session = ClientConnection::new(config, name).unwrap();
        let mut first = Vec::new();
        session.write_tls(&mut first).unwrap();
        let rest = first.split_off(first.len() / 2);
        let before = gate.totals();
        let socket = send_from(&gate, n, &first);
        counted(&gate, "kept or closed", |totals| totals.accepted > before.accepted);
        (session, socket, rest)
    };
    let flood: Vec<_> = (0..12).map(|_| half(FLOOD).1).collect();
    counted(&gate, "half of the places", |totals| totals.in_first_flight == 8);
    counted(&gate, "refused", |totals| totals.ends[End::TooMany] == 4);
    let others: Vec<_> = (2..5).map(half).collect();
    for (session, mut socket, rest) in others {
        socket.write_all(&rest).unwrap();
        let mut connection = BufReader::new(StreamOwned::new(session, socket));
        assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
    }
    assert_eq!(closed(&flood), 4 + 3);
}

/// A customer at an address who has a ticket.
fn customer(gate: &Gate, n: u8, version: &'static SupportedProtocolVersion) -> Arc<ClientConfig> {
    let config = Arc::new(client(&[version]));
    let open = gate.totals().open;
    drop(served(gate, n, &config).unwrap());
    counted(gate, "left", |totals| totals.open == open);
    config
}

#[test]
fn unfinished_handshakes_with_a_ticket_leave_places_to_the_customers_of_other_addresses() {
    let gate = gate_with_limit(16);
    let config = customer(&gate, 2, &rustls::version::TLS12);
    let recorded = hello_of(&config);
    // Nothing in a hello of TLS 1.2 depends on the secret: each gets another random.
    let flood: Vec<_> = (0..40)
        .map(|copy| {
            let mut copied = recorded.clone();
            copied[11..43].fill(copy);
            send_from(&gate, FLOOD, &copied)
        })
        .collect();
    counted(&gate, "all were decided on", |totals| {
        let [new, returning] = [Class::New, Class::Returning].map(|class| totals.admitted[class]);
        new + returning + totals.refused[Class::New] + totals.ends[End::TooMany] >= 41
    });
    assert_eq!(gate.totals().admitted[Class::Returning], 8, "half of the places");
    for _ in 0..3 {
        let mut back = connect_from(&gate, 2, &config);
        assert_eq!(get(&mut back, "/").unwrap().text(), "hello");
        assert_eq!(kind(&back), rustls::HandshakeKind::Resumed);
    }
    drop(flood);
}

#[test]
fn sessions_of_one_address_that_hold_every_place_give_way() {
    let more = "[admission]\npolicy = \"off\"\nsession_connections = 8\n\
                [limits]\nmax_connections = 16\nidle_deadline = \"60s\"\n";
    let gate = gate(hello(), more);
    let other = customer(&gate, 2, &rustls::version::TLS12);
    let mut held = Vec::new();
    for _ in 0..2 {
        let config = customer(&gate, FLOOD, &rustls::version::TLS12);
        held.extend((0..8).map(|_| served(&gate, FLOOD, &config).unwrap()));
    }
    assert_eq!(gate.totals().open, 16);
    // A customer who returns, and newcomers while it has more than half.
    let mut back = served(&gate, 2, &other).unwrap();
    assert_eq!(kind(&back), rustls::HandshakeKind::Resumed);
    assert!(served(&gate, 3, &any_client()).is_some());
    assert!(served(&gate, 4, &any_client()).is_some());
    assert_eq!(get(&mut back, "/").unwrap().text(), "hello");
    assert_eq!(gate.totals().tickets[TicketResult::Unproven], 0);
}

#[test]
fn hellos_of_one_address_neither_fill_the_queue_nor_use_up_the_budget() {
    let gate = gate(
        hello(),
        "[admission]\npolicy = \"static\"\nrate = 20.0\nhold_time = \"20s\"\nhold_connections = 30\n",
    );
    let flood = || -> Vec<_> {
        (0..50).map(|_| send_from(&gate, FLOOD, &hello_of(&any_client()))).collect()
    };
    let first = flood();
    counted(&gate, "full", |totals| totals.holding == 30);
    let others: Vec<_> = (2..7)
        .map(|n| {
            let mut connection = connect_from(&gate, n, &any_client());
            let StreamOwned { conn, sock } = connection.get_mut();
            conn.write_tls(sock).unwrap();
            connection
        })
        .collect();
    counted(&gate, "queued", |totals| totals.accepted == 55);
    let second = flood();
    counted(&gate, "made room", |totals| totals.accepted == 105);
    for mut connection in others {
        assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
    }
    let totals = gate.totals();
    assert!(totals.refused[Class::New] + totals.hold_expired > 0, "{totals:?}");
    drop((first, second));
}

/// Sends a hello that nobody goes on with from one address after each pause. Once the gate has
/// counted what is asked for, six newcomers of other prefixes come, one after another. Returns
/// how many of them are served.
fn served_beside_hellos(gate: &Gate, pause: Duration, enough: impl Fn(&Totals) -> bool) -> usize {
    let (done, hello) = (AtomicBool::new(false), hello_of(&any_client()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            let mut sockets = VecDeque::new();
            while !done.load(Relaxed) && begun.elapsed() < 2 * PATIENCE {
                sockets.push_back(send_from(gate, FLOOD, &hello));
                // The gate has closed those that are older.
                if sockets.len() > 2000 {
                    sockets.pop_front();
                }
                std::thread::sleep(pause);
            }
        });
        counted(gate, "a long queue", enough);
        let served = (2..8).filter_map(|n| served(gate, n, &any_client())).count();
        done.store(true, Relaxed);
        served
    })
}

/// A gate on one core, and one on all that there are: each core has a queue.
const CORES: [&str; 2] = ["", "[listen]\naddress = \"127.0.0.1:0\"\ndrain_deadline = \"5s\"\n"];

#[test]
fn who_connects_again_and_again_leaves_turns_to_those_who_come_now_and_then() {
    // With this many waiting, the last would have no turn within the hold time of 3 s.
    let cases = [(4, 100, 60, 6), (2, 60, 10, 4), (2, 10, 10, 4)];
    for (per_second, hellos_per_s, waiting, least) in cases {
        for listen in CORES {
            let policy = format!("[admission]\npolicy = \"static\"\nrate = {per_second}.0\n");
            let gate = gate(hello(), &format!("{policy}{listen}"));
            let pause = Duration::from_secs(1) / hellos_per_s;
            let served = served_beside_hellos(&gate, pause, |totals| totals.holding > waiting);
            let case = format!("{per_second}/s, {hellos_per_s} hellos/s");
            assert!(served >= least, "{case}: {served} of 6; {:?}", gate.totals());
        }
    }
}

#[test]
fn a_lasting_overload_by_one_address_does_not_shorten_the_wait_of_others() {
    for listen in CORES {
        // A turn comes within half a second; in a lasting overload by many, nobody would wait
        // longer than 200 ms.
        let policy = "[admission]\npolicy = \"static\"\nrate = 4.0\nhold_time = \"1600ms\"\n";
        let gate = gate(hello(), &format!("{policy}{listen}"));
        // More than two hold times of refusals without a pause, at most 200 a second.
        let lasts = |totals: &Totals| totals.hold_expired > 800;
        let served = served_beside_hellos(&gate, Duration::from_millis(5), lasts);
        assert!(served >= 4, "{served} of 6; {:?}", gate.totals());
    }
}

/// The new sessions per second that the policy admits at present.
fn limit_per_s(gate: &Gate) -> f64 {
    gate.snapshot().control.unwrap().limit_per_s.unwrap()
}

/// A gate with the policy `tide` that has learned that its upstream answers 20 requests a
/// second, one after another.
fn gate_that_knows_a_slow_upstream(listen: &str) -> Gate {
    let worker = Mutex::new(());
    let upstream = answering(move |_| {
        let _busy = worker.lock().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        ok("hello")
    });
    let gate = gate(upstream, &format!("[admission]\npolicy = \"tide\"\n{listen}"));
    // One at a time they see the upstream without a queue, all at once with one.
    let mut customers: Vec<_> =
        (20..32).map(|n| served(&gate, n, &any_client()).unwrap()).collect();
    for _ in 0..2 {
        customers.iter_mut().for_each(|customer| drop(get(customer, "/").unwrap()));
    }
    std::thread::scope(|scope| {
        for mut customer in customers {
            scope.spawn(move || (0..6).for_each(|_| drop(get(&mut customer, "/").unwrap())));
        }
    });
    until("there is a small budget", || (3.0..25.0).contains(&limit_per_s(&gate)));
    gate
}

#[test]
fn with_a_measured_budget_too_who_connects_again_and_again_leaves_turns_to_others() {
    for listen in CORES {
        let gate = gate_that_knows_a_slow_upstream(listen);
        let served = served_beside_hellos(&gate, Duration::from_millis(5), |it| it.holding > 80);
        let limit = limit_per_s(&gate);
        assert!(limit < 25.0, "the budget is no longer small: {limit}");
        assert!(served >= 4, "{served} of 6; {:?}", gate.totals());
    }
}

#[test]
fn newcomers_that_wait_give_way_where_places_are_scarce() {
    let gate = gate(
        hello(),
        "[admission]\npolicy = \"static\"\nrate = 20.0\nhold_time = \"20s\"\n\
         [limits]\nmax_connections = 16\nhandshake_deadline = \"60s\"\n",
    );
    let flood: Vec<_> =
        (0..40).map(|_| send_from(&gate, FLOOD, &hello_of(&any_client()))).collect();
    counted(&gate, "full", |totals| totals.accepted == 40 && totals.open == 14);
    let others: Vec<_> = (2..5).filter_map(|n| served(&gate, n, &any_client())).collect();
    assert_eq!(others.len(), 3);
    assert!(gate.totals().ends[End::Displaced] >= 3);
    drop(flood);
}

#[test]
fn with_length_zero_all_addresses_are_one_client() {
    let more = "[limits]\nmax_connections = 8\nidle_deadline = \"60s\"\nprefix_ipv4 = 0\n";
    let gate = gate(hello(), more);
    let flood = flood(&gate);
    assert_eq!(flood.len(), 7);
    assert!(served(&gate, 2, &any_client()).is_none());
}
