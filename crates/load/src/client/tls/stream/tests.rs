//! Against rustls' own server over a pair of sockets, and against who is no server.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream as Blocking};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{
    ClientConfig, ContentType, InvalidMessage, PeerMisbehaved, ServerConfig, ServerConnection,
    StreamOwned, version,
};

use super::record::{Keys, OVERHEAD};
use super::*;
use crate::client::tls::tickets::{SessionStore, Tickets};

/// Records by what they are and what they carry.
type Records = Vec<(ContentType, Vec<u8>)>;
type Server = StreamOwned<ServerConnection, Blocking>;

/// A connection to a server that does as it is told on a thread of its own.
struct Visit {
    io: ClientTlsStream,
    server: JoinHandle<()>,
    runtime: tokio::runtime::Runtime,
}

/// Settings of the two, who have so many suites to choose from, of which rustls'
/// server takes the first.
fn settings_of(
    tls12: bool,
    content: Option<usize>,
    suite: usize,
) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let versions = if tls12 { [&version::TLS12] } else { [&version::TLS13] };
    let mut provider = default_provider();
    provider.cipher_suites.retain(|known| known.version().version == versions[0].version);
    provider.cipher_suites = vec![provider.cipher_suites[suite]];
    let provider = Arc::new(provider);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(own.cert.der().clone()).unwrap();
    let mut client = ClientConfig::builder_with_provider(provider.clone())
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
    client.resumption = Resumption::store(Arc::new(SessionStore));
    client.enable_secret_extraction = true;
    server.enable_secret_extraction = true;
    server.max_fragment_size = content;
    (Arc::new(client), Arc::new(server))
}

fn settings(tls12: bool, content: Option<usize>) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    settings_of(tls12, content, 0)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// What comes of a handshake with somebody.
fn connect(
    client: Arc<ClientConfig>,
    serve: impl FnOnce(Blocking) + Send + 'static,
) -> (io::Result<ClientTlsStream>, JoinHandle<()>, tokio::runtime::Runtime) {
    let (made, server, runtime) = connect_with(client, &Arc::new(Tickets::own()), serve);
    (made.map(|(io, _)| io), server, runtime)
}

fn connect_with(
    client: Arc<ClientConfig>,
    tickets: &Arc<Tickets>,
    serve: impl FnOnce(Blocking) + Send + 'static,
) -> (io::Result<(ClientTlsStream, Completed)>, JoinHandle<()>, tokio::runtime::Runtime) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || serve(listener.accept().unwrap().0));
    let runtime = runtime();
    let made = runtime.block_on(async {
        let tcp = TcpStream::connect(address).await.unwrap();
        let own = ConnectionTickets::new(tickets, true);
        let name = "localhost".try_into().unwrap();
        let made = ClientTlsStream::connect(client, name, own, tcp);
        tokio::time::timeout(Duration::from_secs(20), made).await.expect("it does not hang")
    });
    (made, server, runtime)
}

fn visit(
    tls12: bool,
    content: Option<usize>,
    serve: impl FnOnce(&mut Server) + Send + 'static,
) -> Visit {
    visit_of(settings(tls12, content), serve)
}

fn visit_of(
    (client, server): (Arc<ClientConfig>, Arc<ServerConfig>),
    serve: impl FnOnce(&mut Server) + Send + 'static,
) -> Visit {
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

    fn read_exactly(&mut self, count: usize) -> Vec<u8> {
        let (io, mut got) = (&mut self.io, vec![0; count]);
        self.runtime.block_on(async {
            let mut buf = ReadBuf::new(&mut got);
            while buf.remaining() > 0 {
                let before = buf.remaining();
                std::future::poll_fn(|cx| io.poll_read(cx, &mut buf)).await.unwrap();
                assert!(buf.remaining() < before, "it ends early");
            }
        });
        got
    }

    fn traffic(&mut self) -> &mut Traffic {
        match &mut self.io.tls {
            Phase::Traffic(traffic) => traffic,
            _ => panic!("rustls has it still"),
        }
    }

    fn held(&self) -> usize {
        let flow = &self.io.flow;
        [&flow.incoming, &flow.outgoing, &flow.plain].map(|held| held.takes()).iter().sum()
    }
}

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 31 % 251) as u8).collect()
}

#[test]
fn all_arrives_in_order_however_it_is_cut_and_nothing_is_held_after() {
    for (tls12, suite) in [(false, 0), (false, 1), (false, 2), (true, 0)] {
        for (content, most) in [(None, 1 << 20), (Some(100), 7), (None, 1), (Some(64), 5000)] {
            let sent = text(if most == 1 { 40_000 } else { 300_000 });
            let asked = text(100_000);
            let (expected, question) = (sent.clone(), asked.clone());
            let mut visit = visit_of(settings_of(tls12, content, suite), move |server| {
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
            assert!(got == expected, "TLS 1.2 {tls12}, suite {suite}, {content:?} by {most}");
            end.unwrap();
            assert_eq!(visit.held(), 0);
            assert_eq!(tls12, matches!(visit.io.tls, Phase::ByRustls(_)));
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
    assert_eq!(visit.read_exactly(5), b"hello");
    let io = &mut visit.io;
    visit.runtime.block_on(async {
        // Asks in vain.
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
        assert_eq!(visit.read_exactly(100), [round; 100]);
        visit.send(&[round; 3]);
    }
    visit.server.join().unwrap();
}

#[test]
fn updates_of_keys_without_end_are_refused() {
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
fn who_rests_keeps_no_key_ready_and_goes_on_where_it_was() {
    for tls12 in [false, true] {
        let mut visit = visit(tls12, None, |server| {
            for round in 0..5u8 {
                let mut question = [0; 3];
                server.read_exact(&mut question).unwrap();
                server.write_all(&[round; 100]).unwrap();
            }
        });
        for round in 0..5u8 {
            visit.send(&[round; 3]);
            visit.io.rest();
            assert_eq!(visit.read_exactly(100), [round; 100]);
            if !tls12 {
                assert!(!visit.traffic().is_at_rest());
                visit.io.rest();
                assert!(visit.traffic().is_at_rest());
            }
        }
        visit.server.join().unwrap();
    }
}

#[test]
fn keys_are_changed_before_they_are_worn_out() {
    let mut visit = visit(false, None, |server| {
        let mut all = Vec::new();
        server.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 60);
    });
    visit.traffic().most_records = 5;
    for round in 0..20 {
        visit.send(&[7; 3]);
        // The fifth record says that there are other keys.
        assert_eq!(visit.traffic().records_sent(), round % 4 + 1);
    }
    visit.io.send_close_notify();
    visit.server.join().unwrap();
}

#[test]
fn a_ticket_in_pieces_is_put_together_and_resumes() {
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

/// What comes of records with this content from who has the server's keys: what is
/// read, and the alert that she gets.
fn told(records: Records) -> (Vec<u8>, io::Result<()>, Option<u8>) {
    let (client, server) = settings(false, None);
    let (alerts, alert) = std::sync::mpsc::channel();
    let (io, server, runtime) = connect(client, move |tcp| {
        let mut server = Server::new(ServerConnection::new(server).unwrap(), tcp);
        server.flush().unwrap();
        let (conn, mut tcp) = server.into_parts();
        let secrets = conn.dangerous_extract_secrets().unwrap();
        let mut keys = Keys::new(secrets.tx);
        for (kind, content) in records {
            let mut space = vec![0; content.len() + OVERHEAD];
            keys.seal(kind, &content, &mut space).unwrap();
            // Whoever has had enough says so and reads no more.
            let _ = tcp.write_all(&space);
        }
        tcp.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        let _ = tcp.read_to_end(&mut answer);
        let (mut keys, mut answer, mut last) = (Keys::new(secrets.rx), &mut answer[..], None);
        while let Some(length) = record::whole(answer).unwrap() {
            let (record, rest) = answer.split_at_mut(length);
            if let (ContentType::Alert, [2, alert]) = keys.open(record).unwrap() {
                last = Some(*alert);
            }
            answer = rest;
        }
        alerts.send(last).unwrap();
    });
    let mut visit = Visit { io: io.unwrap(), server, runtime };
    let (got, end) = visit.read(1000);
    drop(visit.io);
    visit.server.join().unwrap();
    (got, end, alert.recv().unwrap())
}

#[test]
fn a_server_that_breaks_the_rules_is_told_which_it_breaks() {
    use ContentType as Of;
    let inappropriate = |kind| {
        let expect_types = vec![Of::ApplicationData, Of::Handshake];
        Error::InappropriateMessage { expect_types, got_type: kind }
    };
    let request = |kind: u8| {
        let expect_types =
            vec![rustls::HandshakeType::NewSessionTicket, rustls::HandshakeType::KeyUpdate];
        Error::InappropriateHandshakeMessage { expect_types, got_type: kind.into() }
    };
    let update = || (Of::Handshake, vec![24, 0, 0, 1, 0]);
    let (unexpected, decode, overflow) = (Some(10), Some(50), Some(22));
    let cases: Vec<(&str, Records, Error, Option<u8>)> = vec![
        (
            "a ticket that is none",
            vec![(Of::Handshake, vec![4, 0, 0, 1, 0])],
            InvalidMessage::MissingData("u32").into(),
            decode,
        ),
        (
            "half a message and then data",
            vec![(Of::Handshake, vec![4, 0, 0]), (Of::ApplicationData, vec![1])],
            PeerMisbehaved::MessageInterleavedWithHandshakeMessage.into(),
            unexpected,
        ),
        (
            "a message that is too long",
            vec![(Of::Handshake, vec![4, 1, 0, 0])],
            InvalidMessage::HandshakePayloadTooLarge.into(),
            decode,
        ),
        (
            "an empty piece of a message",
            vec![(Of::Handshake, vec![])],
            InvalidMessage::InvalidEmptyPayload.into(),
            decode,
        ),
        (
            "a request for a certificate",
            vec![(Of::Handshake, vec![13, 0, 0, 0])],
            request(13),
            unexpected,
        ),
        (
            "an update of keys that says neither yes nor no",
            vec![(Of::Handshake, vec![24, 0, 0, 1, 2])],
            InvalidMessage::InvalidKeyUpdate.into(),
            decode,
        ),
        (
            "an update of keys with something behind it",
            vec![(Of::Handshake, vec![24, 0, 0, 1, 0, 24])],
            PeerMisbehaved::KeyEpochWithPendingFragment.into(),
            unexpected,
        ),
        (
            "an update of keys after which the old ones are used",
            vec![update(), update()],
            Error::DecryptError,
            Some(20),
        ),
        (
            "half an alert",
            vec![(Of::Alert, vec![1])],
            InvalidMessage::TrailingData("alert").into(),
            decode,
        ),
        (
            "a change of cipher that is encrypted",
            vec![(Of::ChangeCipherSpec, vec![1])],
            inappropriate(Of::ChangeCipherSpec),
            unexpected,
        ),
        (
            "a kind that nobody knows",
            vec![(Of::Unknown(77), vec![1])],
            inappropriate(Of::Unknown(77)),
            unexpected,
        ),
        (
            "nothing but padding",
            vec![(Of::Unknown(0), vec![0; 100])],
            PeerMisbehaved::IllegalTlsInnerPlaintext.into(),
            unexpected,
        ),
        (
            "more than a record carries",
            vec![(Of::ApplicationData, vec![1; MOST_CONTENT + 1])],
            Error::PeerSentOversizedRecord,
            overflow,
        ),
        (
            "more than any record has",
            vec![(Of::ApplicationData, vec![1; MOST_CONTENT + 257])],
            Error::PeerSentOversizedRecord,
            overflow,
        ),
        (
            "its own alert",
            vec![(Of::Alert, vec![2, 48])],
            Error::AlertReceived(AlertDescription::UnknownCA),
            None,
        ),
    ];
    for (what, records, expected, alert) in cases {
        let (got, end, answer) = told(records);
        assert!(got.is_empty(), "{what}");
        let error = end.expect_err(what);
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{what}");
        let error = error.get_ref().unwrap().downcast_ref::<Error>();
        assert_eq!(error, Some(&expected), "{what}");
        assert_eq!(answer, alert, "{what}");
    }
}

#[test]
fn padding_is_taken_off_and_what_follows_a_goodbye_is_not_read() {
    use ContentType as Of;
    // What it is stands before the padding.
    let padded = (Of::Unknown(0), [b"hello", &[23][..], &[0; 100]].concat());
    let records = vec![
        padded,
        (Of::ApplicationData, vec![]),
        // It is given up, which says nothing without a goodbye.
        (Of::Alert, vec![1, 90]),
        (Of::Alert, vec![1, 0]),
        (Of::ApplicationData, b"more".to_vec()),
    ];
    let (got, end, alert) = told(records);
    assert_eq!((got, alert), (b"hello".to_vec(), None));
    end.unwrap();
}

#[test]
fn whatever_a_server_encrypts_it_is_read_or_refused() {
    use rand::{RngExt, SeedableRng};
    let mut random = rand::rngs::StdRng::seed_from_u64(17);
    for _ in 0..60 {
        let records = (0..random.random_range(1..20)).map(|_| {
            let kind = ContentType::from(random.random_range(19..26));
            // Short lengths are likely, so that messages come to their ends.
            let content = (0..random.random_range(0..40))
                .map(|_| if random.random() { random.random_range(0..30) } else { 0 })
                .collect();
            (kind, content)
        });
        let (_, end, _) = told(records.collect());
        if let Err(error) = end {
            assert!(matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            ));
        }
    }
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
