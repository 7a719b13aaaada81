//! Accepts connections and serves HTTP/1.1 on each, with deadlines.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Connections open at once on one core. Each costs some ten KiB.
const CONNECTIONS: usize = 16_384;
/// How long a client may take over the header of a request, counted from the
/// end of the last response: so it bounds idle connections as well. Longer than
/// any proxy in front keeps its pooled connections.
const HEADER: Duration = Duration::from_secs(75);
/// Most bytes of a request's header.
const HEADER_BYTES: usize = 32 * 1024;
/// Pause after the system has run out of sockets.
const BREATHER: Duration = Duration::from_millis(50);

/// Serves until `stopped`, then waits for requests under way, at most `drain`.
pub(super) async fn accept(
    listener: TcpListener,
    router: Arc<Router>,
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
                Ok((stream, _)) => {
                    // Answers are written whole, so waiting for more only delays them.
                    let _ = stream.set_nodelay(true);
                    let serve = serve(stream, Arc::clone(&router), stopped.clone(), permit);
                    tokio::spawn(serve);
                }
                Err(error) => pause_after(&error).await,
            },
            () = told(&mut stopped) => break,
        }
    }
    drop(listener);
    let all = u32::try_from(CONNECTIONS).expect("fits");
    if tokio::time::timeout(drain, permits.acquire_many(all)).await.is_err() {
        tracing::warn!("some requests were cut off at the end of the drain time");
    }
}

async fn told(stopped: &mut watch::Receiver<bool>) {
    // An error means that the server itself is gone: that, too, is the end.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn pause_after(error: &io::Error) {
    // A client that went away before it was accepted is no reason to wait.
    if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
        tracing::warn!(%error, "no connection can be accepted");
        tokio::time::sleep(BREATHER).await;
    }
}

async fn serve(
    stream: tokio::net::TcpStream,
    router: Arc<Router>,
    mut stopped: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
) {
    let service = TowerToHyperService::new(Router::clone(&router));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = told(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
