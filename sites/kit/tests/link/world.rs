//! Links to test: keys and certificates, servers that echo, clients.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use tempfile::TempDir;
use tidegate_sitekit::link::{
    Cipher, Client, ClientSide, Deadlines, Error, Files, Handler, KeyRing, Reply, ServerSide, Spec,
    authority, router,
};
use tidegate_sitekit::server::{Peers, Server, Service, available_cores};

/// Short, for calls that fail by them.
pub const SHORT: Deadlines =
    Deadlines { connect: Duration::from_millis(500), whole: Duration::from_millis(1500) };
/// Long enough for whatever comes on a machine that is short of time.
const LONG: Deadlines =
    Deadlines { connect: Duration::from_secs(30), whole: Duration::from_secs(60) };

/// Every way to secure a link.
pub const SPECS: [&str; 8] = [
    "none,persistent",
    "none,per-request",
    "tls,persistent,resumed",
    "tls,persistent,full",
    "tls,per-request,resumed",
    "tls,per-request,full",
    "sealed,persistent",
    "sealed,per-request",
];

/// Answers with what it was sent.
#[derive(Clone)]
pub struct Echo;

impl Handler for Echo {
    async fn call(&self, operation: &str, body: Bytes) -> Reply {
        let status = if operation == "fail" { StatusCode::CONFLICT } else { StatusCode::OK };
        Reply { status, body }
    }

    async fn health(&self) -> Reply {
        Reply { status: StatusCode::OK, body: Bytes::from_static(b"{\"ok\":true}") }
    }
}

/// Certificates of two tiers, and a key.
pub struct Keys {
    pub folder: TempDir,
}

impl Keys {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        authority::make(&folder.path().join("ca"), &["front", "back", "other"]).unwrap();
        KeyRing::generate("one", Cipher::Aes256Gcm)
            .and_then(|ring| ring.write(&folder.path().join("key.json")))
            .unwrap();
        Self { folder }
    }

    pub fn files(&self) -> Files {
        Files {
            certificates: Some(self.folder.path().join("ca")),
            keys: Some(self.folder.path().join("key.json")),
        }
    }
}

pub fn spec(text: &str) -> Spec {
    text.parse().unwrap()
}

pub fn serve(side: &ServerSide) -> Server {
    serve_at("127.0.0.1:0".parse().unwrap(), side)
}

pub fn serve_at(address: SocketAddr, side: &ServerSide) -> Server {
    // Two runtimes on any machine: what they share is tested as well.
    let core = available_cores()[0];
    Server::start(address, Some(&[core, core]), None, |_| {
        let side = side.clone();
        Ok(move || Service {
            tls: side.tls(),
            peers: Peers::Tiers,
            background: None,
            router: router(&side, Echo),
        })
    })
    .unwrap()
}

pub fn server(text: &str, files: &Files) -> Server {
    serve(&ServerSide::new(spec(text), files, "back", "front").unwrap())
}

pub fn client(text: &str, files: &Files, addresses: &[SocketAddr]) -> Client {
    client_within(LONG, text, files, addresses)
}

pub fn client_within(
    deadlines: Deadlines,
    text: &str,
    files: &Files,
    addresses: &[SocketAddr],
) -> Client {
    let side = ClientSide::new(spec(text), files, "front", "back").unwrap();
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    Client::new(side, &addresses, deadlines).unwrap()
}

pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(work)
}

pub async fn echo(client: &Client, text: &str) -> Result<String, Error> {
    let reply = client.call("/echo", text.into()).await?;
    assert_eq!(reply.status, StatusCode::OK);
    Ok(String::from_utf8(reply.body.into()).unwrap())
}

pub fn fails(client: &Client) -> Error {
    block_on(echo(client, "\"x\"")).unwrap_err()
}
