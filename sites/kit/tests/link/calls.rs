//! Calls over every kind of link, and servers that fail.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tidegate_sitekit::link::{Kind, ServerSide};

use crate::relay::{Relay, Way};
use crate::world::{
    Keys, SHORT, SPECS, block_on, client, client_within, echo, fails, serve, serve_at, server, spec,
};

#[test]
fn every_way_carries_calls_and_statuses() {
    let files = Keys::new();
    let files = files.files();
    for text in SPECS {
        let server = server(text, &files);
        let client = client(text, &files, &[server.address()]);
        block_on(async {
            for body in ["{}", "\"text\"", &"x".repeat(100_000)] {
                assert_eq!(echo(&client, body).await.unwrap(), body, "{text}");
            }
            let reply = client.call("/fail", b"{}".into()).await.unwrap();
            assert_eq!((reply.status.as_u16(), &reply.body[..]), (409, &b"{}"[..]), "{text}");
        });
        server.shutdown();
    }
}

#[test]
fn connections_persist_or_are_made_for_each_call() {
    let keys = Keys::new();
    for (text, expected) in [("none,persistent", 1), ("none,per-request", 20)] {
        let server = server(text, &keys.files());
        let relay = Relay::to(server.address());
        let client = client(text, &keys.files(), &[relay.address]);
        block_on(async {
            for _ in 0..20 {
                echo(&client, "{}").await.unwrap();
            }
        });
        assert_eq!(relay.connections(), expected, "{text}");
        server.shutdown();
    }
}

#[test]
fn many_calls_at_once_have_their_own_answers() {
    let keys = Keys::new();
    for text in ["tls,persistent", "sealed,per-request"] {
        let server = server(text, &keys.files());
        let client = client(text, &keys.files(), &[server.address()]);
        block_on(async {
            let calls: Vec<_> = (0..100)
                .map(|number| {
                    let client = client.clone();
                    tokio::spawn(async move { echo(&client, &number.to_string()).await.unwrap() })
                })
                .collect();
            for (number, call) in calls.into_iter().enumerate() {
                assert_eq!(call.await.unwrap(), number.to_string());
            }
        });
        server.shutdown();
    }
}

#[test]
fn nothing_is_readable_on_a_protected_link() {
    let keys = Keys::new();
    for (text, readable) in [("none", true), ("tls", false), ("sealed", false)] {
        let side = ServerSide::new(spec(text), &keys.files(), "back", "front").unwrap();
        let server = serve(&side);
        let relay = Relay::to(server.address());
        let known = server.address();
        server.shutdown();
        let server = serve_at(known, &side.known_as(&[relay.address.to_string()]));
        let client = client(text, &keys.files(), &[relay.address]);
        block_on(echo(&client, "\"confidential\"")).unwrap();
        let sent = relay.sent();
        let found = sent.windows(12).any(|bytes| bytes == b"confidential");
        assert_eq!(found, readable, "{text}");
        server.shutdown();
    }
}

#[test]
fn a_restarted_server_is_called_again_on_the_same_client() {
    let keys = Keys::new();
    for text in SPECS {
        let first = server(text, &keys.files());
        let address = first.address();
        let client = client(text, &keys.files(), &[address]);
        // The connections of a client live on its runtime.
        block_on(async {
            echo(&client, "{}").await.unwrap();
            tokio::task::spawn_blocking(move || first.shutdown()).await.unwrap();
            let error = echo(&client, "{}").await.unwrap_err();
            assert_eq!(error.kind, Kind::Unreachable, "{text}: {error}");
            let expected = format!("back tier at {address}: Connection refused");
            assert!(error.to_string().starts_with(&expected), "{error}");
            let side = ServerSide::new(spec(text), &keys.files(), "back", "front").unwrap();
            let second = serve_at(address, &side);
            assert_eq!(echo(&client, "{}").await.unwrap(), "{}", "{text}");
            tokio::task::spawn_blocking(move || second.shutdown()).await.unwrap();
        });
    }
}

#[test]
fn of_several_servers_all_have_calls_and_one_that_is_gone_is_passed_over() {
    let keys = Keys::new();
    let servers = [(); 3].map(|()| server("none", &keys.files()));
    let relays: Vec<Relay> = servers.iter().map(|server| Relay::to(server.address())).collect();
    let addresses: Vec<SocketAddr> = relays.iter().map(|relay| relay.address).collect();
    let client = client("none,per-request", &keys.files(), &addresses);
    block_on(async {
        for _ in 0..30 {
            echo(&client, "{}").await.unwrap();
        }
        let counts: Vec<usize> = relays.iter().map(Relay::connections).collect();
        assert_eq!(counts, [10, 10, 10]);
        relays[1].set(Way::Close);
        for _ in 0..30 {
            echo(&client, "{}").await.unwrap();
        }
        assert!(relays[1].connections() < 15, "it is avoided: {}", relays[1].connections());
    });
    for server in servers {
        server.shutdown();
    }
}

#[test]
fn whatever_a_server_does_a_call_ends_within_its_deadline_with_the_cause() {
    let keys = Keys::new();
    let server = server("none", &keys.files());
    for text in ["none,persistent", "none,per-request"] {
        for (way, kind, expected) in [
            (Way::Close, Kind::NoAnswer, "the connection broke before the answer"),
            (Way::LoseAnswer, Kind::NoAnswer, "the connection broke before the answer"),
            (Way::Junk, Kind::NoAnswer, "the connection broke before the answer"),
            (Way::Silence, Kind::NoAnswer, "did not answer within 1500 ms"),
        ] {
            let relay = Relay::to(server.address());
            relay.set(way);
            let client = match way {
                Way::Silence => client_within(SHORT, text, &keys.files(), &[relay.address]),
                _ => client(text, &keys.files(), &[relay.address]),
            };
            let error = fails(&client);
            assert_eq!(error.kind, kind, "{way:?}: {error}");
            assert!(error.to_string().contains(expected), "{way:?}: {error}");
            assert!(error.kind.may_be_done());
            relay.set(Way::Pass);
            block_on(echo(&client, "{}")).unwrap();
        }
    }
    server.shutdown();
}

#[test]
fn an_address_that_takes_no_connection_is_told_after_the_deadline_for_it() {
    let keys = Keys::new();
    // A listener whose queue is full takes no further connection.
    let listener =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let _filling: Vec<_> = (0..8)
        .filter_map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(50)).ok())
        .collect();
    let error = fails(&client_within(SHORT, "none", &keys.files(), &[address]));
    assert_eq!(error.kind, Kind::Unreachable, "{error}");
    assert!(error.to_string().contains("no connection within 500 ms"), "{error}");
}
