//! Peers that are not TLS servers.

use std::io::{Read, Write};

use super::*;

/// A peer that sends `begin` and then `record` repeatedly until the client closes the
/// connection.
fn endless(begin: &'static [u8], record: &'static [u8]) -> impl FnOnce(Blocking) + Send {
    move |mut tcp| {
        let _ = tcp.read(&mut [0; 4096]);
        let piece = record.repeat(10_000);
        let mut sent = tcp.write_all(begin);
        for _ in 0..(256 << 20) / piece.len() {
            sent = sent.and_then(|()| tcp.write_all(&piece));
        }
        sent.expect_err("the client reads all 256 MiB");
    }
}

#[test]
fn a_peer_that_is_not_a_tls_server_is_an_error_within_the_limits() {
    let fragments: [u8; 24] =
        [22, 3, 3, 0, 1, 2, 22, 3, 3, 0, 1, 0, 22, 3, 3, 0, 1, 0xff, 22, 3, 3, 0, 1, 0xff];
    let fragments: &'static [u8] = Box::leak(Box::new(fragments));
    for (what, begin, record) in [
        ("other bytes", &b""[..], &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..]),
        ("a record beyond the length limit", b"", &[22, 3, 3, 0xff, 0xff, 2, 0, 0, 0]),
        ("a message beyond the length limit", b"", &[22, 3, 3, 0, 4, 2, 0xff, 0xff, 0xff]),
        ("a message of 65,535 bytes in records of one byte", fragments, &[22, 3, 3, 0, 1, 0]),
        ("empty records", b"", &[22, 3, 3, 0, 0]),
    ] {
        let (made, server, _runtime) = connect(settings(false, None).0, endless(begin, record));
        let error = made.expect_err(what);
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{what}: {error}");
        server.join().unwrap();
    }
    let (made, server, _runtime) = connect(settings(false, None).0, |mut tcp| {
        let _ = tcp.read(&mut [0; 4096]);
    });
    assert_eq!(made.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    server.join().unwrap();
}
