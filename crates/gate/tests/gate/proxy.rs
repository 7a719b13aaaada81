//! Requests and responses through the gate.

use crate::common::*;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tidegate_gate::telemetry::labels::End;

const HOST: &str = "Host: localhost\r\n";

#[test]
fn the_upstream_receives_the_client_and_no_hop_by_hop_field() {
    let (sender, seen) = mpsc::channel();
    let upstream = answering(move |got| {
        sender.send(got).unwrap();
        "HTTP/1.1 200 OK\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n\
         X-End: 2\r\nContent-Length: 2\r\n\r\nok"
            .into()
    });
    let gate = gate(upstream, "");
    let mut connection = connect(&gate, &any_client());
    let request = "GET /a%20b?c=d HTTP/1.1\r\nHost: shop.example\r\nConnection: X-Mine\r\nX-Mine: 1\r\n\
                   X-Forwarded-For: 10.1.1.1\r\nTE: gzip\r\nX-Kept: 3\r\n\r\n";
    send(&mut connection, request.as_bytes());
    let response = receive(&mut connection, "GET").unwrap();
    let head = response.head.to_ascii_lowercase();
    assert!(head.contains("x-end: 2") && !head.contains("x-hop") && !head.contains("keep-alive"));
    let got = seen.recv().unwrap();
    assert_eq!(got.line, "GET /a%20b?c=d HTTP/1.1");
    assert_eq!(got.header("host"), Some("shop.example"));
    assert_eq!(got.header("x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(got.header("x-forwarded-proto"), Some("https"));
    assert_eq!(got.header("x-forwarded-host"), Some("shop.example"));
    assert_eq!(got.header("via"), Some("1.1 tidegate"));
    assert_eq!(got.header("x-kept"), Some("3"));
    assert!(got.header("x-mine").is_none() && got.header("te").is_none());
    assert!(got.header("connection").is_none());
}

#[test]
fn bodies_arrive_complete_in_both_framings() {
    let gate = gate(answering(|got| ok(&String::from_utf8(got.body).unwrap())), "");
    let mut connection = connect(&gate, &any_client());
    let long = "0123456789".repeat(50_000);
    let request = format!("POST / HTTP/1.1\r\n{HOST}Content-Length: {}\r\n\r\n{long}", long.len());
    send(&mut connection, request.as_bytes());
    assert_eq!(receive(&mut connection, "POST").unwrap().text(), long);
    let chunks = "5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n";
    let request = format!("POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n{chunks}");
    send(&mut connection, request.as_bytes());
    assert_eq!(receive(&mut connection, "POST").unwrap().text(), "hello world");
    assert_eq!(gate.totals().upstream_connects, 1, "one connection served both");
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let gate = gate(answering(|got| ok(&got.line)), "");
    let mut connection = connect(&gate, &any_client());
    let all: String = (0..5).map(|n| format!("GET /{n} HTTP/1.1\r\n{HOST}\r\n")).collect();
    send(&mut connection, all.as_bytes());
    for n in 0..5 {
        let response = receive(&mut connection, "GET").unwrap();
        assert_eq!(response.text(), format!("GET /{n} HTTP/1.1"));
    }
}

#[test]
fn responses_without_a_body_have_none() {
    let gate = gate(
        answering(|got| match got.line.as_str() {
            line if line.starts_with("HEAD / ") => {
                "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n".into()
            }
            line if line.contains("/204") => {
                "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n".into()
            }
            line if line.contains("/304") => {
                "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n".into()
            }
            _ => ok("end"),
        }),
        "",
    );
    let mut connection = connect(&gate, &any_client());
    send(&mut connection, format!("HEAD / HTTP/1.1\r\n{HOST}\r\n").as_bytes());
    let head = receive(&mut connection, "HEAD").unwrap().head.to_ascii_lowercase();
    assert!(head.contains("content-length: 1234"), "{head}");
    for method in ["GET", "HEAD"] {
        send(&mut connection, format!("{method} /204 HTTP/1.1\r\n{HOST}\r\n").as_bytes());
        let response = receive(&mut connection, method).unwrap();
        assert_eq!(response.code, 204);
        assert!(!response.head.to_ascii_lowercase().contains("content-length"), "{method}");
    }
    assert_eq!(get(&mut connection, "/304").unwrap().code, 304);
    assert_eq!(get(&mut connection, "/").unwrap().text(), "end");
    assert_eq!(gate.totals().upstream_connects, 1);
}

#[test]
fn a_request_that_expects_100_continue_gets_it() {
    let gate = gate(answering(|got| ok(&String::from_utf8(got.body).unwrap())), "");
    let mut connection = connect(&gate, &any_client());
    let head =
        format!("POST / HTTP/1.1\r\n{HOST}Content-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    send(&mut connection, head.as_bytes());
    assert!(receive_head(&mut connection).unwrap().starts_with("HTTP/1.1 100 "));
    send(&mut connection, b"hello");
    assert_eq!(receive(&mut connection, "POST").unwrap().text(), "hello");
}

#[test]
fn a_malformed_request_is_answered_400_and_closed() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    let upstream = answering(move |_| {
        counted.fetch_add(1, Relaxed);
        ok("hello")
    });
    let gate = gate(upstream, "");
    let both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n";
    let other = "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n";
    for request in [
        format!("POST / HTTP/1.1\r\n{HOST}{both}\r\n0\r\n\r\n"),
        format!("POST / HTTP/1.1\r\n{HOST}{other}\r\n0\r\n\r\n"),
        format!("POST / HTTP/1.1\r\n{HOST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
        format!("POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: gzip\r\n\r\nhello"),
        "GET / HTTP/1.1\r\n\r\n".into(),
        format!("GET / HTTP/1.1\r\n{HOST}{HOST}\r\n"),
        format!("GET / HTTP/1.1\r\n{HOST}Bad Name: x\r\n\r\n"),
        format!("GET /a b HTTP/1.1\r\n{HOST}\r\n"),
        format!("GET / HTTP/1.1\r\n{HOST}X: a\r\n b\r\n\r\n"),
    ] {
        let mut connection = connect(&gate, &any_client());
        send(&mut connection, request.as_bytes());
        let response = receive(&mut connection, "POST").unwrap();
        assert_eq!(response.code, 400, "{request}");
        assert!(matches!(connection.read(&mut [0; 1]), Ok(0)), "{request}");
    }
    assert_eq!(requests.load(Relaxed), 0, "none of them reached the upstream");
    crate::common::counted(&gate, "answered", |totals| totals.ends[End::BadRequest] == 9);
}

#[test]
fn a_length_and_a_coding_in_two_requests_do_not_conflict() {
    let gate = gate(answering(|got| ok(&String::from_utf8(got.body).unwrap())), "");
    let mut connection = connect(&gate, &any_client());
    let sized = format!("POST / HTTP/1.1\r\n{HOST}Content-Length: 3\r\n\r\none");
    let chunked =
        format!("POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n");
    send(&mut connection, [sized.clone(), chunked, sized].concat().as_bytes());
    for expected in ["one", "two", "one"] {
        assert_eq!(receive(&mut connection, "POST").unwrap().text(), expected);
    }
}

#[test]
fn targets_of_other_forms_are_handled() {
    let gate =
        gate(answering(|got| ok(&format!("{} {}", got.line, got.header("host").unwrap()))), "");
    let exchange = |request: &str| {
        let mut connection = connect(&gate, &any_client());
        send(&mut connection, request.as_bytes());
        receive(&mut connection, "GET").unwrap()
    };
    let absolute = exchange("GET https://shop.test:8443/a?b HTTP/1.1\r\nHost: other\r\n\r\n");
    assert_eq!(absolute.text(), "GET /a?b HTTP/1.1 shop.test:8443");
    assert_eq!(exchange("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").text(), "OPTIONS * HTTP/1.1 a");
    assert_eq!(exchange("CONNECT shop.test:443 HTTP/1.1\r\nHost: shop.test:443\r\n\r\n").code, 405);
}

#[test]
fn an_unreachable_upstream_is_a_502_with_retry_after() {
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gate = gate(dead, "");
    let mut connection = connect(&gate, &any_client());
    for _ in 0..2 {
        let response = get(&mut connection, "/").unwrap();
        assert_eq!(response.code, 502);
        assert!(response.text().contains("try again"), "{}", response.text());
        assert!(response.head.to_ascii_lowercase().contains("retry-after: "));
    }
}

#[test]
fn a_slow_upstream_is_a_504_and_the_connection_stays_open() {
    let upstream = upstream(|mut reader| {
        while let Some(got) = read_request(&mut reader) {
            if got.line.contains("/slow") {
                // Never answers; ends when the gate closes.
                let _ = reader.read(&mut [0; 1]);
                return;
            }
            reader.get_mut().write_all(ok("hello").as_bytes()).unwrap();
        }
    });
    let gate = gate_with(upstream, "", |config| {
        // Long enough for the answers that come, on a machine that is short of time.
        config.upstream.response_timeout = Duration::from_secs(1);
    });
    let mut connection = connect(&gate, &any_client());
    assert_eq!(get(&mut connection, "/").unwrap().code, 200);
    assert_eq!(get(&mut connection, "/slow").unwrap().code, 504);
    assert_eq!(get(&mut connection, "/").unwrap().code, 200);
    assert_eq!(gate.totals().upstream_faults.values(), &[0, 1, 0, 0, 0, 0]);
}

#[test]
fn an_upstream_that_closes_or_breaks_http_is_a_502() {
    for answer in
        ["", "HTTP/1.1 200", "nonsense\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n"]
    {
        let upstream = upstream(move |mut reader| {
            read_request(&mut reader);
            reader.get_mut().write_all(answer.as_bytes()).unwrap();
        });
        let gate = gate(upstream, "");
        let response = get(&mut connect(&gate, &any_client()), "/").unwrap();
        assert_eq!(response.code, 502, "{answer}");
    }
}

#[test]
fn a_response_that_the_upstream_cuts_is_cut_for_the_customer() {
    for head in ["Content-Length: 1000", "Transfer-Encoding: chunked"] {
        let upstream = upstream(move |mut reader| {
            read_request(&mut reader);
            let part = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n5\r\nhello\r\n");
            reader.get_mut().write_all(part.as_bytes()).unwrap();
        });
        let gate = gate(upstream, "");
        let mut connection = connect(&gate, &any_client());
        let error = get(&mut connection, "/").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "{head}");
        crate::common::counted(&gate, "cut", |totals| totals.ends[End::Truncated] == 1);
        assert_eq!(gate.totals().upstream_faults.values(), &[0, 0, 0, 1, 0, 0]);
    }
}

#[test]
fn a_connection_that_ended_in_the_pool_is_replaced() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let upstream = upstream(move |mut reader| {
        counted.fetch_add(1, Relaxed);
        // One answer each, and no announcement that the connection closes.
        read_request(&mut reader);
        reader.get_mut().write_all(ok("hello").as_bytes()).unwrap();
    });
    let gate = gate(upstream, "");
    let mut connection = connect(&gate, &any_client());
    for _ in 0..20 {
        assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
    }
    assert_eq!(connections.load(Relaxed), 20);
}

#[test]
fn a_request_on_a_stale_connection_is_repeated_where_that_is_safe() {
    // Closes only when the second request has arrived: so it has been sent.
    let upstream = upstream(|mut reader| {
        read_request(&mut reader);
        reader.get_mut().write_all(ok("first").as_bytes()).unwrap();
        let _ = reader.fill_buf();
    });
    let gate = gate(upstream, "");
    let mut connection = connect(&gate, &any_client());
    assert_eq!(get(&mut connection, "/").unwrap().text(), "first");
    assert_eq!(get(&mut connection, "/").unwrap().text(), "first");
    assert_eq!(gate.totals().upstream_retries, 1);
    let post = format!("POST / HTTP/1.1\r\n{HOST}Content-Length: 1\r\n\r\nx");
    send(&mut connection, post.as_bytes());
    assert_eq!(receive(&mut connection, "POST").unwrap().code, 502, "an order is not sent twice");
}

/// Waits until a counter has risen and stays the same.
fn stops(counter: &AtomicU64) {
    let mut last = (0, Instant::now());
    until("the counter stops", || {
        let now = counter.load(Relaxed);
        if now != last.0 {
            last = (now, Instant::now());
        }
        last.0 > 0 && last.1.elapsed() > Duration::from_millis(200)
    });
}

fn under_way_and_at_the_upstream(gate: &tidegate_gate::Gate) -> (u64, u64) {
    let totals = gate.totals();
    (totals.in_requests, totals.at_upstream)
}

#[test]
fn a_customer_who_closes_while_waiting_is_not_counted_as_backlog() {
    let (upstream, requested, go) = answering_on_request();
    let gate = gate(upstream, "");
    let mut connection = connect(&gate, &any_client());
    send(&mut connection, format!("GET /long HTTP/1.1\r\n{HOST}\r\n").as_bytes());
    comes_to_the_upstream(&gate, &requested);
    assert_eq!(under_way_and_at_the_upstream(&gate), (1, 1));
    drop(connection);
    counted(&gate, "closed", |totals| totals.open == 0);
    assert_eq!(under_way_and_at_the_upstream(&gate), (0, 0));
    go.send(()).unwrap();
}

#[test]
fn a_slow_reader_slows_the_upstream_and_does_not_count_as_backlog() {
    const CHUNK: usize = 64 * 1024;
    const WHOLE: u64 = 64 << 20;
    let written = Arc::new(AtomicU64::new(0));
    let counter = written.clone();
    let upstream = upstream(move |mut reader| {
        read_request(&mut reader);
        let socket = reader.get_mut();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {WHOLE}\r\n\r\n");
        socket.write_all(head.as_bytes()).unwrap();
        for _ in 0..WHOLE / CHUNK as u64 {
            if socket.write_all(&[7; CHUNK]).is_err() {
                return;
            }
            counter.fetch_add(CHUNK as u64, Relaxed);
        }
    });
    let gate = gate(upstream, "");
    let mut connection = connect(&gate, &any_client());
    send(&mut connection, format!("GET / HTTP/1.1\r\n{HOST}\r\n").as_bytes());
    receive_head(&mut connection).unwrap();
    // The upstream can write no more than the kernels' buffers hold.
    stops(&written);
    assert!(written.load(Relaxed) < WHOLE / 2, "{}", written.load(Relaxed));
    assert_eq!(under_way_and_at_the_upstream(&gate), (1, 0), "no backlog");
    let mut rest = vec![0; WHOLE as usize];
    connection.read_exact(&mut rest).unwrap();
    assert!(rest.iter().all(|byte| *byte == 7));
}

#[test]
fn an_upload_streams_at_the_pace_of_the_upstream() {
    const WHOLE: usize = 32 << 20;
    let (go, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let upstream = upstream(move |mut reader| {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        // Reads nothing until then.
        wait.lock().unwrap().recv().unwrap();
        let mut body = vec![0; WHOLE];
        reader.read_exact(&mut body).unwrap();
        reader.get_mut().write_all(ok(&body.len().to_string()).as_bytes()).unwrap();
    });
    let gate = gate(upstream, "");
    let mut connection = connect(&gate, &any_client());
    send(
        &mut connection,
        format!("POST / HTTP/1.1\r\n{HOST}Content-Length: {WHOLE}\r\n\r\n").as_bytes(),
    );
    let sent = Arc::new(AtomicU64::new(0));
    let counter = sent.clone();
    let sender = std::thread::spawn(move || {
        let part = vec![1; 256 * 1024];
        for _ in 0..WHOLE / part.len() {
            connection.get_mut().write_all(&part).unwrap();
            counter.fetch_add(part.len() as u64, Relaxed);
        }
        connection.get_mut().flush().unwrap();
        connection
    });
    stops(&sent);
    assert!(sent.load(Relaxed) < WHOLE as u64 / 2, "{}", sent.load(Relaxed));
    assert_eq!(under_way_and_at_the_upstream(&gate), (1, 0), "no backlog");
    go.send(()).unwrap();
    let mut connection = sender.join().unwrap();
    assert_eq!(receive(&mut connection, "POST").unwrap().text(), WHOLE.to_string());
}

#[test]
fn a_head_above_the_limits_is_431() {
    let gate = gate(hello(), "[limits]\nhead_max_bytes = \"8KiB\"\nhead_max_fields = 20\n");
    let long = format!("GET / HTTP/1.1\r\n{HOST}X: {}\r\n\r\n", "x".repeat(70_000));
    let many = format!("GET / HTTP/1.1\r\n{HOST}{}\r\n", "X: y\r\n".repeat(30));
    for request in [long, many] {
        let mut connection = connect(&gate, &any_client());
        send(&mut connection, request.as_bytes());
        assert_eq!(receive(&mut connection, "GET").unwrap().code, 431);
    }
}

#[test]
fn a_drain_finishes_requests_and_closes_idle_connections() {
    let (upstream, requested, go) = answering_on_request();
    let gate = gate(upstream, "");
    let (mut idle, mut busy) = (connect(&gate, &any_client()), connect(&gate, &any_client()));
    get(&mut idle, "/").unwrap();
    send(&mut busy, format!("GET /long HTTP/1.1\r\n{HOST}\r\n").as_bytes());
    comes_to_the_upstream(&gate, &requested);
    gate.drain();
    assert_eq!(idle.read(&mut [0; 1]).unwrap(), 0, "a close_notify for an idle connection");
    until("no connection is accepted", || TcpStream::connect(gate.address()).is_err());
    go.send(()).unwrap();
    let response = receive(&mut busy, "GET").unwrap();
    assert_eq!(response.text(), "hello");
    assert!(response.head.to_ascii_lowercase().contains("connection: close"));
    assert_eq!(busy.read(&mut [0; 1]).unwrap(), 0);
    gate.join().unwrap();
}

#[test]
fn two_gates_cannot_listen_on_one_port() {
    let one = gate(hello(), "");
    let text = format!(
        "[listen]\naddress = \"{}\"\n[admin]\naddress = \"off\"\n[upstream]\nurl = \"http://127.0.0.1:1\"\n",
        one.address()
    );
    let config = tidegate_gate::config::Config::from_toml(&text, "test.toml").unwrap();
    let error = tidegate_gate::Gate::start(config).unwrap_err().to_string();
    assert!(error.contains("cannot listen on") && error.contains("another process"), "{error}");
}

#[test]
fn an_https_upstream_must_have_a_trusted_certificate() {
    let inner = gate(hello(), "");
    let url = format!("url = \"https://localhost:{}\"", inner.address().port());
    let trusting = gate_of(&format!("{url}\ninsecure = true"), "", |_| {});
    assert_eq!(get(&mut connect(&trusting, &any_client()), "/").unwrap().text(), "hello");
    let root = rcgen::KeyPair::generate().unwrap();
    let root = rcgen::CertificateParams::new(vec!["elsewhere".into()]).unwrap().self_signed(&root);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), root.unwrap().pem()).unwrap();
    let strict = gate_of(&format!("{url}\nca = {:?}", file.path()), "", |_| {});
    assert_eq!(get(&mut connect(&strict, &any_client()), "/").unwrap().code, 502);
}

#[test]
fn an_http_1_0_client_is_served() {
    let gate = gate(hello(), "");
    let mut connection = connect(&gate, &any_client());
    send(&mut connection, b"GET / HTTP/1.0\r\n\r\n");
    let mut all = String::new();
    BufReader::new(connection.get_mut()).read_to_string(&mut all).unwrap();
    assert!(all.starts_with("HTTP/1.0 200 OK") || all.starts_with("HTTP/1.1 200 OK"), "{all}");
    assert!(all.ends_with("hello"));
}

#[test]
fn an_upstream_that_answers_before_the_body_does_not_block_the_customer() {
    let gate = gate(refusing_at_the_head(), "");
    let mut connection = connect(&gate, &any_client());
    send(
        &mut connection,
        format!("POST / HTTP/1.1\r\n{HOST}Content-Length: 100000\r\n\r\nx").as_bytes(),
    );
    assert_eq!(receive(&mut connection, "POST").unwrap().code, 413);
    crate::common::counted(&gate, "closed", |totals| totals.upstream_open == 0);
}
