//! A raw TLS server with known manners, for measuring the measurer.

#![allow(dead_code, reason = "not every test uses every manner")]

pub mod http2;
pub mod openssl;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tidegate_load::{Arrivals, Plan, Scenario};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::ProducesTickets;

/// What the server does with a connection.
#[derive(Clone, Copy, Debug)]
pub enum Manner {
    /// Answers after a delay.
    Answer { after: Duration },
    /// Answers each request after a delay of its own, by its number from 0, and
    /// keeps how long that came out.
    Delays(fn(usize) -> Duration),
    /// Answers at once, but nobody between these times since its first
    /// connection.
    Stall { from: Duration, to: Duration },
    /// Resets every connection as soon as the hello begins.
    Reset,
    /// Answers once on each of the first `keep` connections after the probe,
    /// and resets all others.
    OneThenReset { keep: u64 },
    /// Sends the alert internal_error.
    Alert,
    /// Closes without a word.
    Close,
    /// Handshakes, reads, never answers.
    Silent,
    /// Handshakes with the probe only; reads, and says nothing.
    Deaf,
    /// Closes after this many answers, without saying so beforehand.
    CloseAfter { answers: u64 },
    /// Closes after this many answers, without an answer to the next request.
    CloseUnanswered { answers: u64 },
    /// Sends the first half of an answer and closes.
    Half,
    /// Answers 500.
    Error,
}

/// A request as the server saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub method: String,
    pub path: String,
    /// Host, without the port.
    pub host: String,
    pub authorization: String,
    pub cookie: String,
    /// Content-Type.
    pub kind: String,
    /// X-Token.
    pub token: String,
    pub body: String,
    pub bytes: Vec<u8>,
}

/// The answer to a request: extra header lines, each ending in CRLF, and a
/// body.
pub type Site = fn(&Seen) -> (&'static str, String, String);

pub struct Server {
    pub url: String,
    pub seen: Arc<Mutex<Vec<Seen>>>,
    pub connections: Arc<AtomicU64>,
    /// Where connections came from.
    pub peers: Arc<Mutex<Vec<std::net::IpAddr>>>,
    /// How they ended: whether the customer shut them down.
    pub ends: Arc<Mutex<Vec<bool>>>,
    delays: Arc<Mutex<Vec<Duration>>>,
    _runtime: tokio::runtime::Runtime,
}

struct State {
    manner: Manner,
    site: Site,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicU64>,
    peers: Arc<Mutex<Vec<std::net::IpAddr>>>,
    ends: Arc<Mutex<Vec<bool>>>,
    requests: AtomicUsize,
    delays: Arc<Mutex<Vec<Duration>>>,
    begun: Mutex<Option<Instant>>,
    acceptor: TlsAcceptor,
}

impl Server {
    pub fn start(manner: Manner) -> Self {
        Self::with_site(manner, |_| ("200 OK", String::new(), "<p>hello".to_owned()))
    }

    pub fn with_site(manner: Manner, site: Site) -> Self {
        Self::with_certificate(manner, site, &rcgen::PKCS_ECDSA_P256_SHA256)
    }

    /// Gives TLS 1.3 tickets and never opens one.
    pub fn without_resumption() -> Self {
        let mut config = Arc::unwrap_or_clone(server_config(&rcgen::PKCS_ECDSA_P256_SHA256));
        config.ticketer = Tickets::new(false);
        let manner = Manner::Answer { after: Duration::ZERO };
        let site: Site = |_| ("200 OK", String::new(), String::new());
        Self::with_config(manner, site, config.into())
    }

    pub fn with_certificate(
        manner: Manner,
        site: Site,
        algorithm: &'static rcgen::SignatureAlgorithm,
    ) -> Self {
        Self::with_config(manner, site, server_config(algorithm))
    }

    pub fn with_config(manner: Manner, site: Site, config: Arc<ServerConfig>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let state = Arc::new(State {
            manner,
            site,
            seen: Arc::default(),
            connections: Arc::default(),
            peers: Arc::default(),
            ends: Arc::default(),
            requests: AtomicUsize::new(0),
            delays: Arc::default(),
            begun: Mutex::default(),
            acceptor: TlsAcceptor::from(config),
        });
        let (seen, connections) = (state.seen.clone(), state.connections.clone());
        let (peers, ends) = (state.peers.clone(), state.ends.clone());
        let delays = state.delays.clone();
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((tcp, peer)) = listener.accept().await {
                state.peers.lock().unwrap().push(peer.ip());
                tokio::spawn(serve(tcp, state.clone()));
            }
        });
        Self { url, seen, connections, peers, ends, delays, _runtime: runtime }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// How long each answer really took, from the request read to the answer's
    /// first byte.
    pub fn delays(&self) -> Vec<Duration> {
        self.delays.lock().unwrap().clone()
    }

    pub fn paths(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.path).collect()
    }
}

/// Makes tickets that are no secret, keeps those that come back, and opens them or not.
#[derive(Debug)]
pub struct Tickets {
    pub opens: bool,
    pub came: Mutex<BTreeSet<Vec<u8>>>,
}

impl Tickets {
    pub fn new(opens: bool) -> Arc<Self> {
        Arc::new(Self { opens, came: Mutex::default() })
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        3600
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        Some(plain.to_vec())
    }

    fn decrypt(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        self.came.lock().unwrap().insert(ticket.to_vec());
        self.opens.then(|| ticket.to_vec())
    }
}

/// A configuration with a certificate of its own.
pub fn server_config(algorithm: &'static rcgen::SignatureAlgorithm) -> Arc<ServerConfig> {
    let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let private = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    config.send_tls13_tickets = 1;
    Arc::new(config)
}

async fn serve(tcp: TcpStream, state: Arc<State>) {
    let number = state.connections.fetch_add(1, Ordering::Relaxed);
    tcp.set_nodelay(true).unwrap();
    let refuse = match state.manner {
        Manner::Reset => true,
        // The first connection of all is the probe.
        Manner::OneThenReset { keep } => number > keep,
        _ => false,
    };
    if refuse {
        let mut byte = [0];
        let _ = tcp.peek(&mut byte).await;
        socket2::SockRef::from(&tcp).set_linger(Some(Duration::ZERO)).unwrap();
        return;
    }
    match state.manner {
        Manner::Alert => {
            let mut tcp = tcp;
            let mut hello = [0; 4096];
            let _ = tcp.read(&mut hello).await;
            let _ = tcp.write_all(&[21, 3, 3, 0, 2, 2, 80]).await;
            let _ = tcp.shutdown().await;
            let _ = tcp.read(&mut hello).await;
        }
        Manner::Close => {
            let mut tcp = tcp;
            let mut hello = [0; 4096];
            let _ = tcp.read(&mut hello).await;
        }
        Manner::Deaf if number > 0 => {
            let mut tcp = tcp;
            let mut ignored = Vec::new();
            let _ = tcp.read_to_end(&mut ignored).await;
        }
        _ => {
            if let Ok(mut tls) = state.acceptor.accept(tcp).await {
                let _ = answer(&mut tls, &state).await;
                // After close_notify: FIN or RST.
                let end = tls.get_mut().0.read(&mut [0]).await;
                state.ends.lock().unwrap().push(matches!(end, Ok(0)));
            }
        }
    }
}

async fn answer(mut io: impl AsyncRead + AsyncWrite + Unpin, state: &State) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    let mut answers = 0;
    loop {
        let Some(seen) = read_request(&mut io, &mut buffer).await? else { return Ok(()) };
        let begun = *state.begun.lock().unwrap().get_or_insert_with(Instant::now);
        state.seen.lock().unwrap().push(seen.clone());
        match state.manner {
            Manner::Answer { after } if !after.is_zero() => tokio::time::sleep(after).await,
            Manner::Delays(delay) => {
                let (read, number) =
                    (Instant::now(), state.requests.fetch_add(1, Ordering::Relaxed));
                tokio::time::sleep(delay(number)).await;
                state.delays.lock().unwrap().push(read.elapsed());
            }
            Manner::Stall { from, to } if begun.elapsed() >= from => {
                tokio::time::sleep_until((begun + to).into()).await;
            }
            Manner::Silent => {
                let _ = io.read_to_end(&mut Vec::new()).await;
                return Ok(());
            }
            Manner::CloseUnanswered { answers: most } if answers >= most => {
                io.shutdown().await?;
                return Ok(());
            }
            Manner::Half => {
                io.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").await?;
                io.shutdown().await?;
                return Ok(());
            }
            _ => {}
        }
        let (status, headers, body) = match state.manner {
            Manner::Error => ("500 Internal Server Error", String::new(), "sorry".to_owned()),
            _ => (state.site)(&seen),
        };
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n");
        // Header fields can have any byte: each character is one.
        let head: Vec<u8> = head.chars().map(|c| c as u8).collect();
        io.write_all(&[&head, body.as_bytes()].concat()).await?;
        io.flush().await?;
        answers += 1;
        let most = match state.manner {
            Manner::CloseAfter { answers } => answers,
            Manner::OneThenReset { .. } => 1,
            _ => u64::MAX,
        };
        if answers >= most {
            io.shutdown().await?;
            return Ok(());
        }
    }
}

async fn read_request(
    io: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> std::io::Result<Option<Seen>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let header = |name: &str| {
                let line = head.lines().find(|line| line.to_lowercase().starts_with(name));
                line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
            };
            let length: usize =
                header("content-length:").and_then(|text| text.parse().ok()).unwrap_or(0);
            if buffer.len() >= end + 4 + length {
                let bytes = buffer[end + 4..end + 4 + length].to_vec();
                let body = String::from_utf8_lossy(&bytes).into_owned();
                let mut words = head.split(' ');
                let mut word = || words.next().unwrap_or_default().to_owned();
                let (method, path) = (word(), word());
                let [cookie, kind, token] = ["cookie:", "content-type:", "x-token:"]
                    .map(|name| header(name).unwrap_or_default());
                let [host, authorization] =
                    ["host:", "authorization:"].map(|name| header(name).unwrap_or_default());
                let host = host.split(':').next().unwrap_or_default().to_owned();
                buffer.drain(..end + 4 + length);
                return Ok(Some(Seen {
                    method,
                    path,
                    host,
                    authorization,
                    cookie,
                    kind,
                    token,
                    body,
                    bytes,
                }));
            }
        }
        if io.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// A scenario of one page, requested `requests` times without think time.
pub fn loop_of(requests: u32, more: &str) -> Scenario {
    let text = format!(
        "[session]\nstart = \"Home\"\nmax_requests = {requests}\nthink = \"1ms\"\n{more}\n\
         [pages]\nHome = {{ path = \"/\" }}\n[transitions]\nHome = {{ Home = 1 }}\n"
    );
    Scenario::from_toml(&text, "loop.toml").unwrap()
}

/// A plan that measures from the start and ends when its sessions have ended,
/// within a minute on a machine that is short of time.
pub fn plan(scenario: Scenario, server: &Server, per_s: f64, sessions: u64) -> Plan {
    let mut plan = Plan::new(scenario, &server.url);
    plan.arrivals = Some(Arrivals::even(per_s));
    plan.insecure = true;
    plan.warm_up = Duration::ZERO;
    plan.measure = Duration::from_secs(60);
    plan.max_sessions = Some(sessions);
    plan
}
