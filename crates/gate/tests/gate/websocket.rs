//! WebSockets through the gate: the handshake, the tunnel, its ends, and what is refused.

use crate::common::plain::{clear_gate, connect_plain};
use crate::common::*;
use crate::handover::replace;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use tidegate_gate::Gate;
use tidegate_gate::telemetry::labels::{End, Malformed, Tier, TunnelEnd};

/// Key and answer of RFC 6455, section 1.3.
const ASK: &str = "GET /chat HTTP/1.1\r\nHost: shop\r\nConnection: keep-alive, Upgrade\r\n\
                   Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const AGREE: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
                     Connection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// An upstream that answers a request's head with `answer`, and then does `then`.
fn agreeing(
    answer: impl AsRef<[u8]> + Send + Sync + 'static,
    then: impl Fn(BufReader<TcpStream>) + Send + Sync + 'static,
) -> SocketAddr {
    upstream(move |mut reader| {
        if read_request(&mut reader).is_some() {
            reader.get_mut().write_all(answer.as_ref()).unwrap();
            then(reader);
        }
    })
}

/// An upstream that agrees, and sends back what it gets.
fn echoing() -> SocketAddr {
    agreeing(AGREE, |mut reader| {
        let mut to = reader.get_ref().try_clone().unwrap();
        let _ = std::io::copy(&mut reader, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Write);
    })
}

/// Opens a WebSocket.
fn open(connection: &mut BufReader<impl Read + Write>) -> Response {
    send(connection, ASK.as_bytes());
    receive(connection, "GET").unwrap()
}

fn exchange(connection: &mut BufReader<impl Read + Write>, bytes: &[u8]) {
    send(connection, bytes);
    let mut back = vec![0; bytes.len()];
    connection.read_exact(&mut back).unwrap();
    assert_eq!(back, bytes);
}

/// All that follows to the end of the connection.
fn rest(connection: &mut impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = connection.read_to_end(&mut bytes);
    bytes
}

#[test]
fn bytes_pass_a_websocket_in_both_directions_until_the_customer_closes() {
    let gate = gate(echoing(), "");
    let mut connection = connect(&gate, &any_client());
    let answer = open(&mut connection);
    assert_eq!(answer.code, 101);
    let head = answer.head.to_ascii_lowercase();
    assert!(head.contains("upgrade: websocket\r\n") && head.contains("connection: upgrade\r\n"));
    for size in [1, 100, 70_000] {
        exchange(&mut connection, &vec![b'a'; size]);
    }
    assert_eq!(gate.totals().tunnels, 1);
    assert_eq!(gate.snapshot().sessions_active, 1, "its session is inside");
    connection.get_mut().conn.send_close_notify();
    connection.get_mut().flush().unwrap();
    assert_eq!(rest(&mut connection), b"", "the upstream's end reaches the customer");
    drop(connection);
    counted(&gate, "it ended", |totals| totals.tunnels_ended[TunnelEnd::Customer] == 1);
    let totals = gate.totals();
    assert_eq!(
        (totals.tunnels, totals.tunnel_bytes_in, totals.tunnel_bytes_out),
        (0, 70_101, 70_101)
    );
    assert_eq!((totals.codes().collect::<Vec<_>>(), totals.upstream_open), (vec![(101, 1)], 0));
}

#[test]
fn what_the_upstream_sends_with_its_answer_reaches_the_customer() {
    let answer = [AGREE.as_bytes(), b"\x81\x02hi"].concat();
    let gate = clear_gate(agreeing(answer, |_| {}), "");
    let mut connection = connect_plain(&gate);
    assert_eq!(open(&mut connection).code, 101);
    assert_eq!(rest(&mut connection), b"\x81\x02hi");
    drop(connection);
    counted(&gate, "it ended", |totals| totals.tunnels_ended[TunnelEnd::Upstream] == 1);
}

#[test]
fn an_upstream_that_does_not_agree_is_answered_by_http_and_the_connection_stays() {
    let gate = clear_gate(answering(|_| ok("no")), "");
    let mut connection = connect_plain(&gate);
    assert_eq!(open(&mut connection).text(), "no");
    assert_eq!(get(&mut connection, "/").unwrap().text(), "no", "the connection is of HTTP");
    // What looks like a request behind the first one is no request while the answer is open.
    send(&mut connection, [ASK, "GET /admin HTTP/1.1\r\nHost: shop\r\n\r\n"].concat().as_bytes());
    assert_eq!(receive(&mut connection, "GET").unwrap().text(), "no");
    assert_eq!(receive(&mut connection, "GET").unwrap().code, 400);
    assert_eq!(rest(&mut connection), b"");
    assert_eq!(gate.totals().tiers[Tier::Upstream], 3, "the upstream had three requests");
}

#[test]
fn bytes_behind_the_request_are_not_taken_for_the_websockets() {
    let gate = clear_gate(echoing(), "");
    let mut connection = connect_plain(&gate);
    send(&mut connection, [ASK.as_bytes(), b"GET /admin HTTP/1.1\r\n\r\n"].concat().as_slice());
    assert_eq!(receive(&mut connection, "GET").unwrap().code, 400);
    assert_eq!(rest(&mut connection), b"");
    counted(&gate, "no tunnel", |totals| (totals.tunnels, totals.upstream_open) == (0, 0));
    assert_eq!(gate.totals().malformed_requests[Malformed::Upgrade], 1);
}

#[test]
fn a_101_that_does_not_fit_the_request_makes_no_tunnel() {
    let bare = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
    let wrong = AGREE.replace("s3pP", "AAAA");
    let other = AGREE.replace("Upgrade: websocket", "Upgrade: h2c");
    for answer in [bare.to_owned(), wrong, other] {
        let gate = clear_gate(agreeing(answer, |mut reader| drop(rest(&mut reader))), "");
        let mut connection = connect_plain(&gate);
        assert_eq!(open(&mut connection).code, 502);
        counted(&gate, "closed", |totals| totals.upstream_open == 0);
        assert_eq!(gate.totals().tunnels, 0);
    }
}

#[test]
fn a_request_for_a_websocket_that_has_two_readings_is_refused() {
    let gate = clear_gate(echoing(), "");
    for bad in [
        ASK.replace("HTTP/1.1", "HTTP/1.0"),
        ASK.replace("GET", "POST"),
        ASK.replace("Connection: keep-alive, Upgrade", "Connection: keep-alive"),
        ASK.replace("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""),
        ASK.replace("\r\n\r\n", "\r\nContent-Length: 3\r\n\r\nabc"),
        ASK.replace("\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ] {
        let mut connection = connect_plain(&gate);
        send(&mut connection, bad.as_bytes());
        assert_eq!(receive(&mut connection, "GET").unwrap().code, 400, "{bad}");
        assert_eq!(rest(&mut connection), b"");
    }
    assert_eq!(gate.totals().upstream_connects, 0);
}

#[test]
fn other_upgrades_are_removed_and_the_request_is_served() {
    let gate = clear_gate(answering(|got| ok(got.header("upgrade").unwrap_or("none"))), "");
    let mut connection = connect_plain(&gate);
    send(&mut connection, ASK.replace("Upgrade: websocket", "Upgrade: h2c").as_bytes());
    assert_eq!(receive(&mut connection, "GET").unwrap().text(), "none");
    send(&mut connection, ASK.replace("Upgrade: websocket", "Upgrade: h2c, websocket").as_bytes());
    assert_eq!(receive(&mut connection, "GET").unwrap().text(), "websocket", "and no h2c");
}

#[test]
fn a_gate_that_refuses_websockets_answers_403_and_asks_no_upstream() {
    let gate = clear_gate(echoing(), "websocket = \"refuse\"\n");
    let mut connection = connect_plain(&gate);
    assert_eq!(open(&mut connection).code, 403);
    assert_eq!(open(&mut connection).code, 403, "the connection stays");
    assert_eq!(gate.totals().upstream_connects, 0);
}

#[test]
fn no_more_websockets_are_opened_than_allowed() {
    let gate = clear_gate(echoing(), "[limits]\nmax_tunnels = 1\n");
    let mut first = connect_plain(&gate);
    assert_eq!(open(&mut first).code, 101);
    let mut second = connect_plain(&gate);
    let answer = open(&mut second);
    assert_eq!(answer.code, 503);
    assert!(answer.head.to_ascii_lowercase().contains("retry-after: "));
    drop(first);
    counted(&gate, "it is over", |totals| totals.tunnels == 0);
    assert_eq!(open(&mut second).code, 101);
}

#[test]
fn a_silent_websocket_is_closed_after_its_idle_limit_and_one_in_use_is_not() {
    let limits = "[limits]\ntunnel_idle = \"600ms\"\nidle_deadline = \"100ms\"\n\
                  body_progress_deadline = \"100ms\"\n";
    let gate = clear_gate(echoing(), limits);
    let mut connection = connect_plain(&gate);
    open(&mut connection);
    for _ in 0..8 {
        std::thread::sleep(std::time::Duration::from_millis(100));
        exchange(&mut connection, b"ping");
    }
    assert_eq!(gate.totals().tunnels, 1);
    assert_eq!(rest(&mut connection), b"");
    drop(connection);
    counted(&gate, "it ended", |totals| totals.tunnels_ended[TunnelEnd::Idle] == 1);
    counted(&gate, "the connection", |totals| totals.ends[End::Idle] == 1);
}

#[test]
fn an_upstream_sends_no_more_than_the_customer_takes() {
    let sent = Arc::new(AtomicU64::new(0));
    let count = sent.clone();
    let upstream = agreeing(AGREE, move |mut reader| {
        while reader.get_mut().write_all(&[0; 10_000]).is_ok() {
            count.fetch_add(10_000, Relaxed);
        }
    });
    let gate = clear_gate(upstream, "[limits]\ndownload_pause = \"500ms\"\n");
    let mut connection = connect_plain(&gate);
    open(&mut connection);
    counted(&gate, "it is cut", |totals| totals.tunnels_ended[TunnelEnd::Stalled] == 1);
    // Two pairs of socket buffers, and what the gate holds.
    let (sent, passed) = (sent.load(Relaxed), gate.totals().tunnel_bytes_out);
    assert!(passed <= sent + 10_000 && sent < 64 << 20, "{sent}, {passed}");
    counted(&gate, "the connection", |totals| totals.ends[End::BodyDeadline] == 1);
}

#[test]
fn an_upstream_that_goes_on_is_not_cut_while_a_slow_customer_reads() {
    let gate = clear_gate(echoing(), "[limits]\ndownload_pause = \"1s\"\n");
    let mut connection = connect_plain(&gate);
    open(&mut connection);
    let mut writer = connection.get_ref().try_clone().unwrap();
    let size = 8 << 20;
    let sender = std::thread::spawn(move || writer.write_all(&vec![1; size]).is_ok());
    let (mut read, mut piece) = (0, vec![0; size / 16]);
    while read < size {
        std::thread::sleep(std::time::Duration::from_millis(200));
        connection.read_exact(&mut piece).unwrap();
        read += piece.len();
    }
    assert!(sender.join().unwrap());
    assert_eq!(gate.totals().tunnels, 1);
}

#[test]
fn a_gate_that_drains_closes_websockets_at_the_end_of_a_frame() {
    // The upstream is in the middle of a frame of five bytes; the rest follows when the test says.
    let (go, wait) = mpsc::channel::<()>();
    let (told, closed) = mpsc::channel();
    let wait = std::sync::Mutex::new(wait);
    let upstream = agreeing([AGREE.as_bytes(), b"\x81\x05he"].concat(), move |mut reader| {
        wait.lock().unwrap().recv().unwrap();
        reader.get_mut().write_all(b"llo\x81\x01x").unwrap();
        told.send(rest(&mut reader)).unwrap();
    });
    let gate = clear_gate(upstream, "");
    let mut connection = connect_plain(&gate);
    open(&mut connection);
    let mut start = [0; 4];
    connection.read_exact(&mut start).unwrap();
    // An idle connection of the same core is closed once this core drains.
    let mut idle = connect(&gate, &any_client());
    idle.get_mut().flush().unwrap();
    assert!(!idle.get_ref().conn.is_handshaking());
    gate.drain();
    assert_eq!(rest(&mut idle), b"");
    go.send(()).unwrap();
    let mut end = [0; 7];
    connection.read_exact(&mut end).unwrap();
    assert_eq!(&end, b"llo\x88\x02\x03\xe9", "a Close frame (1001), and nothing behind it");
    // The customer's answer, masked, goes to the upstream.
    let answer = b"\x88\x82\0\0\0\0\x03\xe9";
    send(&mut connection, answer);
    connection.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(closed.recv().unwrap(), answer);
    assert_eq!(rest(&mut connection), b"");
    counted(&gate, "it ended", |totals| totals.tunnels_ended[TunnelEnd::Drain] == 1);
}

#[test]
fn a_gate_whose_place_another_took_closes_websockets_one_by_one_before_its_deadline() {
    let service = echoing();
    let config = || config_of(&format!("url = \"http://{service}\""), "");
    let before = Gate::start(config()).unwrap();
    let mut open_ones: Vec<_> = (0..4).map(|_| connect(&before, &any_client())).collect();
    for connection in &mut open_ones {
        open(connection);
        exchange(connection, b"\x81\x01x");
    }
    let _after = replace(&before, config());
    for connection in &mut open_ones {
        let mut end = [0; 4];
        connection.read_exact(&mut end).unwrap();
        assert_eq!(&end, b"\x88\x02\x03\xe9", "a Close frame (1001)");
    }
    drop(open_ones);
    before.join().unwrap();
}

#[test]
fn a_websocket_is_one_line_of_the_access_log_with_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.log");
    let gate =
        clear_gate(echoing(), &format!("[access_log]\nfile = {:?}\n", file.display().to_string()));
    let mut connection = connect_plain(&gate);
    open(&mut connection);
    exchange(&mut connection, b"hello");
    drop(connection);
    counted(&gate, "all is over", |totals| totals.open == 0);
    drop(gate);
    let text = std::fs::read_to_string(&file).unwrap();
    let line: serde_json::Value = serde_json::from_str(text.trim_end()).unwrap();
    assert_eq!((&line["status"], &line["tunnel_end"]), (&101.into(), &"customer".into()));
    assert_eq!((&line["bytes_sent"], &line["bytes_received"]), (&5.into(), &5.into()));
    assert!(line["response_ms"].as_f64().is_some() && line["answered_by"] == "upstream");
}
