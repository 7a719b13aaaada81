//! HTTP/2 to customers: requests, bodies, interim responses, deadlines, drain.

use crate::common::http2::*;
use crate::common::plain::recording;
use crate::common::*;
use bytes::Bytes;
use std::io::{Read, Write};
use std::sync::mpsc;
use std::time::Duration;
use tidegate_gate::telemetry::labels::{End, StreamEnd, UpstreamFault};

#[test]
fn requests_of_one_connection_are_answered_at_once_and_out_of_order() {
    let (upstream, requested, go) = answering_on_request();
    let gate = gate(upstream, "");
    run(async {
        let sender = connect_http2(&gate).await;
        let (slow, _) = begin(&sender, request("GET", "/long"), true).await;
        received(&requested).await;
        let (head, body) = exchange(&sender, request("GET", "/")).await.unwrap();
        assert_eq!((head.status().as_u16(), &body[..]), (200, &b"hello"[..]));
        assert_eq!(head.headers()["content-length"], "5");
        assert!(head.headers().contains_key("date"));
        go.send(()).unwrap();
        assert_eq!(whole(slow.await.unwrap()).await.unwrap().1, b"hello");
    });
    let totals = gate.totals();
    assert_eq!(totals.accepted, 1, "one connection, one handshake");
    assert_eq!(totals.admitted.values().iter().sum::<u64>(), 1);
}

/// What arrives from a thread, while the connections of this one go on.
async fn received<T>(from: &mpsc::Receiver<T>) -> T {
    loop {
        if let Ok(received) = from.try_recv() {
            return received;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn the_upstream_receives_an_unambiguous_request_of_http_1_1() {
    let (upstream, got) = recording("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let gate = gate(upstream, "");
    run(async {
        let sender = connect_http2(&gate).await;
        let get = request("GET", "/a?b").header("cookie", "a=1").header("cookie", "b=2");
        exchange(&sender, get.header("te", "trailers")).await.unwrap();
        let first = received(&got).await;
        assert_eq!(first.parts(), ("GET /a?b HTTP/1.1", ""));
        assert_eq!(first.values("host"), ["localhost"]);
        assert_eq!(first.values("cookie"), ["a=1; b=2"]);
        assert_eq!(first.values("via"), ["2.0 tidegate"]);
        assert_eq!(first.values("x-forwarded-proto"), ["https"]);

        // A body of a known length, and one of an unknown.
        let post = request("POST", "/").header("content-length", "5");
        let (answer, mut body) = begin(&sender, post, false).await;
        body.send_data(Bytes::from_static(b"hello"), true).unwrap();
        answer.await.unwrap();
        let second = received(&got).await;
        assert_eq!(second.parts(), ("POST / HTTP/1.1", "hello"));
        assert_eq!(second.values("content-length"), ["5"]);
        let (answer, mut body) = begin(&sender, request("POST", "/"), false).await;
        body.send_data(Bytes::from_static(b"hel"), false).unwrap();
        body.send_data(Bytes::from_static(b"lo"), true).unwrap();
        answer.await.unwrap();
        let third = received(&got).await;
        assert_eq!(third.parts(), ("POST / HTTP/1.1", "hello"));
        assert_eq!(third.values("transfer-encoding"), ["chunked"]);
    });
}

#[test]
fn requests_that_two_readers_could_read_differently_do_not_reach_the_upstream() {
    let (upstream, got) = recording("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let gate = gate(upstream, "");
    let get = |more: &[(&'static str, &'static str)]| [&GET[..], more].concat();
    let instead = |name: &'static str, value: &'static str| {
        let fields = GET.iter().map(|field| if field.0 == name { (name, value) } else { *field });
        fields.collect::<Vec<_>>()
    };
    let without = |name: &str| GET.iter().filter(|f| f.0 != name).copied().collect::<Vec<_>>();
    let cases = [
        get(&[("transfer-encoding", "chunked")]),
        get(&[("connection", "close")]),
        get(&[("te", "gzip")]),
        get(&[("upgrade", "websocket")]),
        get(&[("content-length", "5")]),
        get(&[("content-length", "+0")]),
        get(&[("content-length", "0"), ("content-length", "0")]),
        get(&[("content-length", " 0")]),
        get(&[("Host", "localhost")]),
        get(&[("host", "other")]),
        get(&[("x", "a\r\nHost: b")]),
        get(&[("x", " a")]),
        get(&[("x y", "a")]),
        get(&[(":path", "/two")]),
        get(&[(":unknown", "a")]),
        [&[("x", "before")], &GET[..]].concat(),
        instead(":method", "GET / HTTP/1.1\r\nx:"),
        instead(":method", "CONNECT"),
        instead(":path", "/a b"),
        instead(":path", "a"),
        instead(":path", ""),
        instead(":path", "*"),
        instead(":scheme", "ftp"),
        instead(":authority", "user@localhost"),
        instead(":authority", "a,b"),
        without(":method"),
        without(":path"),
        without(":scheme"),
        without(":authority"),
    ];
    for fields in cases {
        let mut connection = connect_by_hand(&gate);
        let request = frame(1, END_STREAM | END_HEADERS, 1, &head(&fields));
        write(&mut connection, &request).unwrap();
        // The stream is reset, or answered with an error.
        loop {
            let (kind, _, stream, payload) = read_frame(&mut connection).unwrap();
            match (kind, stream) {
                (3, 1) | (7, 0) => break,
                (1, 1) => {
                    // 4xx, by HPACK's static table or a literal.
                    let refused = matches!(payload[0], 0x8c | 0x8d) || payload[..4].contains(&b'4');
                    assert!(refused, "{fields:?}: {payload:?}");
                    break;
                }
                _ => {}
            }
        }
    }
    assert!(got.try_recv().is_err(), "{:?}", got.try_recv());
}

#[test]
fn bodies_stream_in_both_directions() {
    let (sender, parts) = mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let upstream = upstream(move |mut reader| {
        // Answers before the body is over, and echoes each chunk when it arrives.
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
        }
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n";
        reader.get_mut().write_all(head.as_bytes()).unwrap();
        let mut chunk = [0; 10];
        for _ in 0..2 {
            reader.read_exact(&mut chunk).unwrap();
            sender.lock().unwrap().send(chunk).unwrap();
            reader.get_mut().write_all(&chunk).unwrap();
        }
        reader.get_mut().write_all(b"0\r\nx-sum: 7\r\n\r\n").unwrap();
        let _ = reader.read(&mut chunk);
    });
    let gate = gate(upstream, "");
    run(async {
        let sender = connect_http2(&gate).await;
        let (answer, mut body) = begin(&sender, request("POST", "/"), false).await;
        let mut answer = answer.await.unwrap();
        for part in [&b"hello"[..], b"world"] {
            body.send_data(Bytes::from_static(part), false).unwrap();
            assert_eq!(&received(&parts).await[3..8], part);
            assert_eq!(answer.body_mut().data().await.unwrap().unwrap(), part);
        }
        body.send_data(Bytes::new(), true).unwrap();
        let (_, rest, trailers) = whole(answer).await.unwrap();
        assert!(rest.is_empty());
        assert_eq!(trailers.unwrap()["x-sum"], "7");
    });
}

#[test]
fn a_large_response_arrives_whole_through_small_windows() {
    let body = "0123456789".repeat(100_000);
    let answer = ok(&body);
    let gate = gate(answering(move |_| answer.clone()), "");
    run(async {
        let mut small = h2::client::Builder::new();
        small.initial_window_size(1_000).initial_connection_window_size(70_000);
        let sender = connect_with(&gate, &small).await;
        let all = (0..4).map(|_| exchange(&sender, request("GET", "/")));
        for answer in futures_util::future::join_all(all).await {
            assert!(answer.unwrap().1 == body.as_bytes());
        }
    });
}

#[test]
fn a_head_request_has_the_length_and_no_body() {
    let gate = gate(answering(|_| "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".into()), "");
    run(async {
        let sender = connect_http2(&gate).await;
        let (head, body) = exchange(&sender, request("HEAD", "/")).await.unwrap();
        assert_eq!((&head.headers()["content-length"], body.len()), (&"5".parse().unwrap(), 0));
    });
}

#[test]
fn interim_responses_reach_the_customer() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
    let gate = gate(answering(move |_| format!("{hints}{}", ok("page"))), "");
    run(async {
        let sender = connect_http2(&gate).await;
        let (mut answer, _) = begin(&sender, request("GET", "/"), true).await;
        let early = std::future::poll_fn(|cx| answer.poll_informational(cx)).await;
        let early = early.unwrap().unwrap();
        assert_eq!(early.status().as_u16(), 103);
        assert_eq!(early.headers()["link"], "</a.css>; rel=preload");
        assert_eq!(whole(answer.await.unwrap()).await.unwrap().1, b"page");
    });
}

#[test]
fn a_truncated_response_resets_its_stream_and_no_other() {
    let gate = gate(
        upstream(|mut reader| {
            while let Some(got) = read_request(&mut reader) {
                let cut = got.line.contains("/cut");
                let length = if cut { 10 } else { 5 };
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nhello");
                reader.get_mut().write_all(answer.as_bytes()).unwrap();
                if cut {
                    return;
                }
            }
        }),
        "",
    );
    run(async {
        let sender = connect_http2(&gate).await;
        let error = exchange(&sender, request("GET", "/cut")).await.unwrap_err();
        assert_eq!(error.reason(), Some(h2::Reason::INTERNAL_ERROR));
        assert_eq!(exchange(&sender, request("GET", "/")).await.unwrap().1, b"hello");
    });
    counted(&gate, "cut", |totals| totals.streams_reset[StreamEnd::Truncated] == 1);
    assert_eq!(gate.totals().upstream_faults[UpstreamFault::Truncated], 1);
}

#[test]
fn who_resets_a_stream_frees_the_upstream() {
    let (upstream, requested, _go) = answering_on_request();
    let gate = gate(upstream, "");
    run(async {
        let sender = connect_http2(&gate).await;
        let (answer, mut stream) = begin(&sender, request("GET", "/long"), true).await;
        received(&requested).await;
        stream.send_reset(h2::Reason::CANCEL);
        drop(answer);
        while gate.totals().at_upstream > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(exchange(&sender, request("GET", "/")).await.unwrap().1, b"hello");
    });
    let totals = gate.totals();
    assert_eq!((totals.streams_reset[StreamEnd::Customer], totals.given_up), (1, 1));
}

#[test]
fn an_upstream_that_is_late_costs_one_stream_its_answer() {
    let (upstream, _requested, _go) = answering_on_request();
    let base = format!("url = \"http://{upstream}\"\nresponse_timeout = \"100ms\"");
    let gate = gate_of(&base, "", |_| {});
    run(async {
        let sender = connect_http2(&gate).await;
        let (head, _) = exchange(&sender, request("GET", "/long")).await.unwrap();
        assert_eq!(head.status().as_u16(), 504);
        assert_eq!(exchange(&sender, request("GET", "/")).await.unwrap().1, b"hello");
    });
}

#[test]
fn an_upload_that_makes_no_progress_is_reset() {
    let gate = gate(hello(), "[limits]\nbody_progress_deadline = \"100ms\"\n");
    run(async {
        let sender = connect_http2(&gate).await;
        let (answer, mut body) = begin(&sender, request("POST", "/"), false).await;
        body.send_data(Bytes::from_static(b"x"), false).unwrap();
        let error = answer.await.unwrap_err();
        assert_eq!(error.reason(), Some(h2::Reason::CANCEL));
        assert_eq!(exchange(&sender, request("GET", "/")).await.unwrap().1, b"hello");
    });
    counted(&gate, "reset", |totals| totals.streams_reset[StreamEnd::Deadline] == 1);
}

#[test]
fn a_customer_whose_windows_stay_closed_loses_the_stream() {
    let answer = ok(&"x".repeat(1_000_000));
    let gate = gate(answering(move |_| answer.clone()), "[limits]\ndownload_pause = \"200ms\"\n");
    run(async {
        let sender = connect_http2(&gate).await;
        let (answer, _) = begin(&sender, request("GET", "/"), true).await;
        let mut answer = answer.await.unwrap();
        // The windows are not opened again after the first 64 KB.
        let error = loop {
            match answer.body_mut().data().await.unwrap() {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.reason(), Some(h2::Reason::CANCEL));
    });
    counted(&gate, "reset", |totals| totals.streams_reset[StreamEnd::Deadline] == 1);
}

#[test]
fn an_idle_connection_gets_a_goaway_and_a_close_notify() {
    let gate = gate_with(hello(), "", |config| {
        config.limits.idle_deadline = Duration::from_millis(500);
    });
    let mut connection = connect_by_hand(&gate);
    write(&mut connection, &frame(1, END_STREAM | END_HEADERS, 1, &head(&GET))).unwrap();
    assert_eq!(until_goaway(&mut connection), 0);
    assert_eq!(connection.read(&mut [0; 1]).unwrap(), 0, "close_notify, not a cut");
    counted(&gate, "idle", |totals| totals.ends[End::Idle] == 1);
    assert_eq!(gate.snapshot().sessions_active, 1, "the customer may return");
}

#[test]
fn a_gate_that_drains_answers_what_has_begun_and_takes_nothing_new() {
    let (upstream, requested, go) = answering_on_request();
    let gate = gate(upstream, "");
    run(async {
        let sender = connect_http2(&gate).await;
        let (answer, _) = begin(&sender, request("GET", "/long"), true).await;
        received(&requested).await;
        let drained = std::thread::spawn(move || {
            gate.drain();
            gate.join()
        });
        let mut refused = sender.clone();
        // The GOAWAY arrives.
        loop {
            match refused.clone().ready().await {
                Ok(ready) => refused = ready,
                Err(_) => break,
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        go.send(()).unwrap();
        assert_eq!(whole(answer.await.unwrap()).await.unwrap().1, b"hello");
        drop((sender, refused));
        drained.join().unwrap().unwrap();
    });
}

#[test]
fn without_http2_customers_use_http_1_1() {
    let core = a_core();
    let listen =
        format!("[listen]\naddress = \"127.0.0.1:0\"\nhttp2 = false\ncores = \"{core}\"\n");
    let gate = gate(hello(), &listen);
    let mut connection = connect(&gate, &std::sync::Arc::new(http2_client()));
    assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
}

#[test]
fn under_load_a_drain_answers_every_request_or_says_that_it_was_not_served() {
    let gate = gate(hello(), "");
    run(async {
        let sender = connect_http2(&gate).await;
        let served = std::cell::Cell::new(0);
        let customers = (0..8).map(|_| async {
            loop {
                let mut ready = match sender.clone().ready().await {
                    Ok(ready) => ready,
                    Err(error) => return error,
                };
                let get = request("GET", "/").body(()).unwrap();
                let answer = match ready.send_request(get, true) {
                    Ok((answer, _)) => answer.await,
                    Err(error) => return error,
                };
                match answer {
                    Ok(answer) => assert_eq!(whole(answer).await.unwrap().1, b"hello"),
                    Err(error) => return error,
                }
                served.set(served.get() + 1);
                if served.get() == 200 {
                    gate.drain();
                }
            }
        });
        for error in futures_util::future::join_all(customers).await {
            assert!(error.is_go_away() && error.is_remote(), "{error:?}");
            assert_eq!(error.reason(), Some(h2::Reason::NO_ERROR));
        }
        assert!(served.get() >= 200);
    });
    gate.join().unwrap();
}

#[test]
fn a_customer_who_opens_all_windows_and_reads_nothing_is_cut() {
    const LARGE: &str = "0123456789abcdef";
    let answer = ok(&LARGE.repeat(1 << 18));
    let gate = gate(answering(move |_| answer.clone()), "[limits]\ndownload_pause = \"300ms\"\n");
    let mut connection = connect_by_hand(&gate);
    let window = frame(4, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]);
    let all = frame(8, 0, 0, &0x7000_0000_u32.to_be_bytes());
    write(&mut connection, &[window, all].concat()).unwrap();
    for stream in 0..20 {
        write(&mut connection, &frame(1, END_STREAM | END_HEADERS, 2 * stream + 1, &head(&GET)))
            .unwrap();
    }
    counted(&gate, "cut", |totals| totals.ends[End::BodyDeadline] == 1);
    counted(&gate, "all are over", |totals| totals.in_requests == 0 && totals.upstream_open == 0);
}
