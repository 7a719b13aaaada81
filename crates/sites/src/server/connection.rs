//! Accepts connections and serves HTTP/1.1 on each, with deadlines.

use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tidegate_trace::{Context, FIELD, Line, Phase, Traced};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use super::{Local, Peer, Peers};
use crate::throttle::Causes;

/// Most connections open at once on one core. Each takes about 10 KiB.
const CONNECTIONS: usize = 16_384;
/// Deadline for the header of a request, counted from the end of the last
/// response: it bounds idle connections as well. Longer than a proxy in front
/// keeps its pooled connections.
const HEADER_DEADLINE: Duration = Duration::from_secs(75);
/// Deadline for the TLS handshake.
const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);
/// Most bytes of a request header.
const HEADER_BYTES: usize = 32 * 1024;
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
}

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
                            None => serve(stream, ends, &served, stopped).await,
                            Some(tls) => {
                                if let Some(stream) = handshake(tls, stream, ends, &served).await {
                                    serve(stream, ends, &served, stopped).await;
                                }
                            }
                        }
                    }));
                }
                Err(error) => pause_after(&error).await,
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

async fn pause_after(error: &io::Error) {
    // A client that closed before it was accepted is no reason to pause.
    if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
        tracing::warn!(%error, "no connection can be accepted");
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
    match tokio::time::timeout(HANDSHAKE_DEADLINE, tls.accept(stream)).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            served.failed(ends, "a TLS handshake failed", &error);
            None
        }
        Err(_) => {
            served.failed(ends, "a TLS handshake failed", &"not done within 10 s");
            None
        }
    }
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

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    ends: Ends,
    served: &Served,
    mut stopped: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(Router::clone(&served.router));
    let service = service_fn(|mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer(ends.peer.ip()));
        request.extensions_mut().insert(Local(ends.local));
        let _ = tidegate_trace::request(|| {
            let values = request.headers().get_all(FIELD).iter();
            Context::received(values.map(HeaderValue::as_bytes))
        });
        let answer = router.call(request);
        async move {
            let answer = answer.await;
            // Responses are written whole, in the same turn of the task.
            if let Ok(response) = &answer {
                tidegate_trace::finish_at_pause(response.status().as_u16());
            }
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_DEADLINE)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
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
