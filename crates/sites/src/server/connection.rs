//! Accepts connections and serves HTTP/1.1 on each, with deadlines.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

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

use super::Peer;

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
/// Pause after a failed accept, for example for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `stopped`, then waits for the requests in flight, at most `drain`.
pub(super) async fn accept(
    listener: TcpListener,
    router: Arc<Router>,
    tls: Option<TlsAcceptor>,
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
                    let (router, stopped, tls) = (Arc::clone(&router), stopped.clone(), tls.clone());
                    let mut line = Line::begin(Phase::Accept);
                    if let Some(line) = &mut line {
                        line.opened(Phase::AwaitRequest);
                    }
                    tokio::spawn(Traced::new(line, async move {
                        let _permit = permit;
                        match tls {
                            None => serve(stream, peer.ip(), router, stopped).await,
                            Some(tls) => {
                                if let Some(stream) = handshake(&tls, stream).await {
                                    serve(stream, peer.ip(), router, stopped).await;
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
) -> Option<tokio_rustls::server::TlsStream<tokio::net::TcpStream>> {
    match tokio::time::timeout(HANDSHAKE_DEADLINE, tls.accept(stream)).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a TLS handshake failed");
            None
        }
        Err(_) => None,
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: IpAddr,
    router: Arc<Router>,
    mut stopped: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(Router::clone(&router));
    let service = service_fn(|mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
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
        tracing::debug!(%error, "a connection ended early");
    }
}
