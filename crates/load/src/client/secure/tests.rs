//! Against rustls' own server over a pair of sockets, and against who is no server.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream as Blocking};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, ServerConfig, ServerConnection, StreamOwned, version};

use super::*;
use crate::client::tickets::Tickets;

type Server = StreamOwned<ServerConnection, Blocking>;

/// A connection to a server that does as it is told on a thread of its own.
struct Visit {
    io: Secure,
    server: JoinHandle<()>,
    runtime: tokio::runtime::Runtime,
}

fn settings(tls12: bool, content: Option<usize>) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let versions = if tls12 { [&version::TLS12] } else { [&version::TLS13] };
    let provider = Arc::new(default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(own.cert.der().clone()).unwrap();
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], PrivateKeyDer::Pkcs8(key))
        .unwrap();
    server.max_fragment_size = content;
    (Arc::new(client), Arc::new(server))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// What comes of a handshake with somebody.
fn connect(
    client: Arc<ClientConfig>,
    serve: impl FnOnce(Blocking) + Send + 'static,
) -> (io::Result<Secure>, JoinHandle<()>, tokio::runtime::Runtime) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || serve(listener.accept().unwrap().0));
    let runtime = runtime();
    let made = runtime.block_on(async {
        let tcp = TcpStream::connect(address).await.unwrap();
        let own = OfConnection::new(&Arc::new(Tickets::own()), true);
        let name = "localhost".try_into().unwrap();
        let made = Secure::connect(client, name, own, tcp);
        tokio::time::timeout(Duration::from_secs(20), made).await.expect("it does not hang")
    });
    (made, server, runtime)
}

fn visit(
    tls12: bool,
    content: Option<usize>,
    serve: impl FnOnce(&mut Server) + Send + 'static,
) -> Visit {
    let (client, server) = settings(tls12, content);
    let (made, server, runtime) = connect(client, move |tcp| {
        serve(&mut Server::new(ServerConnection::new(server).unwrap(), tcp));
    });
    Visit { io: made.unwrap(), server, runtime }
}

impl Visit {
    fn send(&mut self, mut bytes: &[u8]) {
        let io = &mut self.io;
        self.runtime.block_on(async {
            while !bytes.is_empty() {
                let sent = std::future::poll_fn(|cx| io.poll_write(cx, bytes)).await.unwrap();
                bytes = &bytes[sent..];
            }
            std::future::poll_fn(|cx| io.poll_flush(cx)).await.unwrap();
        });
    }

    /// Reads pieces of at most so many bytes, to the end or an error.
    fn read(&mut self, most: usize) -> (Vec<u8>, io::Result<()>) {
        let (io, mut all) = (&mut self.io, Vec::new());
        let end = self.runtime.block_on(async {
            loop {
                let mut piece = vec![0; most];
                let mut buf = ReadBuf::new(&mut piece);
                let read = std::future::poll_fn(|cx| io.poll_read(cx, &mut buf));
                let read = tokio::time::timeout(Duration::from_secs(20), read).await;
                read.expect("it does not hang")?;
                if buf.filled().is_empty() {
                    return Ok(());
                }
                all.extend_from_slice(buf.filled());
            }
        });
        (all, end)
    }

    fn held(&self) -> usize {
        [&self.io.incoming, &self.io.outgoing, &self.io.plain]
            .map(|held| held.buffer.len())
            .iter()
            .sum()
    }
}

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 31 % 251) as u8).collect()
}

#[test]
fn all_arrives_in_order_however_it_is_cut_and_nothing_is_held_after() {
    for tls12 in [false, true] {
        for (content, most) in [(None, 1 << 20), (Some(100), 7), (None, 1), (Some(64), 5000)] {
            let sent = text(if most == 1 { 40_000 } else { 300_000 });
            let asked = text(100_000);
            let (expected, question) = (sent.clone(), asked.clone());
            let mut visit = visit(tls12, content, move |server| {
                let mut got = vec![0; question.len()];
                server.read_exact(&mut got).unwrap();
                assert!(got == question);
                server.write_all(&sent).unwrap();
                server.conn.send_close_notify();
                let _ = server.flush();
            });
            visit.send(&asked);
            assert_eq!(visit.held(), 0, "nothing to send, and nothing has come");
            let (got, end) = visit.read(most);
            assert!(got == expected, "TLS 1.2 {tls12}, records of {content:?} by {most}");
            end.unwrap();
            assert_eq!(visit.held(), 0);
            visit.server.join().unwrap();
        }
    }
}

#[test]
fn who_waits_holds_no_buffer() {
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let mut visit = visit(false, None, move |server| {
        server.write_all(b"hello").unwrap();
        let _ = gone.recv();
    });
    let mut byte = [0; 5];
    let io = &mut visit.io;
    visit.runtime.block_on(async {
        let mut buf = ReadBuf::new(&mut byte);
        while buf.remaining() > 0 {
            std::future::poll_fn(|cx| io.poll_read(cx, &mut buf)).await.unwrap();
        }
        // Asks in vain.
        let mut more = [0; 1];
        let mut buf = ReadBuf::new(&mut more);
        let waits = std::future::poll_fn(|cx| io.poll_read(cx, &mut buf));
        tokio::time::timeout(Duration::from_millis(5), waits).await.unwrap_err();
    });
    assert_eq!(&byte, b"hello");
    assert_eq!(visit.held(), 0);
    assert!(visit.io.tickets_received() > 0);
    drop(go);
    visit.server.join().unwrap();
}

#[test]
fn an_end_without_a_goodbye_is_told_from_one_with_it() {
    for goodbye in [true, false] {
        let mut visit = visit(false, None, move |server| {
            server.write_all(b"half").unwrap();
            if goodbye {
                server.conn.send_close_notify();
                server.flush().unwrap();
            }
            // Not a reset: what the client says is read.
            server.sock.shutdown(std::net::Shutdown::Write).unwrap();
            let _ = server.sock.read_to_end(&mut Vec::new());
        });
        let (got, end) = visit.read(100);
        assert_eq!(got, b"half");
        assert_eq!(end.is_ok(), goodbye);
        if let Err(error) = end {
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        visit.io.send_close_notify();
        visit.io.send_close_notify();
        drop(visit.io);
        visit.server.join().unwrap();
    }
}

#[test]
fn an_update_of_keys_is_followed_and_answered() {
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
        let (io, mut got) = (&mut visit.io, [0; 100]);
        visit.runtime.block_on(async {
            let mut buf = ReadBuf::new(&mut got);
            while buf.remaining() > 0 {
                std::future::poll_fn(|cx| io.poll_read(cx, &mut buf)).await.unwrap();
            }
        });
        assert_eq!(got, [round; 100]);
        visit.send(&[round; 3]);
    }
    visit.server.join().unwrap();
}

#[test]
fn bytes_that_are_no_record_are_an_error_and_answered_with_an_alert() {
    let mut visit = visit(false, None, |server| {
        // A record of application data that nobody encrypted.
        server.flush().unwrap();
        server.sock.write_all(&[23, 3, 3, 0, 20]).unwrap();
        server.sock.write_all(&[7; 20]).unwrap();
        let error = server.read(&mut [0; 1]).unwrap_err();
        assert!(error.to_string().contains("BadRecordMac"), "{error}");
    });
    let (got, end) = visit.read(100);
    assert!(got.is_empty());
    let error = end.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert!(error.get_ref().unwrap().is::<rustls::Error>(), "{error}");
    // And stays so.
    assert_eq!(visit.read(100).1.unwrap_err().kind(), io::ErrorKind::NotConnected);
    visit.io.send_close_notify();
    visit.server.join().unwrap();
}

/// Says something, and then one thing again and again, until the customer has had
/// enough.
fn endless(begin: &'static [u8], record: &'static [u8]) -> impl FnOnce(Blocking) + Send {
    move |mut tcp| {
        let _ = tcp.read(&mut [0; 4096]);
        let piece = record.repeat(10_000);
        let mut said = tcp.write_all(begin);
        for _ in 0..(256 << 20) / piece.len() {
            said = said.and_then(|()| tcp.write_all(&piece));
        }
        said.expect_err("it takes all of it");
    }
}

#[test]
fn who_is_no_server_is_told_and_takes_no_more_than_its_bounds() {
    let crumbs: [u8; 24] =
        [22, 3, 3, 0, 1, 2, 22, 3, 3, 0, 1, 0, 22, 3, 3, 0, 1, 0xff, 22, 3, 3, 0, 1, 0xff];
    let crumbs: &'static [u8] = Box::leak(Box::new(crumbs));
    for (what, begin, record) in [
        ("other bytes", &b""[..], &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..]),
        ("a record beyond all bounds", b"", &[22, 3, 3, 0xff, 0xff, 2, 0, 0, 0]),
        ("a message beyond all bounds", b"", &[22, 3, 3, 0, 4, 2, 0xff, 0xff, 0xff]),
        ("a message of 65,535 bytes, each a record", crumbs, &[22, 3, 3, 0, 1, 0]),
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
