//! What the operator learns of an upstream that fails.

use crate::common::plain::{clear_gate, connect_plain};
use crate::common::*;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use tidegate_gate::Gate;
use tidegate_gate::config::Config;

/// The cause and the first request of failures for this reason.
fn failure(gate: &Gate, reason: &str) -> (String, Option<String>) {
    let found = || gate.snapshot().upstream_failures.into_iter().find(|f| f.reason == reason);
    until(reason, || found().is_some());
    let failure = found().unwrap();
    (failure.cause, failure.first)
}

/// Status code and body of an admin page.
fn page(gate: &Gate, path: &str) -> String {
    let mut socket = TcpStream::connect(gate.admin_address().unwrap()).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    format!("{} {body}", head.split(' ').nth(1).unwrap())
}

#[test]
fn health_follows_the_upstream_without_a_request_and_life_does_not() {
    let (socket, address) = refusing();
    let admin = "[admin]\naddress = \"127.0.0.1:0\"\n";
    let gate = gate_with(address, admin, |config| {
        config.upstream.check_interval = Duration::from_millis(5);
    });
    until("found dead", || gate.snapshot().upstream_problem.is_some());
    let why = format!("the upstream cannot be reached: {address}: Connection refused");
    let health = page(&gate, "/healthz");
    assert!(health.starts_with("503 ") && health.contains(&why), "{health}");
    assert_eq!(page(&gate, "/livez"), "200 ok\n");
    assert!(page(&gate, "/metrics").contains("\ntidegate_upstream_reachable 0\n"));
    let (cause, first) = failure(&gate, "connect");
    assert!(cause.contains(&address.to_string()), "{cause}");
    assert_eq!(first, None);
    socket.listen(8).unwrap();
    until("found alive", || gate.snapshot().upstream_problem.is_none());
    assert!(page(&gate, "/healthz").starts_with("200 ok\n"));
    assert!(page(&gate, "/metrics").contains("\ntidegate_upstream_reachable 1\n"));
    assert_eq!(gate.totals().upstream_connects, 0, "its own connections do not count");
}

#[test]
fn each_failure_is_kept_with_its_cause_and_the_first_request_without_its_query() {
    let (_socket, dead) = refusing();
    let gate = clear_gate(dead, "");
    for path in ["/cart?card=4242", "/later"] {
        assert_eq!(get(&mut connect_plain(&gate), path).unwrap().code, 502);
    }
    let (cause, first) = failure(&gate, "connect");
    assert!(cause.contains("Connection refused"), "{cause}");
    assert_eq!(first.as_deref(), Some("GET /cart"));
    until("both are counted", || gate.snapshot().upstream_failures[0].requests == 2);
    assert!(gate.snapshot().upstream_problem.is_none(), "it is not watched");

    let upstream = upstream(|mut reader| {
        let Some(got) = read_request(&mut reader) else { return };
        let (answer, goes_on) = match got.line.split(' ').nth(1).unwrap() {
            "/closes?secret" => ("", false),
            "/breaks?secret" => ("HTTP/1.1 200 OK\nContent-Length: 0\n\n", false),
            "/cuts?secret" => ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", false),
            "/pauses?secret" => ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", true),
            _ => ("", true),
        };
        reader.get_mut().write_all(answer.as_bytes()).unwrap();
        if goes_on {
            let _ = reader.read(&mut [0; 1]);
        }
    });
    for (path, reason, cause) in [
        ("/closes", "broken", "it closed the connection"),
        ("/breaks", "broken", "a line does not end with CR LF"),
        ("/waits", "timeout", "response_timeout (or exchange_timeout)"),
        ("/cuts", "truncated", "end of file before message length reached"),
        ("/pauses", "stalled", "nothing more of the response within response_pause"),
    ] {
        let gate = gate_with(upstream, "", |config| {
            config.upstream.response_timeout = Duration::from_millis(50);
            config.upstream.response_pause = Duration::from_millis(50);
        });
        let _ = get(&mut connect(&gate, &any_client()), &format!("{path}?secret"));
        let (told, first) = failure(&gate, reason);
        assert!(told.contains(cause), "{path}: {told}");
        assert_eq!(first, Some(format!("GET {path}")));
    }
}

#[test]
fn the_upstream_of_a_configuration_is_tried_without_starting() {
    let problem = |url: &str, more: &str| {
        let text = format!("[upstream]\nurl = \"{url}\"\nconnect_timeout = \"10s\"\n{more}");
        let config = Config::from_toml(&text, "gate.toml").unwrap_or_else(|m| panic!("{m}"));
        let mut problems = tidegate_gate::upstream_problems(&config).unwrap();
        problems.pop().map(|(key, _, why)| {
            assert_eq!(key, "upstream.url");
            why
        })
    };
    let (socket, address) = refusing();
    let dead = problem(&format!("http://{address}"), "").unwrap();
    assert!(dead.contains("Connection refused"), "{dead}");
    socket.listen(8).unwrap();
    assert_eq!(problem(&format!("http://{address}"), ""), None);
    // A label of more than 63 letters is not sent to any resolver.
    let name = format!("{}.test", "a".repeat(64));
    let unknown = problem(&format!("http://{name}"), "").unwrap();
    assert!(unknown.contains(&format!("{name} does not resolve")), "{unknown}");
    let speaks_no_tls = answering(|_| String::new());
    let tls = problem(&format!("https://{speaks_no_tls}"), "insecure = true\n").unwrap();
    assert!(tls.starts_with("TLS with "), "{tls}");
}
