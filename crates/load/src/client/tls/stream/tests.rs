//! Tests against the server of rustls over loopback, and against peers that are not TLS
//! servers. The helpers are here, the tests in the modules below.

mod handshake;
mod keys;
mod records;
mod transfer;

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

type Server = StreamOwned<ServerConnection, Blocking>;

/// A connection to a server that runs a closure on its own thread.
struct Visit {
    io: ClientTlsStream,
    server: JoinHandle<()>,
    runtime: tokio::runtime::Runtime,
}

/// Settings of client and server with one cipher suite: number `suite` of those of the
/// provider for this version. `content` is the server's largest record payload.
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

/// Handshakes with a peer that runs `serve`; returns the result, the peer and the runtime.
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
        tokio::time::timeout(Duration::from_secs(60), made).await.expect("no progress within 60 s")
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

    /// Reads until the end or an error, at most `most` bytes at a time.
    fn read(&mut self, most: usize) -> (Vec<u8>, io::Result<()>) {
        let (io, mut all) = (&mut self.io, Vec::new());
        let end = self.runtime.block_on(async {
            loop {
                let mut piece = vec![0; most];
                let mut buf = ReadBuf::new(&mut piece);
                let read = std::future::poll_fn(|cx| io.poll_read(cx, &mut buf));
                let read = tokio::time::timeout(Duration::from_secs(60), read).await;
                read.expect("no progress within 60 s")?;
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
                assert!(buf.remaining() < before, "the connection ends early");
            }
        });
        got
    }

    fn traffic(&mut self) -> &mut Traffic {
        match &mut self.io.tls {
            Phase::Traffic(traffic) => traffic,
            _ => panic!("the handshake is not complete"),
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
