//! The operator's address: the page at `/`, its events, `/metrics`, `/healthz`, `/livez`,
//! `/status`, in clear.
//!
//! Read only. Deviation: hyper without axum, whose `serve` has neither a cap on
//! connections nor deadlines; for six fixed pages a router is no gain.

use crate::limited_connections::{LimitedConnections, Uses};
use crate::telemetry::history::SharedHistory;
use crate::telemetry::page::live::{Events, Live, READERS, Source};
use crate::telemetry::page::{Span, policy};
use crate::telemetry::seldom::Seldom;
use crate::telemetry::snapshot::Snapshot;
use crate::telemetry::troubles::{Subject, UpstreamFailure};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// A page, or events.
type Answer = Response<Either<Full<Bytes>, Events>>;

/// The admin address cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("admin.address = {address}: {reason}")]
pub struct Error {
    /// The address.
    pub address: SocketAddr,
    /// Why, and what to do.
    pub reason: String,
}

/// Most connections at once: a few collectors and people. Beyond them the one closes that
/// is used least.
const CONNECTIONS: usize = 64;
/// From one response, or the start, to the end of the next request's head.
const HEAD_DEADLINE: Duration = Duration::from_secs(30);
/// Longest duration of a connection; collectors open another.
const CONNECTION_DEADLINE: Duration = Duration::from_secs(300);
/// Pause after a failed accept: no file descriptors are left, and others need them.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const TEXT: &str = "text/plain; charset=utf-8";
const EVENTS: &str = "text/event-stream";

/// A bound admin address, not served yet.
#[derive(Debug)]
pub struct Admin {
    listener: Arc<TcpListener>,
    address: SocketAddr,
}

impl Admin {
    /// Binds the address: the only thing that can fail.
    ///
    /// # Errors
    /// The port is taken, or may not be had.
    pub fn bind(address: SocketAddr) -> Result<Self, Error> {
        let fail = |error: io::Error| Error { address, reason: reason(&error, address) };
        Self::listening(TcpListener::bind(address).map_err(fail)?, address)
    }

    /// The same with a socket that listens already, at this address.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn listening(listener: TcpListener, address: SocketAddr) -> Result<Self, Error> {
        let fail = |error: io::Error| Error { address, reason: reason(&error, address) };
        listener.set_nonblocking(true).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        Ok(Self { listener: Arc::new(listener), address })
    }

    /// The socket, for the gate that takes this one's place.
    pub fn socket(&self) -> Arc<TcpListener> {
        self.listener.clone()
    }

    /// The address as bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until dropped. Run it on a current-thread tokio runtime of its
    /// own (or that of the tick): the work of a page is tens of microseconds.
    pub async fn serve(self, source: Source, history: SharedHistory) {
        let live = Live::new(source, history);
        tokio::select! {
            () = self.accept(live.clone()) => {}
            () = live.run() => {}
        }
    }

    async fn accept(self, live: Live) {
        let listener = self.listener.try_clone().and_then(tokio::net::TcpListener::from_std);
        drop(self.listener);
        let listener = match listener {
            Ok(listener) => listener,
            Err(error) => return tracing::error!(%error, "the admin address cannot be served"),
        };
        let loopback = self.address.ip().is_loopback();
        // Dropped with this future, and with it every connection.
        let mut connections = LimitedConnections::new(CONNECTIONS);
        let (begun, mut failed, mut failures) = (Instant::now(), 0, Seldom::default());
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    failed += 1;
                    if let Some([times]) = failures.due(begun.elapsed(), [failed]) {
                        tracing::warn!(%error, times, "the admin address did not accept");
                    }
                    // What fails most is to find a free file descriptor.
                    connections.close_least_used();
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let live = live.clone();
            connections.begin(async move |uses| {
                let served = serve_connection(stream, live, loopback, uses);
                let _ = tokio::time::timeout(CONNECTION_DEADLINE, served).await;
            });
            // It is served before others arrive that would close it.
            tokio::task::yield_now().await;
        }
    }
}

/// What to do about a failed bind.
fn reason(error: &io::Error, address: SocketAddr) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "another process has port {}; stop it, or choose another port (or off)",
            address.port()
        ),
        io::ErrorKind::PermissionDenied => {
            format!("this user may not have port {}; choose one of 1024 or above", address.port())
        }
        io::ErrorKind::AddrNotAvailable => {
            format!("{} is no address of this host; try 127.0.0.1", address.ip())
        }
        _ => error.to_string(),
    }
}

async fn serve_connection(stream: TcpStream, live: Live, loopback: bool, uses: Uses) {
    let slow = Arc::<Notify>::default();
    let notify = slow.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        uses.request();
        let follow = |span| live.follow(span, notify.clone(), uses.clone());
        let response = answer(&request, loopback, &live, follow);
        async move { Ok::<_, Infallible>(response) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .max_buf_size(16 << 10)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        served = served => {
            if let Err(error) = served {
                tracing::debug!(%error, "an admin connection broke off");
            }
        }
        () = slow.notified() => tracing::debug!("a page is closed: it does not read its events"),
    }
}

/// The page for a request. hyper leaves the body out where it was a HEAD.
fn answer<B>(
    request: &Request<B>,
    loopback: bool,
    live: &Live,
    follow: impl FnOnce(Span) -> Option<Events>,
) -> Answer {
    if loopback && !names_this_host(request) {
        // A page of another site made its name point here (DNS rebinding).
        let text = "this address answers to IP addresses and localhost only\n";
        return page(StatusCode::FORBIDDEN, TEXT, text);
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let text = "only GET and HEAD: nothing here can be changed\n";
        let mut response = page(StatusCode::METHOD_NOT_ALLOWED, TEXT, text);
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let span = Span::of(request.uri().query());
    match request.uri().path() {
        "/" => operator_page(live, span),
        // The body of a HEAD would never be read.
        "/events" if request.method() == Method::HEAD => page(StatusCode::OK, EVENTS, ""),
        "/events" => events(follow(span)),
        "/metrics" => {
            let kind = "text/plain; version=0.0.4; charset=utf-8";
            page(StatusCode::OK, kind, live.now().prometheus())
        }
        "/healthz" => {
            let (status, text) = health(&live.now());
            page(status, TEXT, text)
        }
        "/livez" => page(StatusCode::OK, TEXT, "ok\n"),
        "/status" => match serde_json::to_string_pretty(&live.now()) {
            Ok(json) => page(StatusCode::OK, "application/json", json + "\n"),
            Err(error) => page(StatusCode::INTERNAL_SERVER_ERROR, TEXT, format!("{error}\n")),
        },
        _ => {
            let text = "pages: / /events /metrics /healthz /livez /status\n";
            page(StatusCode::NOT_FOUND, TEXT, text)
        }
    }
}

/// The operator's page, which nothing but itself has a place in.
fn operator_page(live: &Live, span: Span) -> Answer {
    let operator = live.page(span);
    let mut response = page(StatusCode::OK, "text/html; charset=utf-8", operator.html());
    // Base64 and fixed words.
    if let Ok(policy) = HeaderValue::try_from(policy(&operator)) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response.headers_mut().insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    let referrer = HeaderValue::from_static("no-referrer");
    response.headers_mut().insert(header::REFERRER_POLICY, referrer);
    response
}

fn events(events: Option<Events>) -> Answer {
    let Some(events) = events else {
        let text = format!("{READERS} pages are kept up to date already; close one of them\n");
        return page(StatusCode::SERVICE_UNAVAILABLE, TEXT, text);
    };
    page(StatusCode::OK, EVENTS, "").map(|_| Either::Right(events))
}

/// What a load balancer is told. A failed request is not a reason to send customers elsewhere,
/// nor is an upstream of a route: the other gates may have the same upstreams.
fn health(now: &Snapshot) -> (StatusCode, String) {
    if now.draining {
        return (StatusCode::SERVICE_UNAVAILABLE, "draining\n".into());
    }
    if let Some(why) = &now.upstream_problem {
        let text = format!("the upstream cannot be reached: {why}\n");
        return (StatusCode::SERVICE_UNAVAILABLE, text);
    }
    let mut text = "ok\n".to_owned();
    for upstream in &now.routed_upstreams {
        if let Some(why) = &upstream.problem {
            text += &format!("the upstream {} cannot be reached: {why}\n", upstream.url);
        }
    }
    for pool in now.pools.iter().filter(|pool| pool.members.len() > 1) {
        for member in pool.members.iter().filter(|member| member.share == 0.0) {
            text += &format!("{} of the pool {} gets no requests", member.server, pool.pool);
            text += &member.problem.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            text += "\n";
        }
    }
    for UpstreamFailure { upstream, cause, requests, last_s, .. } in &now.upstream_failures {
        let of = Subject::Upstream(upstream.as_deref().map(Into::into));
        text += &format!("{of} {cause} ({requests} requests, last {last_s:.0} s ago)\n");
    }
    (StatusCode::OK, text)
}

/// Whether a request's host is an IP address or localhost; one without `Host`
/// (HTTP/1.0) is no browser's.
fn names_this_host<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let fine = |host: &HeaderValue| {
        let uri = host.to_str().ok().and_then(|host| host.parse::<Uri>().ok());
        uri.as_ref().and_then(Uri::host).is_some_and(is_this_host)
    };
    request.uri().host().is_none_or(is_this_host) && hosts.all(fine)
}

fn is_this_host(name: &str) -> bool {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let name = name.to_ascii_lowercase();
    bare.parse::<IpAddr>().is_ok() || name == "localhost" || name.ends_with(".localhost")
}

fn page(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(Either::Left(Full::new(body.into())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests;
