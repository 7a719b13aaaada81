//! The PROXY protocol from load balancers that pass TCP on.

use crate::common::peers::{connect_from, haproxy, nginx};
use crate::common::plain::connect_plain;
use crate::common::*;
use std::io::{BufReader, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use tidegate_gate::Gate;
use tidegate_gate::telemetry::labels::End;

/// A gate with both listeners that knows this machine's address as a sender's.
fn listening_gate(more: &str) -> Gate {
    let core = a_core();
    let upstream = answering(|got| ok(got.header("x-forwarded-for").unwrap_or("none")));
    let listen = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\nclear = \"127.0.0.1:0\"\ncores = \"{core}\"\n\
         proxy_protocol = [\"127.0.0.1\", \"2001:db8::/32\"]\n"
    );
    gate(upstream, &format!("{listen}{more}"))
}

const LINE: &[u8] = b"PROXY TCP4 192.0.2.7 198.51.100.1 32769 443\r\n";
const BINARY: &[u8] =
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x07\xc6\x33\x64\x01\x80\x01\x01\xbb";
const LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// A customer over TLS, whose connection is this one.
fn over_tls(socket: TcpStream) -> Connection {
    let name = "localhost".try_into().unwrap();
    let session = rustls::ClientConnection::new(any_client(), name).unwrap();
    BufReader::new(rustls::StreamOwned::new(session, socket))
}

fn connected(address: SocketAddr, header: &[u8]) -> TcpStream {
    let mut socket = connect_from([127, 0, 0, 1], address);
    std::io::Write::write_all(&mut socket, header).unwrap();
    socket
}

#[test]
fn the_upstream_learns_the_address_that_the_header_names() {
    let gate = listening_gate("");
    for (header, customer) in [(LINE, "192.0.2.7"), (BINARY, "192.0.2.7"), (LOCAL, "127.0.0.1")] {
        let mut plain = BufReader::new(connected(gate.clear_address().unwrap(), header));
        assert_eq!(get(&mut plain, "/").unwrap().text(), customer);
        assert_eq!(get(&mut plain, "/").unwrap().text(), customer, "on the same connection");
        let mut tls = over_tls(connected(gate.address(), header));
        assert_eq!(get(&mut tls, "/").unwrap().text(), customer);
    }
}

#[test]
fn a_header_may_come_in_pieces_and_with_the_request() {
    let gate = listening_gate("");
    let all = [BINARY, GET].concat();
    let mut whole = BufReader::new(connected(gate.clear_address().unwrap(), &all));
    assert_eq!(receive(&mut whole, "GET").unwrap().text(), "192.0.2.7");
    let mut pieces = BufReader::new(connected(gate.clear_address().unwrap(), b""));
    pieces.get_ref().set_nodelay(true).unwrap();
    all.chunks(3).for_each(|piece| send(&mut pieces, piece));
    assert_eq!(receive(&mut pieces, "GET").unwrap().text(), "192.0.2.7");
}

/// Waits for a connection to be reset.
#[track_caller]
fn assert_reset(mut socket: impl Read) {
    assert_eq!(socket.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_listed_sender_without_a_header_is_refused() {
    let gate = listening_gate("");
    assert_reset(connected(gate.clear_address().unwrap(), GET));
    assert_reset(connected(gate.address(), b"\x16\x03\x01\x02\x00\x01\x00"));
    assert_reset(connected(gate.address(), b"\r\n\r\n\0\r\nQUIT\n\x31"));
    counted(&gate, "refused", |totals| totals.ends[End::NoProxyHeader] == 3);
    assert_eq!(gate.totals().upstream_responses, 0);
}

#[test]
fn a_header_from_others_is_a_fault() {
    let gate = listening_gate("");
    let other = |address, bytes: &[u8]| {
        let mut socket = connect_from([127, 0, 0, 9], address);
        std::io::Write::write_all(&mut socket, bytes).unwrap();
        BufReader::new(socket)
    };
    let clear = gate.clear_address().unwrap();
    let mut by_line = other(clear, &[LINE, GET].concat());
    assert_eq!(receive(&mut by_line, "GET").unwrap().code, 400);
    let mut binary = other(clear, &[BINARY, GET].concat());
    assert_eq!(receive(&mut binary, "GET").unwrap().code, 400);
    let mut tls = other(gate.address(), LINE);
    assert!(matches!(tls.read(&mut [0; 1]), Ok(0) | Err(_)));
    assert_eq!(gate.totals().upstream_responses, 0);
    let mut without = other(clear, GET);
    assert_eq!(receive(&mut without, "GET").unwrap().text(), "127.0.0.9");
}

#[test]
fn a_header_that_does_not_end_has_a_deadline() {
    let gate = listening_gate("[limits]\nhello_deadline = \"200ms\"\n");
    let mut silent = connected(gate.clear_address().unwrap(), &LINE[..20]);
    assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0);
    let mut after = connected(gate.clear_address().unwrap(), LINE);
    assert_eq!(after.read(&mut [0; 1]).unwrap(), 0);
    counted(&gate, "late", |totals| totals.ends[End::HelloDeadline] == 2);
}

#[test]
fn places_are_shared_by_the_customers_and_not_by_the_senders() {
    let gate = listening_gate("[limits]\nmax_connections = 4\n");
    let clear = gate.clear_address().unwrap();
    let line = |host: u8| format!("PROXY TCP4 192.0.{host}.1 198.51.100.1 1 2\r\n");
    let mut greedy: Vec<_> = (0..6)
        .map(|_| {
            let mut one = BufReader::new(connected(clear, line(1).as_bytes()));
            let _ = get(&mut one, "/");
            one
        })
        .collect();
    let mut other = BufReader::new(connected(clear, line(2).as_bytes()));
    assert_eq!(get(&mut other, "/").unwrap().text(), "192.0.2.1", "the others give way");
    greedy.clear();
    assert!(gate.totals().ends[End::Displaced] >= 1);
}

#[test]
fn haproxy_and_nginx_name_their_customers() {
    let gate = listening_gate("");
    let (tls, clear) = (gate.address(), gate.clear_address().unwrap());
    let check = |proxy: SocketAddr, by_tls: bool| {
        let socket = connect_from([127, 0, 0, 77], proxy);
        let response = match by_tls {
            true => get(&mut over_tls(socket), "/"),
            false => get(&mut BufReader::new(socket), "/"),
        };
        assert_eq!(response.unwrap().text(), "127.0.0.77");
    };
    for options in ["send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options crc32c"] {
        for to in [tls, clear] {
            let Some(proxy) = haproxy(to, options) else { break };
            check(proxy.address, to == tls);
        }
    }
    for to in [tls, clear] {
        let block =
            format!("stream {{ server {{ listen LISTEN; proxy_pass {to}; proxy_protocol on; }} }}");
        let Some(proxy) = nginx(&block) else { break };
        check(proxy.address, to == tls);
    }
}

#[test]
fn a_reload_lists_and_strikes_senders() {
    let gate = listening_gate("");
    let line = [LINE, GET].concat();
    let clear = gate.clear_address().unwrap();
    let mut before = BufReader::new(connected(clear, &line));
    assert_eq!(receive(&mut before, "GET").unwrap().text(), "192.0.2.7");
    let mut next = (*gate.config()).clone();
    next.listen.proxy_protocol = None;
    assert!(gate.reload(|| Ok(next)));
    until("the gate takes no header", || {
        let mut after = connect_plain(&gate);
        send(&mut after, GET);
        receive(&mut after, "GET").is_ok_and(|response| response.text() == "127.0.0.1")
    });
}
