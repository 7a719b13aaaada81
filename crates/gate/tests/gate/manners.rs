//! The manners of HTTP/1.1: expectations, half-closed connections, early answers, old customers,
//! the spelling of names.

use crate::common::*;
use std::io::{BufRead, Read, Write};

const HOST: &str = "Host: localhost\r\n";

/// Reads a head as the upstream received it.
pub fn read_head(reader: &mut impl BufRead) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
    head
}

#[test]
fn a_body_that_the_upstream_refuses_is_not_uploaded() {
    let gate = gate(
        upstream(|mut reader| {
            let head = read_head(&mut reader).to_ascii_lowercase();
            assert!(head.contains("\r\nexpect: 100-continue\r\n"), "{head}");
            let answer = "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno";
            reader.get_mut().write_all(answer.as_bytes()).unwrap();
            let mut rest = Vec::new();
            let _ = reader.read_to_end(&mut rest);
            assert!(rest.is_empty(), "{rest:?}");
        }),
        "",
    );
    let mut connection = connect(&gate, &any_client());
    let head = format!("PUT / HTTP/1.1\r\n{HOST}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    send(&mut connection, head.as_bytes());
    // No 100 comes before it.
    let response = receive(&mut connection, "PUT").unwrap();
    assert_eq!((response.code, response.text()), (417, "no"));
    assert_eq!(connection.read(&mut [0; 1]).unwrap(), 0, "the rest would be the body");
}

#[test]
fn a_body_that_the_upstream_asks_for_is_uploaded() {
    let gate = gate(
        upstream(|mut reader| {
            read_head(&mut reader);
            reader.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
            let mut body = [0; 5];
            reader.read_exact(&mut body).unwrap();
            let answer = ok(str::from_utf8(&body).unwrap());
            reader.get_mut().write_all(answer.as_bytes()).unwrap();
            let _ = reader.read(&mut body);
        }),
        "",
    );
    let mut connection = connect(&gate, &any_client());
    let head = format!("PUT / HTTP/1.1\r\n{HOST}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    send(&mut connection, head.as_bytes());
    assert_eq!(receive(&mut connection, "PUT").unwrap().code, 100);
    send(&mut connection, b"hello");
    assert_eq!(receive(&mut connection, "PUT").unwrap().text(), "hello");
}

#[test]
fn a_customer_who_ends_the_sending_side_gets_the_answer() {
    let (upstream, requested, go) = answering_on_request();
    let gate = gate(upstream, "");
    let mut connection = connect(&gate, &any_client());
    send(&mut connection, format!("GET /long HTTP/1.1\r\n{HOST}\r\n").as_bytes());
    comes_to_the_upstream(&gate, &requested);
    connection.get_mut().conn.send_close_notify();
    connection.get_mut().flush().unwrap();
    counted(&gate, "the close_notify has arrived", |totals| totals.bytes_in > 0);
    // Time for the gate to read it.
    std::thread::sleep(std::time::Duration::from_millis(100));
    go.send(()).unwrap();
    assert_eq!(receive(&mut connection, "GET").unwrap().text(), "hello");
    assert_eq!(connection.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn an_old_customer_who_keeps_connections_is_told_that_the_end_is_the_close() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let gate = gate(answering(move |_| answer.to_owned()), "");
    let mut connection = connect(&gate, &any_client());
    send(
        &mut connection,
        format!("GET / HTTP/1.0\r\n{HOST}Connection: Keep-Alive\r\n\r\n").as_bytes(),
    );
    let response = receive(&mut connection, "GET").unwrap();
    assert!(
        response.head.to_ascii_lowercase().contains("\r\nconnection: close\r\n"),
        "{response:?}"
    );
    assert_eq!(response.text(), "hello");
}

#[test]
fn an_answer_to_an_upload_reaches_the_customer_although_the_upstream_has_closed() {
    const WHOLE: usize = 30 << 20;
    let gate = gate(
        upstream(|mut reader| {
            read_head(&mut reader);
            let answer = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\
                          Connection: close\r\n\r\nbig";
            reader.get_mut().write_all(answer.as_bytes()).unwrap();
            // Closed with unread bytes: a reset follows.
        }),
        "",
    );
    for _ in 0..5 {
        let connection = connect(&gate, &any_client());
        let mut connection = connection.into_inner();
        let head = format!("POST / HTTP/1.1\r\n{HOST}Content-Length: {WHOLE}\r\n\r\n");
        connection.write_all(head.as_bytes()).unwrap();
        let part = vec![1; 256 * 1024];
        for _ in 0..WHOLE / part.len() {
            if connection.write_all(&part).is_err() {
                break;
            }
        }
        // Without writing, which fails.
        let mut bytes = Vec::new();
        while connection.conn.read_tls(&mut connection.sock).is_ok_and(|read| read > 0) {
            connection.conn.process_new_packets().unwrap();
            let _ = connection.conn.reader().read_to_end(&mut bytes);
        }
        let response = receive(&mut &bytes[..], "POST").unwrap();
        assert_eq!((response.code, response.text()), (413, "big"));
    }
}

#[test]
fn names_of_fields_keep_their_spelling() {
    let gate = gate(
        upstream(|mut reader| {
            let head = read_head(&mut reader);
            assert!(head.contains("\r\nX-CamelCase: 1\r\n"), "{head}");
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-ETag-Of-Old: 2\r\n\r\n";
            reader.get_mut().write_all(answer.as_bytes()).unwrap();
            let _ = reader.read(&mut [0]);
        }),
        "",
    );
    let mut connection = connect(&gate, &any_client());
    send(&mut connection, format!("GET / HTTP/1.1\r\n{HOST}X-CamelCase: 1\r\n\r\n").as_bytes());
    let response = receive(&mut connection, "GET").unwrap();
    assert_eq!(response.code, 200);
    assert!(response.head.contains("\r\nX-ETag-Of-Old: 2\r\n"), "{}", response.head);
}

#[test]
fn the_upstream_is_not_told_of_the_gate_where_via_is_off() {
    let upstream = answering(|got| ok(got.header("via").unwrap_or("none")));
    let gate = gate(upstream, "via = false\n");
    assert_eq!(get(&mut connect(&gate, &any_client()), "/").unwrap().text(), "none");
    let mut connection = connect(&gate, &any_client());
    send(&mut connection, b"GET / HTTP/1.1\r\nHost: a\r\nVia: 1.1 other\r\n\r\n");
    assert_eq!(
        receive(&mut connection, "GET").unwrap().text(),
        "1.1 other",
        "that of others stays"
    );
}
