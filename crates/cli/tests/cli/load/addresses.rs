//! A target with several addresses: all are used, and those that do not accept are passed over.

use std::net::TcpListener;
use std::process::Output;

use serde_json::Value;

use crate::common::upstream::Upstream;
use crate::common::{Text, tidegate};

/// Listeners on one port of these addresses of loopback.
fn on_one_port<const N: usize>(addresses: [&str; N]) -> (u16, [TcpListener; N]) {
    // Another process may have the port on one of the further addresses.
    for _ in 0..100 {
        let first = TcpListener::bind((addresses[0], 0)).unwrap();
        let port = first.local_addr().unwrap().port();
        let further = addresses[1..].iter().map(|address| TcpListener::bind((*address, port)));
        if let Ok(further) = further.collect::<Result<Vec<_>, _>>() {
            let all: Vec<TcpListener> = std::iter::once(first).chain(further).collect();
            return (port, all.try_into().unwrap());
        }
    }
    panic!("no port is free on all of {addresses:?}");
}

/// `count` requests to a page, each on a new connection.
fn load(url: &str, count: &str, flags: &[&str]) -> (Output, Value) {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("summary.json").display().to_string();
    let args = ["load", url, "--plain", "--json", &json, "-n", count, "-c", "2", "-t", "1"];
    let output = tidegate(&[&args[..], flags].concat());
    let text = std::fs::read_to_string(json).unwrap_or_else(|_| "null".to_owned());
    (output, serde_json::from_str(&text).unwrap())
}

fn connections(summary: &Value) -> Vec<u64> {
    let all = summary["addresses"].as_array().unwrap().iter();
    all.map(|address| address["connections"].as_u64().unwrap()).collect()
}

#[test]
fn connections_use_all_addresses_of_a_name_in_turn() {
    let (port, listeners) = on_one_port(["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
    let servers = listeners.map(Upstream::on);
    let url = format!("http://shop.test:{port}/items/7");
    let resolve = format!("shop.test:{port}:127.0.0.1,127.0.0.2,127.0.0.3");
    let (output, summary) = load(&url, "30", &["--resolve", &resolve]);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    assert_eq!(connections(&summary), [10, 10, 10], "{summary:#}");
    let line = format!("addresses       127.0.0.1:{port} 10 connections; 127.0.0.2:{port} 10");
    assert!(text.contains(&line), "{text}");
    for server in &servers {
        assert_eq!(server.requests().len(), 10);
        let head = server.whole_requests().pop().unwrap();
        assert!(head.contains(&format!("\r\nHost: shop.test:{port}\r\n")), "{head}");
    }
}

#[test]
fn an_address_that_refuses_is_left_out_and_named() {
    let (port, [refusing, listening]) = on_one_port(["127.0.0.1", "127.0.0.2"]);
    drop(refusing);
    let server = Upstream::on(listening);
    let url = format!("http://shop.test:{port}");
    let resolve = format!("shop.test:{port}:127.0.0.1,127.0.0.2");
    let (output, summary) = load(&url, "10", &["--resolve", &resolve]);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    assert_eq!(server.requests().len(), 10);
    assert_eq!(connections(&summary), [10, 0], "{summary:#}");
    let refused = &summary["addresses"][1];
    assert_eq!(refused["address"], format!("127.0.0.1:{port}"));
    assert!(refused["unreachable"].as_str().unwrap().contains("refused"), "{refused}");
    assert!(text.contains(&format!("127.0.0.1:{port} was left out:")), "{text}");
}

#[test]
fn localhost_works_where_the_server_listens_on_one_of_its_addresses() {
    let mut listeners = vec![TcpListener::bind("127.0.0.1:0").unwrap()];
    listeners.extend(TcpListener::bind("[::1]:0"));
    for listener in listeners {
        let address = listener.local_addr().unwrap();
        let server = Upstream::on(listener);
        let url = format!("http://localhost:{}", address.port());
        let resolve = format!("localhost:{}:[::1],127.0.0.1", address.port());
        let (output, _) = load(&url, "6", &["--resolve", &resolve]);
        assert_eq!(output.status.code(), Some(0), "{address}: {}", output.stderr_text());
        assert_eq!(server.requests().len(), 6, "{address}");
    }
}

#[test]
fn where_no_address_accepts_all_are_named() {
    let (port, listeners) = on_one_port(["127.0.0.1", "127.0.0.2"]);
    drop(listeners);
    let url = format!("http://shop.test:{port}");
    let resolve = format!("shop.test:{port}:127.0.0.1,127.0.0.2");
    let (output, _) = load(&url, "1", &["--resolve", &resolve]);
    assert_eq!(output.status.code(), Some(3));
    let text = output.stderr_text();
    for address in ["127.0.0.1", "127.0.0.2"] {
        assert!(text.contains(&format!("{address}:{port}: Connection refused")), "{text}");
    }
}

#[test]
fn addresses_that_are_not_of_the_target_are_bad_input() {
    for (resolve, says) in [
        ("other.test:80:127.0.0.1", "is not the target, which is shop.test:80"),
        ("shop.test:80:localhost", "\"localhost\" is not an IP address; write HOST:PORT:ADDRESS"),
        ("shop.test", "write HOST:PORT:ADDRESS[,ADDRESS], such as shop.example:443:192.0.2.7"),
    ] {
        let (output, _) = load("http://shop.test", "1", &["--resolve", resolve]);
        assert_eq!(output.status.code(), Some(2), "{}", output.stderr_text());
        assert!(output.stderr_text().contains(says), "{}", output.stderr_text());
    }
}
