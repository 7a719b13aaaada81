//! Key updates, keys of an idle connection, and tickets.

use std::io::{Read, Write};

use super::*;

#[test]
fn a_key_update_is_applied_and_answered() {
    let mut visit = visit(false, None, |server| {
        server.flush().unwrap();
        for round in 0..5u8 {
            server.conn.refresh_traffic_keys().unwrap();
            server.write_all(&[round; 100]).unwrap();
            let mut answer = [0; 3];
            server.read_exact(&mut answer).unwrap();
            assert_eq!(answer, [round; 3]);
        }
    });
    for round in 0..5u8 {
        assert_eq!(visit.read_exactly(100), [round; 100]);
        visit.send(&[round; 3]);
    }
    visit.server.join().unwrap();
}

#[test]
fn too_many_key_updates_are_an_error() {
    let mut visit = visit(false, None, |server| {
        server.flush().unwrap();
        for _ in 0..33 {
            server.conn.refresh_traffic_keys().unwrap();
            let _ = server.flush();
        }
        let error = server.read(&mut [0; 1]).unwrap_err();
        assert!(error.to_string().contains("UnexpectedMessage"), "{error}");
    });
    let error = visit.read(1).1.unwrap_err();
    let expected = Error::from(PeerMisbehaved::TooManyKeyUpdateRequests);
    assert_eq!(error.get_ref().unwrap().downcast_ref::<Error>(), Some(&expected));
    visit.server.join().unwrap();
}

#[test]
fn a_connection_at_rest_drops_its_keys_and_continues_with_the_next_record() {
    for tls12 in [false, true] {
        let mut visit = visit(tls12, None, |server| {
            for round in 0..5u8 {
                let mut request = [0; 3];
                server.read_exact(&mut request).unwrap();
                server.write_all(&[round; 100]).unwrap();
            }
        });
        for round in 0..5u8 {
            visit.send(&[round; 3]);
            visit.io.release_memory();
            assert_eq!(visit.read_exactly(100), [round; 100]);
            if !tls12 {
                assert!(!visit.traffic().is_released());
                visit.io.release_memory();
                assert!(visit.traffic().is_released());
            }
        }
        visit.server.join().unwrap();
    }
}

#[test]
fn the_client_updates_its_keys_before_their_record_limit() {
    let mut visit = visit(false, None, |server| {
        let mut all = Vec::new();
        server.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 60);
    });
    visit.traffic().most_records = 5;
    for round in 0..20 {
        visit.send(&[7; 3]);
        // The fifth record is the KeyUpdate.
        assert_eq!(visit.traffic().records_sent(), round % 4 + 1);
    }
    visit.io.send_close_notify();
    visit.server.join().unwrap();
}

#[test]
fn a_ticket_in_several_records_is_assembled_and_resumes() {
    for tls12 in [false, true] {
        let (client, server) = settings(tls12, Some(32));
        let tickets = Arc::new(Tickets::own());
        for expected in [Handshake::Full, Handshake::Resumed] {
            let server = server.clone();
            let (made, server, runtime) = connect_with(client.clone(), &tickets, move |tcp| {
                let mut server = Server::new(ServerConnection::new(server).unwrap(), tcp);
                server.write_all(b"hello").unwrap();
                let _ = server.read(&mut [0; 1]);
            });
            let (io, completed) = made.unwrap();
            assert_eq!(completed.kind, expected, "TLS 1.2 {tls12}");
            let mut visit = Visit { io, server, runtime };
            assert_eq!(visit.read_exactly(5), b"hello");
            visit.io.send_close_notify();
            visit.server.join().unwrap();
        }
    }
}
