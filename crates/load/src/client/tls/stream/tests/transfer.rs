//! Application data in both directions, the buffers that it needs, and the end of the connection.

use std::io::{Read, Write};

use super::*;

#[test]
fn data_arrives_complete_and_in_order_at_any_record_size_and_leaves_no_buffer() {
    for (tls12, suite) in [(false, 0), (false, 1), (false, 2), (true, 0)] {
        for (content, most) in [(None, 1 << 20), (Some(100), 7), (None, 1), (Some(64), 5000)] {
            let response = text(if most == 1 { 40_000 } else { 300_000 });
            let request = text(100_000);
            let (expected, expected_request) = (response.clone(), request.clone());
            let mut visit = visit_of(settings_of(tls12, content, suite), move |server| {
                let mut got = vec![0; expected_request.len()];
                server.read_exact(&mut got).unwrap();
                assert!(got == expected_request);
                server.write_all(&response).unwrap();
                server.conn.send_close_notify();
                let _ = server.flush();
            });
            visit.send(&request);
            assert_eq!(visit.held(), 0, "nothing to send and nothing received");
            let (got, end) = visit.read(most);
            assert!(got == expected, "TLS 1.2 {tls12}, suite {suite}, {content:?} by {most}");
            end.unwrap();
            assert_eq!(visit.held(), 0);
            assert_eq!(tls12, matches!(visit.io.tls, Phase::ByRustls(_)));
            visit.server.join().unwrap();
        }
    }
}

#[test]
fn a_connection_that_waits_for_data_holds_no_buffer() {
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let mut visit = visit(false, None, move |server| {
        server.write_all(b"hello").unwrap();
        let _ = gone.recv();
    });
    assert_eq!(visit.read_exactly(5), b"hello");
    let io = &mut visit.io;
    visit.runtime.block_on(async {
        // No data comes.
        let mut more = [0; 1];
        let mut buf = ReadBuf::new(&mut more);
        let waits = std::future::poll_fn(|cx| io.poll_read(cx, &mut buf));
        tokio::time::timeout(Duration::from_millis(5), waits).await.unwrap_err();
    });
    assert_eq!(visit.held(), 0);
    assert!(visit.io.tickets_received() > 0);
    drop(go);
    visit.server.join().unwrap();
}

#[test]
fn an_end_without_close_notify_is_an_error() {
    for close_notify in [true, false] {
        let mut visit = visit(false, None, move |server| {
            server.write_all(b"half").unwrap();
            if close_notify {
                server.conn.send_close_notify();
                server.flush().unwrap();
            }
            // Reads what the client sends, so that the close is not a reset.
            server.sock.shutdown(std::net::Shutdown::Write).unwrap();
            let _ = server.sock.read_to_end(&mut Vec::new());
        });
        let (got, end) = visit.read(100);
        assert_eq!(got, b"half");
        assert_eq!(end.is_ok(), close_notify);
        if let Err(error) = end {
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        visit.io.send_close_notify();
        visit.io.send_close_notify();
        drop(visit.io);
        visit.server.join().unwrap();
    }
}
