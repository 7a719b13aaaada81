//! Accepts connections and serves HTTP/1.1 on each, with deadlines.

use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tidegate_trace::{Context, FIELD, Line, Phase, Traced};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::Instant as Clock;
use tokio_rustls::TlsAcceptor;

use super::heads::{Heads, Watched};
use super::unfinished::Unfinished;
use super::{Local, Peer, Peers, network};
use crate::client_certificate::ClientCertificate;
use crate::throttle::Causes;

/// Most connections open at once on one core. Each takes about 10 KiB.
const CONNECTIONS: usize = 16_384;
/// How long a connection without a request is kept. Longer than a proxy in front
/// keeps its pooled connections.
const IDLE_DEADLINE: Duration = Duration::from_secs(75);
/// Deadline for the TLS handshake.
const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);
/// Most bytes of a request header.
const HEADER_BYTES: usize = 32 * 1024;
/// The part of a core's places that the unfinished connections of one address may take, and
/// the least number of them.
const ADDRESS_SHARE: usize = 8;
const ADDRESS_LEAST: usize = 8;
/// Between two lines of the log about failures of one kind that anybody can cause.
const PUBLIC_PAUSE: Duration = Duration::from_secs(60);
/// Pause after a failed accept, for example for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What the connections of a core are served with.
#[derive(Clone)]
pub(super) struct Served {
    pub(super) router: Arc<Router>,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) peers: Peers,
    /// Causes of failures that were logged, of all cores.
    pub(super) causes: Arc<Causes>,
    /// Connections of this core of which a handshake or a head is awaited.
    pub(super) unfinished: Arc<Unfinished>,
}

/// The unfinished connections of one of so many cores.
pub(super) fn unfinished(cores: usize) -> Arc<Unfinished> {
    let files = usize::try_from(tidegate_host::open_files::limit()).unwrap_or(usize::MAX);
    let places = CONNECTIONS.min(files / cores.max(1));
    Unfinished::new((places / ADDRESS_SHARE).max(ADDRESS_LEAST))
}

/// Why an unfinished connection was closed before its time.
const GAVE_WAY: &str = "its address has the most of those that are not, and places are scarce";

/// Both ends of a connection.
#[derive(Clone, Copy)]
struct Ends {
    peer: SocketAddr,
    local: SocketAddr,
}

/// Serves until `stopped`, then waits for the requests in flight, at most `drain`.
pub(super) async fn accept(
    listener: TcpListener,
    served: Served,
    mut stopped: watch::Receiver<bool>,
    drain: Duration,
) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        if permits.available_permits() == 0 {
            served.unfinished.give_way();
        }
        let permit = Arc::clone(&permits).acquire_owned();
        let accepted = async {
            let permit = permit.await.expect("the semaphore is never closed");
            (listener.accept().await, permit)
        };
        tokio::select! {
            (accepted, permit) = accepted => match accepted {
                Ok((stream, peer)) => {
                    // Responses are written whole, so Nagle's algorithm only delays them.
                    let _ = stream.set_nodelay(true);
                    let (served, stopped) = (served.clone(), stopped.clone());
                    let local = stream.local_addr().unwrap_or(peer);
                    let ends = Ends { peer, local };
                    let mut line = Line::begin(Phase::Accept);
                    if let Some(line) = &mut line {
                        line.opened(Phase::AwaitRequest);
                    }
                    tokio::spawn(Traced::new(line, async move {
                        let _permit = permit;
                        match &served.tls {
                            None => serve(stream, (ends, None), &served, stopped).await,
                            Some(tls) => {
                                if let Some(stream) = handshake(tls, stream, ends, &served).await {
                                    let certificate = certificate(&stream);
                                    serve(stream, (ends, certificate), &served, stopped).await;
                                }
                            }
                        }
                    }));
                }
                Err(error) => pause_after(&error, &served).await,
            },
            () = stop_requested(&mut stopped) => break,
        }
    }
    drop(listener);
    let all = u32::try_from(CONNECTIONS).expect("fits");
    if tokio::time::timeout(drain, permits.acquire_many(all)).await.is_err() {
        tracing::warn!("requests were closed unanswered at the end of the drain time");
    }
}

async fn stop_requested(stopped: &mut watch::Receiver<bool>) {
    // An error means that the server was dropped, which ends it as well.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn pause_after(error: &io::Error, served: &Served) {
    // A client that closed before it was accepted is no reason to pause.
    if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
        let what = "no connection can be accepted";
        if let Some(left_out) = served.causes.allows(&format!("{what}: {error}"), Instant::now()) {
            tracing::warn!(%error, left_out, "{what}");
        }
        served.unfinished.give_way();
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}

/// The stream over TLS; `None` if the handshake fails or is not done in time.
async fn handshake(
    tls: &TlsAcceptor,
    stream: tokio::net::TcpStream,
    ends: Ends,
    served: &Served,
) -> Option<tokio_rustls::server::TlsStream<tokio::net::TcpStream>> {
    let close = Arc::default();
    let _unfinished = served.unfinished.begin(network(ends.peer.ip()), &close);
    let failed = |error: &dyn Display| served.failed(ends, "a TLS handshake failed", error);
    tokio::select! {
        done = tokio::time::timeout(HANDSHAKE_DEADLINE, tls.accept(stream)) => match done {
            Ok(Ok(stream)) => return Some(stream),
            Ok(Err(error)) => failed(&error),
            Err(_) => failed(&"not done within 10 s"),
        },
        () = close.notified() => failed(&GAVE_WAY),
    }
    None
}

impl Served {
    fn failed(&self, ends: Ends, what: &str, error: &dyn Display) {
        let (peer, now) = (ends.peer.ip(), Instant::now());
        match self.peers {
            // Anybody makes these as they like, from any address: a line tells of each kind.
            Peers::Public => match self.causes.allows_every(PUBLIC_PAUSE, what, now) {
                Some(left_out) => tracing::info!(%peer, %error, left_out, "{what}"),
                None => tracing::debug!(%peer, %error, "{what}"),
            },
            Peers::Tiers => {
                let cause = format!("{peer} {what}: {error}");
                if let Some(left_out) = self.causes.allows(&cause, now) {
                    tracing::warn!(%peer, %error, left_out, "{what}");
                }
            }
        }
    }
}

/// Ends when a head is overdue.
async fn overdue(heads: &Heads) {
    while let Ok(look) = heads.look(Clock::now()) {
        tokio::time::sleep_until(look).await;
    }
}

/// The certificate that the client has shown.
fn certificate(
    stream: &tokio_rustls::server::TlsStream<tokio::net::TcpStream>,
) -> Option<ClientCertificate> {
    stream.get_ref().1.peer_certificates().and_then(ClientCertificate::new)
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    (ends, certificate): (Ends, Option<ClientCertificate>),
    served: &Served,
    mut stopped: watch::Receiver<bool>,
) {
    let close = Arc::<Notify>::default();
    let heads =
        Heads::new(&served.unfinished, network(ends.peer.ip()), close.clone(), Clock::now());
    let stream = Watched { stream, heads: heads.clone() };
    let of_requests = heads.clone();
    let router = TowerToHyperService::new(Router::clone(&served.router));
    let service = service_fn(move |mut request: Request<Incoming>| {
        let heads = of_requests.clone();
        heads.complete();
        request.extensions_mut().insert(Peer(ends.peer.ip()));
        request.extensions_mut().insert(Local(ends.local));
        if let Some(certificate) = &certificate {
            request.extensions_mut().insert(certificate.clone());
        }
        let _ = tidegate_trace::request(|| {
            let values = request.headers().get_all(FIELD).iter();
            Context::received(values.map(HeaderValue::as_bytes))
        });
        let answer = router.call(request);
        async move {
            let mut answer = answer.await;
            heads.answered();
            if let Ok(response) = &mut answer
                && response.status() == StatusCode::NO_CONTENT
            {
                // Neither library removes it where the request is a HEAD (RFC 9110, section 8.6).
                response.headers_mut().remove(CONTENT_LENGTH);
            }
            // Responses are written whole, in the same turn of the task.
            if let Ok(response) = &answer {
                tidegate_trace::finish_at_pause(response.status().as_u16());
            }
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_DEADLINE)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let unfinished = "a request's head was not complete in time";
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = overdue(&heads) => return served.failed(ends, unfinished, &"not within 10 s"),
        () = close.notified() => return served.failed(ends, unfinished, &GAVE_WAY),
        () = stop_requested(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // A tier that ends in the middle of a call closes its connections.
        match error.is_parse() {
            true => served.failed(ends, "what arrived is not HTTP", &error),
            false => tracing::debug!(%error, "a connection ended early"),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    const WHOLE: &[u8] = b"GET / HTTP/1.1\r\nhost: site\r\n\r\n";

    fn served(share: usize) -> Served {
        Served {
            router: Arc::new(
                Router::new()
                    .route("/", axum::routing::get(async || "hello"))
                    .route("/none", axum::routing::get(async || StatusCode::NO_CONTENT)),
            ),
            tls: None,
            peers: Peers::Public,
            causes: Arc::default(),
            unfinished: Unfinished::new(share),
        }
    }

    /// A site whose addresses may have so many unfinished connections.
    async fn site(share: usize) -> (SocketAddr, watch::Sender<bool>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(accept(listener, served(share), stopped, Duration::ZERO));
        (address, stop)
    }

    async fn sending(address: SocketAddr, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream
    }

    async fn is_answered(stream: &mut TcpStream) -> bool {
        let mut answer = [0; 4096];
        stream.read(&mut answer).await.is_ok_and(|n| answer[..n].starts_with(b"HTTP/1.1 200"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_head_is_closed_after_ten_seconds_and_an_idle_connection_later() {
        let (address, _stop) = site(100).await;
        for head in [&b""[..], b"GET / HT", b"GET / HTTP/1.1\r\nhost: site\r\n"] {
            let (begun, mut slow) = (Clock::now(), sending(address, head).await);
            assert_eq!(slow.read(&mut [0; 1]).await.unwrap_or_default(), 0);
            let lasted = begun.elapsed().as_secs();
            assert!((10..20).contains(&lasted), "{lasted} s with {head:?}");
        }
        let mut kept = sending(address, WHOLE).await;
        assert!(is_answered(&mut kept).await);
        let begun = Clock::now();
        tokio::time::sleep(Duration::from_secs(40)).await;
        kept.write_all(WHOLE).await.unwrap();
        assert!(is_answered(&mut kept).await);
        kept.write_all(b"GET").await.unwrap();
        assert_eq!(kept.read(&mut [0; 1]).await.unwrap_or_default(), 0);
        let lasted = begun.elapsed().as_secs();
        assert!((50..60).contains(&lasted), "{lasted} s");
    }

    #[tokio::test]
    async fn the_slow_heads_of_an_address_leave_room_for_whole_ones() {
        let (address, _stop) = site(3).await;
        let mut slow = Vec::new();
        for _ in 0..20 {
            slow.push(sending(address, b"GET / HT").await);
            assert!(is_answered(&mut sending(address, WHOLE).await).await);
        }
        for oldest in &mut slow[..17] {
            assert_eq!(oldest.read(&mut [0; 1]).await.unwrap_or_default(), 0);
        }
        // A whole one may have taken a place for the moment between its connection and its head.
        for newest in &mut slow[18..] {
            newest.write_all(&WHOLE[8..]).await.unwrap();
            assert!(is_answered(newest).await);
        }
    }

    #[tokio::test]
    async fn an_answer_without_content_has_no_length() {
        let (address, _stop) = site(1).await;
        for method in ["GET", "HEAD"] {
            let request =
                format!("{method} /none HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
            let mut answer = String::new();
            let mut stream = sending(address, request.as_bytes()).await;
            stream.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
            assert!(!answer.to_ascii_lowercase().contains("content-length"), "{answer}");
        }
    }

    /// Counts what is logged.
    #[derive(Clone, Default)]
    struct Lines(Arc<std::sync::atomic::AtomicU32>);

    impl Subscriber for Lines {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.level() <= &tracing::Level::INFO
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[tokio::test(start_paused = true)]
    async fn a_lack_of_file_descriptors_is_logged_once_for_its_cause() {
        let lines = Lines::default();
        let _logged = tracing::subscriber::set_default(lines.clone());
        let served = served(1);
        for _ in 0..100 {
            pause_after(&io::Error::from_raw_os_error(24), &served).await;
        }
        assert_eq!(lines.0.load(std::sync::atomic::Ordering::Relaxed), 1);
        pause_after(&io::Error::from_raw_os_error(23), &served).await;
        assert_eq!(lines.0.load(std::sync::atomic::Ordering::Relaxed), 2);
    }
}
