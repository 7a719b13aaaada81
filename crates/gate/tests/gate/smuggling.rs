//! Requests that two readers could delimit differently. Whatever the customer sends, the
//! upstream receives nothing, or exactly one request that has one meaning only.

use crate::common::plain::{Received, clear_gate, connect_plain, recording};
use crate::common::*;
use std::io::Read;
use std::sync::mpsc::Receiver;
use tidegate_gate::Gate;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LAST: &str = "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
/// What an attacker wants the upstream to take for a request.
const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";

/// Sends a request; the gate must answer it with one of these codes, close, and pass
/// nothing on.
fn refused(gate: &Gate, received: &Receiver<Received>, request: &str, codes: &[u16]) {
    let mut connection = connect_plain(gate);
    send(&mut connection, request.as_bytes());
    let response = receive(&mut connection, "GET").expect(request);
    assert!(codes.contains(&response.code), "{} to {request:?}", response.code);
    let mut rest = Vec::new();
    connection.read_to_end(&mut rest).expect(request);
    assert_eq!(String::from_utf8_lossy(&rest), "", "closed after {request:?}");
    assert_eq!(received.try_recv().ok(), None, "{request:?}");
}

/// Sends a request and then another; the upstream must receive these two.
fn passed(gate: &Gate, received: &Receiver<Received>, request: &str, line: &str, body: &str) {
    let mut connection = connect_plain(gate);
    send(&mut connection, format!("{request}{LAST}").as_bytes());
    for _ in 0..2 {
        assert_eq!(receive(&mut connection, "GET").expect(request).code, 200, "{request:?}");
    }
    let mut rest = Vec::new();
    connection.read_to_end(&mut rest).unwrap();
    assert_eq!(String::from_utf8_lossy(&rest), "", "two responses to {request:?}");
    let got: Vec<_> = received.try_iter().collect();
    let parts: Vec<_> = got.iter().map(Received::parts).collect();
    assert_eq!(parts, [(line, body), ("GET /last HTTP/1.1", "")], "{request:?}");
}

/// A POST with these lines and this body.
fn post(lines: &str, body: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n{body}")
}

#[test]
fn a_head_that_can_be_read_in_two_ways_is_refused() {
    let (upstream, received) = recording(OK);
    let gate = clear_gate(upstream, "");
    let chunked = format!("0\r\n\r\n{HIDDEN}");
    let lines = [
        // Two lengths.
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 0\r\nContent-Length: 44\r\n",
        "Content-Length: 0, 44\r\n",
        "Content-Length: 5, 5\r\n",
        // Lengths that are not numbers.
        "Content-Length: +5\r\n",
        "Content-Length: -5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 5 5\r\n",
        "Content-Length: 5.0\r\n",
        "Content-Length:\r\n",
        "Content-Length: 18446744073709551621\r\n",
        "Content-Length: 9223372036854775808\r\n",
        // Codings that are not, or not only, chunked.
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "Transfer-Encoding: chunked;q=1\r\n",
        "Transfer-Encoding: \x0bchunked\r\n",
        "Transfer-Encoding: chunked\0\r\n",
        "Transfer-Encoding:\r\n",
        // Fields that one reader sees and another does not.
        "Content-Length : 5\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding\t: chunked\r\n",
        "X: y\r\n Transfer-Encoding: chunked\r\n",
        "X:\r\n\tContent-Length: 5\r\n",
        "X: y\nTransfer-Encoding: chunked\r\n",
        "X: y\rTransfer-Encoding: chunked\r\n",
        "X: y\n\r\n",
        "X: y\n\n",
        "X\r\n",
        ": x\r\n",
        "X y: z\r\n",
        "\x01X: y\r\n",
        // Two hosts.
        "Host: b\r\n",
        " Host: b\r\n",
    ];
    for lines in lines {
        refused(&gate, &received, &post(lines, &chunked), &[400]);
    }
    let codings = [
        "gzip, chunked",
        "identity, chunked",
        "chunked, chunked",
        ", chunked",
        "chunked, gzip, chunked",
    ];
    for coding in codings {
        let request = post(&format!("Transfer-Encoding: {coding}\r\n"), &chunked);
        refused(&gate, &received, &request, &[501]);
    }
    let twice = post("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", &chunked);
    refused(&gate, &received, &twice, &[501]);
}

#[test]
fn a_first_line_that_can_be_read_in_two_ways_is_refused() {
    let (upstream, received) = recording(OK);
    let gate = clear_gate(upstream, "");
    for line in [
        "GET /\r\n",
        "GET  / HTTP/1.1\r\n",
        "GET / HTTP/1.1 \r\n",
        "GET / /b HTTP/1.1\r\n",
        "GET\t/ HTTP/1.1\r\n",
        "GET / HTTP/1.1\n",
        "GET /\rx HTTP/1.1\r\n",
        "GET / http/1.1\r\n",
        "GET / HTTP/1.1x\r\n",
        "GET / HTTP/11\r\n",
        "G\0T / HTTP/1.1\r\n",
        "GET a HTTP/1.1\r\n",
        "GET * HTTP/1.1\r\n",
        "GET a:80 HTTP/1.1\r\n",
        "GET /a#b HTTP/1.1\r\n",
        "GET ftp://a/ HTTP/1.1\r\n",
        "GET file:///etc/passwd HTTP/1.1\r\n",
        "GET http://u@a/ HTTP/1.1\r\n",
        "GET http://a,b/ HTTP/1.1\r\n",
        "GET http:///b HTTP/1.1\r\n",
        "\nGET / HTTP/1.1\r\n",
    ] {
        refused(&gate, &received, &format!("{line}Host: a\r\n\r\n{HIDDEN}"), &[400]);
    }
    for (line, code) in [
        ("GET / HTTP/1.2", 505),
        ("GET / HTTP/2.0", 505),
        ("GET / HTTP/0.9", 505),
        ("TRACE / HTTP/1.1", 405),
        ("CONNECT a:80 HTTP/1.1", 405),
    ] {
        refused(&gate, &received, &format!("{line}\r\nHost: a\r\n\r\n{HIDDEN}"), &[code]);
    }
    for hosts in [
        "",
        "Host: a\r\nHost: a\r\n",
        "Host:\r\n",
        "Host: a b\r\n",
        "Host: a/b\r\n",
        "Host: a:b\r\n",
    ] {
        for target in ["/", "http://a/"] {
            let request = format!("GET {target} HTTP/1.1\r\n{hosts}\r\n{HIDDEN}");
            refused(&gate, &received, &request, &[400]);
        }
    }
    let old = format!("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}");
    refused(&gate, &received, &old, &[400]);
    refused(&gate, &received, "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", &[400]);
}

#[test]
fn a_body_that_breaks_its_chunks_is_the_customers_fault() {
    let (upstream, received) = recording(OK);
    let gate = clear_gate(upstream, "");
    for body in [
        "0\r\n\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n",
        "0\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello!\r\n0\r\n\r\n",
        "5\r\nhello\rx0\r\n\r\n",
        "x\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "5 5\r\nhello\r\n0\r\n\r\n",
        "\r\n0\r\n\r\n",
        "5;a\nb\r\nhello\r\n0\r\n\r\n",
        "5;a\rb\r\nhello\r\n0\r\n\r\n",
        "10000000000000005\r\nhello\r\n0\r\n\r\n",
        "0\r\nA: b\nC: d\r\n\r\n",
        "0\r\nA: b\r\n c\r\n\r\n",
        "0\r\nA : b\r\n\r\n",
        "0\r\nA\r\n\r\n",
        "0\r\nA: b\0\r\n\r\n",
    ] {
        let mut connection = connect_plain(&gate);
        let request = post("Transfer-Encoding: chunked\r\n", body);
        send(&mut connection, request.as_bytes());
        assert_eq!(receive(&mut connection, "POST").expect(body).code, 400, "{body:?}");
        assert_eq!(connection.read_to_end(&mut Vec::new()).expect(body), 0, "{body:?}");
    }
    counted(&gate, "no upstream connection is kept", |totals| totals.upstream_open == 0);
    assert_eq!(gate.totals().upstream_faults.values(), &[0; 6]);
    drop(gate);
    for got in received.try_iter() {
        assert_eq!(got, Received::CutOff);
    }
}

#[test]
fn a_request_with_one_meaning_reaches_the_upstream_in_one_form() {
    let (upstream, received) = recording(OK);
    let gate = clear_gate(upstream, "");
    let root = "POST / HTTP/1.1";
    for (lines, body, meaning) in [
        ("Content-Length: 5\r\n", "hello", "hello"),
        ("Content-Length: 5\r\nContent-Length: 5\r\n", "hello", "hello"),
        ("Content-Length: \t 5 \r\n", "hello", "hello"),
        ("Content-Length: 33\r\n", HIDDEN, HIDDEN),
        ("Transfer-Encoding: Chunked\r\n", "5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("transfer-ENCODING:chunked \r\n", "005;a=\"b\"\r\nhello\r\n000\r\n\r\n", "hello"),
        ("Transfer-Encoding: chunked\r\n", "5 ; a\r\nhe\r\nl\r\n0\r\nX: y\r\n\r\n", "he\r\nl"),
        ("Transfer_Encoding: chunked\r\nContent-Length: 5\r\n", "hello", "hello"),
        ("Content_Length: 9\r\nContent-Length: 5\r\n", "hello", "hello"),
        ("Connection: content-length, host\r\nContent-Length: 5\r\n", "hello", "hello"),
        (
            "Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n",
            "1\r\na\r\n0\r\n\r\n",
            "a",
        ),
        ("Upgrade: h2c\r\nConnection: Upgrade\r\n", "", ""),
    ] {
        passed(&gate, &received, &post(lines, body), root, meaning);
    }
    let host = "Host: a\r\n\r\n";
    for (line, forwarded) in [
        ("\r\n\r\nGET /a?b HTTP/1.1", "GET /a?b HTTP/1.1"),
        ("GET http://b/c HTTP/1.1", "GET /c HTTP/1.1"),
        ("GET https://b HTTP/1.1", "GET / HTTP/1.1"),
        ("GET //c/d HTTP/1.1", "GET //c/d HTTP/1.1"),
        ("OPTIONS * HTTP/1.1", "OPTIONS * HTTP/1.1"),
        ("GET / HTTP/1.0\r\nConnection: keep-alive", "GET / HTTP/1.1"),
    ] {
        passed(&gate, &received, &format!("{line}\r\n{host}"), forwarded, "");
    }
    let get = format!("GET / HTTP/1.1\r\nContent-Length: {}\r\n{host}{HIDDEN}", HIDDEN.len());
    passed(&gate, &received, &get, "GET / HTTP/1.1", HIDDEN);
}

#[test]
fn requests_before_a_malformed_one_are_answered_first() {
    let (upstream, received) = recording(OK);
    let gate = clear_gate(upstream, "");
    let good = [
        "POST /good HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
        "POST /good HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na",
        "GET /good HTTP/1.1\r\nHost: a\r\n\r\n",
    ];
    let malformed = [
        format!("GET / HTTP/1.1\nHost: a\r\n\r\n{HIDDEN}"),
        format!("GET /`a HTTP/1.1\r\nHost: a\r\n\r\n{HIDDEN}"),
        format!("GET / HTTP/1.1\r\n\r\n{HIDDEN}"),
        post("Transfer-Encoding: chunked\r\n", &format!("x\r\n{HIDDEN}")),
        post("Transfer-Encoding: chunked\r\n", &format!("0\r\nA\r\n\r\n{HIDDEN}")),
    ];
    for (good, malformed) in good.iter().flat_map(|good| malformed.iter().map(move |m| (good, m))) {
        for (count, pieces) in [(1, 1), (1, 1_000), (2, 7), (3, 1_000)] {
            let mut connection = connect_plain(&gate);
            connection.get_ref().set_nodelay(true).unwrap();
            let all = format!("{}{malformed}", good.repeat(count));
            all.as_bytes().chunks(pieces).for_each(|piece| send(&mut connection, piece));
            for _ in 0..count {
                let response = receive(&mut connection, "POST").unwrap();
                assert_eq!(response.code, 200, "{count} in pieces of {pieces}: {all}");
            }
            assert_eq!(receive(&mut connection, "GET").unwrap().code, 400, "{all}");
            assert_eq!(connection.read_to_end(&mut Vec::new()).unwrap(), 0);
            let got: Vec<_> = received.try_iter().filter(|got| *got != Received::CutOff).collect();
            assert_eq!(got.len(), count, "{all}");
            assert!(got.iter().all(|got| got.parts().0.ends_with("/good HTTP/1.1")));
        }
    }
}
