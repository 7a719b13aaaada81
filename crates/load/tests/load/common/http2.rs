//! Servers of HTTP/2: one by the library's other half, over TLS or in clear, and
//! one of raw frames, which does what no library would.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::{Request, Response, Version};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::{Seen, server_config};

/// The answer to a request.
pub type Site = fn(&Seen) -> Response<Bytes>;

/// How a server of HTTP/2 is set up.
#[derive(Clone, Copy)]
pub struct Setup {
    pub tls: bool,
    pub site: Site,
    /// Time before each answer.
    pub after: Duration,
    /// It gives a connection up, by GOAWAY, after this many answers.
    pub answers: u64,
}

pub struct Http2Server {
    pub url: String,
    pub seen: Arc<Mutex<Vec<Seen>>>,
    pub connections: Arc<AtomicU64>,
    _runtime: tokio::runtime::Runtime,
}

impl Http2Server {
    pub fn start(setup: Setup) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let scheme = if setup.tls { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let (seen, connections) = (Arc::<Mutex<Vec<Seen>>>::default(), Arc::default());
        let all: (_, Arc<AtomicU64>) = (seen.clone(), Arc::clone(&connections));
        let acceptor = TlsAcceptor::from(with_alpn(&["h2"]));
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((tcp, _)) = listener.accept().await {
                tcp.set_nodelay(true).unwrap();
                all.1.fetch_add(1, Ordering::Relaxed);
                let (seen, acceptor) = (all.0.clone(), acceptor.clone());
                tokio::spawn(async move {
                    if !setup.tls {
                        serve(tcp, setup, seen).await;
                    } else if let Ok(tls) = acceptor.accept(tcp).await {
                        assert_eq!(tls.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
                        serve(tls, setup, seen).await;
                    }
                });
            }
        });
        Self { url, seen, connections, _runtime: runtime }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Connections without the probe.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed) - 1
    }
}

/// A configuration of TLS that chooses among these protocols.
pub fn with_alpn(protocols: &[&str]) -> Arc<ServerConfig> {
    let mut config = Arc::unwrap_or_clone(server_config(&rcgen::PKCS_ECDSA_P256_SHA256));
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

async fn serve(io: impl AsyncRead + AsyncWrite + Unpin, setup: Setup, seen: Arc<Mutex<Vec<Seen>>>) {
    let Ok(mut connection) = h2::server::handshake(io).await else { return };
    let mut accepted = 0;
    while let Some(Ok((request, respond))) = connection.accept().await {
        tokio::spawn(answer(request, respond, setup, seen.clone()));
        accepted += 1;
        if accepted == setup.answers {
            connection.graceful_shutdown();
        }
    }
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    setup: Setup,
    seen: Arc<Mutex<Vec<Seen>>>,
) {
    let (head, mut body) = request.into_parts();
    assert_eq!(head.version, Version::HTTP_2);
    assert!(head.uri.authority().is_some() && head.headers.get("connection").is_none());
    let mut form = Vec::new();
    while let Some(Ok(piece)) = body.data().await {
        form.extend_from_slice(&piece);
    }
    let text = |name| head.headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    let request = Seen {
        method: head.method.to_string(),
        path: head.uri.path_and_query().unwrap().to_string(),
        cookie: text("cookie"),
        kind: text("content-type"),
        token: text("x-token"),
        host: head.uri.host().unwrap().to_owned(),
        authorization: text("authorization"),
        body: String::from_utf8_lossy(&form).into_owned(),
        bytes: form,
    };
    let response = (setup.site)(&request);
    seen.lock().unwrap().push(request);
    tokio::time::sleep(setup.after).await;
    let (head, body) = response.into_parts();
    let Ok(mut stream) = respond.send_response(Response::from_parts(head, ()), body.is_empty())
    else {
        return;
    };
    if !body.is_empty() {
        let _ = stream.send_data(body, true);
    }
}

/// What a server of raw frames does with a request: the connection, which request
/// of it this is (from 0), and the request's stream. It goes on if that is so.
pub type Act = fn(&mut TcpStream, u32, u32) -> bool;

/// In clear; answers PINGs, so that a probe is content.
pub struct Raw {
    pub url: String,
    /// How connections ended: whether GOAWAY came, and whether FIN did.
    pub ends: Arc<Mutex<Vec<(bool, bool)>>>,
}

impl Raw {
    pub fn start(act: Act) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let ends = Arc::<Mutex<Vec<(bool, bool)>>>::default();
        let all = ends.clone();
        std::thread::spawn(move || {
            for tcp in listener.incoming().map_while(Result::ok) {
                let ends = all.clone();
                std::thread::spawn(move || {
                    if let Some(end) = raw(tcp, act) {
                        ends.lock().unwrap().push(end);
                    }
                });
            }
        });
        Self { url, ends }
    }
}

/// How the customer ended it; `None` if the server did.
fn raw(mut tcp: TcpStream, act: Act) -> Option<(bool, bool)> {
    let mut preface = [0; 24];
    tcp.read_exact(&mut preface).ok()?;
    assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    tcp.write_all(&frame(4, 0, 0, &[])).ok()?;
    let (mut requests, mut went_away) = (0, false);
    loop {
        let mut head = [0; 9];
        if let Err(error) = tcp.read_exact(&mut head) {
            return Some((went_away, error.kind() == std::io::ErrorKind::UnexpectedEof));
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut payload = vec![0; length as usize];
        tcp.read_exact(&mut payload).ok()?;
        match (head[3], head[4]) {
            (1, _) => {
                if !act(&mut tcp, requests, stream) {
                    // What is still unread would turn the end into a reset.
                    let _ = tcp.shutdown(std::net::Shutdown::Write);
                    let _ = tcp.read_to_end(&mut Vec::new());
                    return None;
                }
                requests += 1;
            }
            (4, 0) => tcp.write_all(&frame(4, 1, 0, &[])).ok()?,
            (6, 0) => tcp.write_all(&frame(6, 1, 0, &payload)).ok()?,
            (7, _) => went_away = true,
            _ => {}
        }
    }
}

/// Source: RFC 9113, section 4.1.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Status 200 and nothing more.
pub fn ok(stream: u32) -> Vec<u8> {
    frame(1, 5, stream, &[0x88])
}

/// RST_STREAM with an error code.
pub fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(3, 0, stream, &code.to_be_bytes())
}

/// GOAWAY: the last stream that was begun, and an error code.
pub fn go_away(last: u32, code: u32) -> Vec<u8> {
    frame(7, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}
