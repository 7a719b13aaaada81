//! What RFC 9110 and RFC 9112 demand of a gateway, beside the delimiting of requests.

use crate::common::plain::{Received, clear_gate, connect_plain, recording};
use crate::common::*;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use tidegate_gate::Gate;
use tidegate_gate::telemetry::labels::{End, Malformed, UpstreamFault};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";

/// A gate before an upstream that answers the first request of each connection with these
/// bytes and then closes.
fn answering_raw(answer: &'static str) -> Gate {
    let upstream = upstream(move |mut reader| {
        read_request(&mut reader);
        reader.get_mut().write_all(answer.as_bytes()).unwrap();
    });
    clear_gate(upstream, "")
}

/// Sends a request over a connection of its own, and reads all that comes back.
fn exchange(gate: &Gate, request: &str) -> String {
    let mut connection = connect_plain(gate);
    send(&mut connection, request.as_bytes());
    let mut all = Vec::new();
    // A response that is cut ends with a reset.
    let _ = connection.read_to_end(&mut all);
    String::from_utf8(all).unwrap()
}

fn get_and_close(gate: &Gate) -> String {
    exchange(gate, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
}

#[test]
fn a_response_with_two_lengths_is_delimited_by_its_chunks_alone() {
    for fields in [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 300\r\n",
    ] {
        let answer = format!("HTTP/1.1 200 OK\r\n{fields}\r\n5\r\nhello\r\n0\r\n\r\n");
        let gate = clear_gate(answering(move |_| answer.clone()), "");
        let mut connection = connect_plain(&gate);
        for _ in 0..2 {
            let response = get(&mut connection, "/").unwrap();
            assert_eq!(response.text(), "hello");
            assert!(!response.head.to_ascii_lowercase().contains("content-length"));
        }
        let totals = gate.totals();
        assert_eq!(totals.upstream_connects, 2, "such a connection is not used again");
    }
}

#[test]
fn equal_lengths_of_a_response_become_one() {
    for fields in ["Content-Length: 5, 5\r\n", "Content-Length: 5\r\nContent-Length: 5\r\n"] {
        let answer = format!("HTTP/1.1 200 OK\r\n{fields}\r\nhello");
        let gate = clear_gate(answering(move |_| answer.clone()), "");
        let mut connection = connect_plain(&gate);
        let response = get(&mut connection, "/").unwrap();
        let head = response.head.to_ascii_lowercase();
        assert_eq!(head.matches("content-length").count(), 1);
        assert!(head.contains("content-length: 5\r\n"), "{head}");
        assert_eq!(response.text(), "hello");
    }
}

#[test]
fn a_response_that_can_be_read_in_two_ways_is_a_502() {
    for (answer, part) in [
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", Malformed::Coding),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", Malformed::Coding),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Malformed::Coding),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello", Malformed::Length),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
            Malformed::Length,
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello", Malformed::Length),
        ("HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", Malformed::Head),
        (
            "HTTP/1.1 200 OK\r\nX: a\nSet-Cookie: b=c\r\nContent-Length: 5\r\n\r\nhello",
            Malformed::Head,
        ),
        ("HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 5\r\n\r\nhello", Malformed::Head),
        ("HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 5\r\n\r\nhello", Malformed::Head),
        ("\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Malformed::Head),
        ("HTTP/1.1 2000 OK\r\nContent-Length: 5\r\n\r\nhello", Malformed::Head),
        ("ICY 200 OK\r\n\r\nhello", Malformed::Head),
    ] {
        let gate = answering_raw(answer);
        let response = get_and_close(&gate);
        assert!(response.starts_with("HTTP/1.1 502 "), "{answer:?}: {response}");
        let totals = gate.totals();
        assert_eq!(totals.malformed_responses[part], 1, "{answer:?}");
        assert_eq!(totals.malformed_responses.values().iter().sum::<u64>(), 1);
        assert_eq!(totals.upstream_faults[UpstreamFault::Broken], 1);
        assert_eq!(totals.upstream_retries, 0);
        assert_eq!(totals.malformed_requests.values().iter().sum::<u64>(), 0);
    }
}

#[test]
fn a_response_whose_chunks_break_is_cut() {
    for (body, part) in [
        ("5\r\nhello\r\nx\r\n", Malformed::Chunk),
        ("5\r\nhello!\r\n0\r\n\r\n", Malformed::Chunk),
        ("5\r\nhello\r\n0\r\n\nHTTP/1.1 200 OK\r\n\r\n", Malformed::Trailer),
        ("5\r\nhello\r\n0\r\nA : b\r\n\r\n", Malformed::Trailer),
    ] {
        let answer = format!("HTTP/1.1 200 OK\r\n{CHUNKED}\r\n{body}");
        let gate = answering_raw(answer.leak());
        let mut connection = connect(&gate, &any_client());
        let error = get(&mut connection, "/").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "{body:?}");
        crate::common::counted(&gate, "cut", |totals| totals.ends[End::Truncated] == 1);
        let totals = gate.totals();
        assert_eq!(totals.malformed_responses[part], 1, "{body:?}");
        assert_eq!(totals.upstream_faults[UpstreamFault::Truncated], 1);
    }
}

#[test]
fn a_response_without_a_body_is_not_read_further_than_its_head() {
    let answers = [
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
        ("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
        ("POST", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ];
    for (method, answer) in answers {
        let gate = clear_gate(answering(move |_| answer.into()), "");
        let mut connection = connect_plain(&gate);
        for _ in 0..3 {
            let request = format!("{method} / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
            send(&mut connection, request.as_bytes());
            assert!(receive(&mut connection, method).unwrap().code < 400, "{answer}");
        }
        assert_eq!(gate.totals().upstream_connects, 1, "{answer}");
    }
}

#[test]
fn a_customer_who_leaves_amid_a_body_is_no_fault_of_the_upstream() {
    let (upstream, received) = recording(OK);
    let gate = clear_gate(upstream, "");
    for lines in ["Content-Length: 9\r\n\r\nhal", "Transfer-Encoding: chunked\r\n\r\n9\r\nhal"] {
        let mut connection = connect_plain(&gate);
        send(&mut connection, format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}").as_bytes());
        crate::common::counted(&gate, "with the upstream", |totals| totals.upstream_open == 1);
        connection.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(received.recv_timeout(PATIENCE).unwrap(), Received::CutOff);
        let _ = connection.read_to_end(&mut Vec::new());
        crate::common::counted(&gate, "closed", |totals| {
            totals.upstream_open == 0 && totals.open == 0
        });
    }
    assert_eq!(gate.totals().upstream_faults.values(), &[0; 6]);
}

#[test]
fn a_chunk_that_breaks_after_the_response_cuts_it_and_blames_the_customer() {
    // The response has begun, and the upstream waits for the rest of the request.
    let upstream = upstream(|mut reader| {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        let part = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal";
        reader.get_mut().write_all(part.as_bytes()).unwrap();
        let _ = reader.read_to_end(&mut Vec::new());
    });
    let gate = clear_gate(upstream, "");
    let mut connection = connect_plain(&gate);
    send(
        &mut connection,
        format!("POST / HTTP/1.1\r\nHost: a\r\n{CHUNKED}\r\n1\r\na\r\n").as_bytes(),
    );
    receive_head(&mut connection).unwrap();
    send(&mut connection, b"x\r\n");
    let mut rest = Vec::new();
    let _ = connection.read_to_end(&mut rest);
    assert_eq!(rest, b"hal");
    crate::common::counted(&gate, "ended", |totals| totals.ends[End::BadRequest] == 1);
    let totals = gate.totals();
    assert_eq!(totals.malformed_requests[Malformed::Chunk], 1);
    assert_eq!(totals.upstream_faults.values(), &[0; 6]);
}

#[test]
fn trailers_of_a_request_obey_the_rules_of_headers() {
    let (upstream, received) = recording(OK);
    let gate = clear_gate(upstream, "");
    let names = "X-Sum, Content-Length, Transfer-Encoding, Host, Authorization, X-Forwarded-For, \
                 X_Forwarded_For, Connection, Cookie, If-Match";
    let trailers = "X-Sum: 1\r\nContent-Length: 3\r\nTransfer-Encoding: gzip\r\nHost: b\r\n\
                    Authorization: x\r\nX-Forwarded-For: 10.0.0.1\r\nX_Forwarded_For: 10.0.0.1\r\n\
                    Connection: close\r\nCookie: a=b\r\nIf-Match: x\r\nX-Unnamed: 1\r\n";
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\n{CHUNKED}Trailer: {names}\r\n\r\n");
    let mut connection = connect_plain(&gate);
    for _ in 0..2 {
        send(&mut connection, format!("{head}1\r\na\r\n0\r\n{trailers}\r\n").as_bytes());
        assert_eq!(receive(&mut connection, "POST").unwrap().code, 200);
        let Received::Request { trailers, .. } = received.recv_timeout(PATIENCE).unwrap() else {
            panic!()
        };
        assert_eq!(trailers, ["x-sum: 1"]);
    }
    assert_eq!(gate.totals().upstream_connects, 1, "the connection is used again");
    // Without any that may pass, the body ends all the same.
    send(&mut connection, format!("{head}1\r\na\r\n0\r\nHost: b\r\n\r\n").as_bytes());
    assert_eq!(receive(&mut connection, "POST").unwrap().code, 200);
    assert_eq!(received.recv_timeout(PATIENCE).unwrap().parts().1, "a");
}

#[test]
fn trailers_of_a_response_obey_the_rules_of_headers() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, Set-Cookie\r\n\r\n\
                  1\r\na\r\n0\r\nX-Sum: 1\r\nSet-Cookie: a=b\r\nContent-Length: 3\r\n\r\n";
    let gate = clear_gate(answering(|_| answer.into()), "");
    let request = "GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: te, close\r\n\r\n";
    for _ in 0..2 {
        let response = exchange(&gate, request);
        assert!(response.ends_with("0\r\nx-sum: 1\r\n\r\n"), "{response}");
    }
    assert_eq!(gate.totals().upstream_connects, 1, "the connection is used again");
    assert!(get_and_close(&gate).ends_with("\r\n0\r\n\r\n"), "a customer who wants none");
}

#[test]
fn trailers_have_the_limits_of_a_head() {
    let (upstream, _received) = recording(OK);
    let gate = clear_gate(upstream, "[limits]\nhead_max_bytes = \"8KiB\"\nhead_max_fields = 20\n");
    for trailers in ["X: y\r\n".repeat(21), format!("X: {}\r\n", "y".repeat(9_000))] {
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\n{CHUNKED}\r\n0\r\n{trailers}\r\n");
        assert!(exchange(&gate, &request).starts_with("HTTP/1.1 431 "));
    }
    let totals = gate.totals();
    assert_eq!(totals.malformed_requests[Malformed::Trailer], 2);
    assert_eq!(totals.upstream_faults.values(), &[0; 6]);
}

#[test]
fn an_old_request_without_a_host_gets_that_of_the_upstream() {
    let (upstream, received) = recording(OK);
    let gate = clear_gate(upstream, "");
    for (head, host) in [
        ("GET / HTTP/1.0\r\n", upstream.to_string()),
        ("GET / HTTP/1.0\r\nHost: shop\r\n", "shop".into()),
        ("GET http://shop/ HTTP/1.0\r\n", "shop".into()),
    ] {
        assert!(exchange(&gate, &format!("{head}\r\n")).contains(" 200 OK"), "{head}");
        assert_eq!(received.recv_timeout(PATIENCE).unwrap().values("host"), [host]);
    }
}

#[test]
fn no_field_of_the_customer_passes_for_one_of_the_gate() {
    let spoofed = "X-Forwarded-For: 10.0.0.1\r\nX_Forwarded_For: 10.0.0.1\r\nForwarded: for=x\r\n\
                   X-Real-IP: 10.0.0.1\r\nTrue-Client-IP: 10.0.0.1\r\nCF-Connecting-IP: 10.0.0.1\r\n\
                   X-Client-IP: 10.0.0.1\r\nForwarded-For: 10.0.0.1\r\nX-Forwarded-Prefix: /x\r\n";
    for (mode, kept, own) in [("replace", 0, 1), ("off", 0, 0), ("pass", 9, 0), ("append", 8, 1)] {
        let (upstream, received) = recording(OK);
        let base = format!("url = \"http://{upstream}\"\nforwarded = \"{mode}\"");
        let gate = gate_of(&base, "", |_| {});
        let mut connection = connect(&gate, &any_client());
        send(&mut connection, format!("GET / HTTP/1.1\r\nHost: a\r\n{spoofed}\r\n").as_bytes());
        assert_eq!(receive(&mut connection, "GET").unwrap().code, 200);
        let Received::Request { fields, .. } = received.recv_timeout(PATIENCE).unwrap() else {
            panic!()
        };
        let has = |text: &str| fields.iter().filter(|field| field.contains(text)).count();
        let spoofed = has("10.0.0.1") + has("for=x") + has("prefix: /x");
        assert_eq!((spoofed, has("x-forwarded-for: 127.0.0.1")), (kept, own), "{mode}: {fields:?}");
    }
}

#[test]
fn each_malformed_request_is_counted_by_its_part() {
    let (upstream, _received) = recording(OK);
    let gate = clear_gate(upstream, "");
    let post = |lines: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}");
    let long = format!("X: {}\r\n\r\n", "y".repeat(40_000));
    for (part, request) in [
        (Malformed::Head, "GET / HTTP/1.1\nHost: a\r\n\r\n".to_owned()),
        (Malformed::TooLarge, post(&long)),
        (Malformed::Target, "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()),
        (Malformed::Host, "GET / HTTP/1.1\r\n\r\n".to_owned()),
        (Malformed::Length, post("Content-Length: 5, 5\r\n\r\n")),
        (Malformed::Coding, post("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")),
        (Malformed::Chunk, post("Transfer-Encoding: chunked\r\n\r\nx\r\n")),
        (Malformed::Trailer, post("Transfer-Encoding: chunked\r\n\r\n0\r\n\n")),
    ] {
        assert!(exchange(&gate, &request).contains("onnection: close"), "{request}");
        crate::common::counted(&gate, part.name(), |totals| totals.malformed_requests[part] == 1);
    }
    crate::common::counted(&gate, "ended", |totals| totals.ends[End::BadRequest] == 8);
    let pairs = gate.snapshot().malformed_requests;
    let others = [Malformed::Frame, Malformed::Upgrade].map(Malformed::name);
    let alone = |(part, count): &(&str, u64)| *count == u64::from(!others.contains(part));
    assert!(pairs.iter().all(alone), "{pairs:?}");
    let metrics = gate.snapshot().prometheus();
    assert!(metrics.contains("tidegate_malformed_total{side=\"customer\",what=\"chunk\"} 1\n"));
    assert!(metrics.contains("tidegate_malformed_total{side=\"upstream\",what=\"chunk\"} 0\n"));
}

/// Sends bytes one by one.
fn dribble(connection: &mut BufReader<TcpStream>, bytes: &[u8]) {
    connection.get_ref().set_nodelay(true).unwrap();
    bytes.chunks(1).for_each(|byte| send(connection, byte));
}

#[test]
fn a_malformed_request_in_single_bytes_is_answered_too() {
    let (upstream, _received) = recording(OK);
    let gate = clear_gate(upstream, "");
    for request in ["GET / HTTP/1.1\nHost: a\r\n", "POST / HTTP/1.1\r\nContent-Length: x\r\n"] {
        let mut connection = connect_plain(&gate);
        dribble(&mut connection, request.as_bytes());
        let response = receive(&mut connection, "GET").unwrap();
        assert_eq!(response.code, 400, "{request}");
        assert!(response.text().contains("malformed"), "{}", response.text());
        assert!(response.head.contains("date: "), "{}", response.head);
    }
}

#[test]
fn a_target_that_is_not_a_url_gets_the_gates_own_page() {
    let gate = clear_gate(hello(), "[limits]\nhead_max_bytes = \"200KiB\"\n");
    let page = |target: &str, code: u16, says: &str| {
        let request = [b"GET ", target.as_bytes(), b" HTTP/1.1\r\nHost: a\r\n\r\n"].concat();
        let mut connection = connect_plain(&gate);
        send(&mut connection, &request);
        let response = receive(&mut connection, "GET").unwrap();
        assert_eq!(response.code, code, "{target}");
        assert!(response.text().contains(says), "{target}: {}", response.text());
    };
    for target in ["/`", "/<b>", "/?a=\"b\"", "/?<b>", "http://a/`", "http://`/", "`", "//a`/?b"] {
        page(target, 400, "percent-encoded");
    }
    page(&format!("/{}", "a".repeat(66_000)), 414, "longer than 65,534 bytes");
    for target in ["/\"{}|^[]\\", "/?`{}|^[]\\", "/\u{e4}?\u{20ac}", "/%60%22"] {
        page(target, 200, "hello");
    }
    let name = "a".repeat(66_000);
    let long = exchange(&gate, &format!("GET / HTTP/1.1\r\nHost: a\r\n{name}: a\r\n\r\n"));
    assert!(long.starts_with("HTTP/1.1 431 ") && long.contains("too long"), "{long}");
    let totals = gate.totals();
    assert_eq!(totals.malformed_requests[Malformed::Target], 8);
    assert_eq!(totals.malformed_requests[Malformed::TooLarge], 2);
}
