//! Time-outs, streams and WebSockets by route.

use crate::common::plain::{clear_gate, connect_plain};
use crate::common::*;
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;
use tidegate_gate::telemetry::labels::{End, StreamEnd, UpstreamFault};

/// An upstream that waits before the answer to `/poll`, and within all others.
fn pausing(pause: Duration) -> SocketAddr {
    upstream(move |mut reader| {
        while let Some(got) = read_request(&mut reader) {
            if got.line.contains("/poll") {
                std::thread::sleep(pause);
            }
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
            let socket = reader.get_mut();
            if socket.write_all([head, "2\r\nhe\r\n"].concat().as_bytes()).is_err() {
                return;
            }
            std::thread::sleep(pause);
            let _ = socket.write_all(b"3\r\nllo\r\n0\r\n\r\n");
        }
    })
}

fn route(upstream: SocketAddr, path: &str, keys: &str) -> String {
    format!("[[routes]]\npath = \"{path}\"\nurl = \"http://{upstream}\"\n{keys}\n")
}

#[test]
fn a_pause_within_an_answer_is_allowed_where_the_route_says_so() {
    let upstream = pausing(Duration::from_millis(600));
    let keys = "response_pause = \"200ms\"\n";
    let gate = clear_gate(
        upstream,
        &[keys, &route(upstream, "/slow", "response_pause = \"20s\"")].concat(),
    );
    let mut customer = connect_plain(&gate);
    assert_eq!(get(&mut customer, "/slow").unwrap().text(), "hello");
    assert!(get(&mut customer, "/").is_err(), "it is cut");
    counted(&gate, "cut", |totals| totals.ends[End::Truncated] == 1);
}

#[test]
fn a_pause_of_ten_seconds_and_more_is_no_end_by_default() {
    let config = gate(hello(), "").config();
    assert!(config.upstream.response_pause >= Duration::from_secs(15));
}

#[test]
fn a_long_poll_waits_as_long_as_its_route_says() {
    let upstream = pausing(Duration::from_millis(600));
    let keys = "response_timeout = \"200ms\"\n";
    let gate = clear_gate(
        upstream,
        &[keys, &route(upstream, "/poll/long", "response_timeout = \"20s\"")].concat(),
    );
    let mut customer = connect_plain(&gate);
    assert_eq!(get(&mut customer, "/poll/long").unwrap().text(), "hello");
    assert_eq!(get(&mut customer, "/poll/short").unwrap().code, 504);
}

#[test]
fn a_type_of_one_route_streams_there_alone() {
    let upstream = pausing(Duration::from_millis(600));
    let keys = "response_pause = \"200ms\"\n";
    let own = "stream_types = [\"text/plain\"]\nstream_deadline = \"20s\"";
    let gate = clear_gate(upstream, &[keys, &route(upstream, "/feed", own)].concat());
    let mut customer = connect_plain(&gate);
    assert_eq!(get(&mut customer, "/feed").unwrap().text(), "hello");
    assert!(get(&mut customer, "/").is_err(), "it is cut");
}

#[test]
fn an_exchange_that_takes_too_long_as_a_whole_is_ended() {
    let upstream = pausing(Duration::from_millis(600));
    let gate = clear_gate(upstream, &route(upstream, "/", "exchange_timeout = \"400ms\""));
    let mut customer = connect_plain(&gate);
    let answer = get(&mut customer, "/poll").unwrap();
    assert_eq!(answer.code, 504, "before the answer");
    let mut customer = connect_plain(&gate);
    assert!(get(&mut customer, "/").is_err(), "within it");
    counted(&gate, "cut", |totals| totals.ends[End::Truncated] == 1);
    assert_eq!(gate.totals().upstream_faults[UpstreamFault::Stalled], 1);
    let quick = crate::common::gate(hello(), "exchange_timeout = \"20s\"\n");
    assert_eq!(get(&mut connect(&quick, &any_client()), "/").unwrap().text(), "hello");
}

#[test]
fn the_same_holds_for_a_stream_of_http2() {
    use crate::common::http2::{connect_http2, exchange, request, run};
    let upstream = pausing(Duration::from_millis(600));
    let gate = gate(upstream, &route(upstream, "/", "exchange_timeout = \"400ms\""));
    run(async {
        let sender = connect_http2(&gate).await;
        assert_eq!(exchange(&sender, request("GET", "/poll")).await.unwrap().0.status(), 504);
        assert!(exchange(&sender, request("GET", "/")).await.is_err());
    });
    counted(&gate, "reset", |totals| totals.streams_reset[StreamEnd::Truncated] == 1);
}

#[test]
fn a_route_opens_websockets_where_the_others_do_not() {
    let upstream = answering(|_| ok("asked"));
    let keys = "websocket = \"refuse\"\n";
    let gate =
        clear_gate(upstream, &[keys, &route(upstream, "/chat", "websocket = \"tunnel\"")].concat());
    let mut customer = connect_plain(&gate);
    let ask = |path: &str| {
        format!(
            "GET {path} HTTP/1.1\r\nHost: shop\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
    };
    send(&mut customer, ask("/chat").as_bytes());
    assert_eq!(receive(&mut customer, "GET").unwrap().text(), "asked");
    send(&mut customer, ask("/").as_bytes());
    assert_eq!(receive(&mut customer, "GET").unwrap().code, 403);
}

#[test]
fn a_customer_who_leaves_a_silent_poll_frees_the_upstream() {
    let (upstream, requested, _go) = answering_on_request();
    let gate = clear_gate(upstream, "response_timeout = \"1h\"\n");
    let mut customer = connect_plain(&gate);
    send(&mut customer, b"GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n");
    comes_to_the_upstream(&gate, &requested);
    drop(customer);
    counted(&gate, "left", |totals| (totals.open, totals.upstream_open) == (0, 0));
}
