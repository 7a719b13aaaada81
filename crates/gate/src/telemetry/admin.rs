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
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn live(source: impl Fn() -> Snapshot + Send + Sync + 'static) -> Live {
        Live::new(Arc::new(source), SharedHistory::default())
    }

    /// The answer to a request on a connection of its own.
    fn asked<B>(request: &Request<B>, loopback: bool, live: &Live) -> Answer {
        answer(request, loopback, live, |span| live.follow(span, Arc::default(), Uses::default()))
    }

    fn response_to(method: &str, path: &str, host: &str) -> (u16, String) {
        let request = Request::builder().method(method).uri(path).header("host", host);
        let response = asked(&request.body(()).unwrap(), true, &live(Snapshot::default));
        let kind = response.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
        (response.status().as_u16(), kind)
    }

    #[test]
    fn each_page_has_its_status_and_type() {
        assert_eq!(response_to("GET", "/", "127.0.0.1:1").0, 200);
        let (status, kind) = response_to("GET", "/metrics?x=y", "localhost:1");
        assert_eq!((status, kind.as_str()), (200, "text/plain; version=0.0.4; charset=utf-8"));
        assert_eq!(response_to("HEAD", "/status", "[::1]:1"), (200, "application/json".into()));
        assert_eq!(response_to("GET", "/healthz", "127.0.0.1").0, 200);
        assert_eq!(response_to("GET", "/favicon.ico", "127.0.0.1").0, 404);
    }

    #[test]
    fn health_is_503_while_draining() {
        let source = || Snapshot { draining: true, ..Snapshot::default() };
        let request = Request::get("/healthz").body(()).unwrap();
        assert_eq!(asked(&request, true, &live(source)).status(), 503);
    }

    #[test]
    fn health_tells_of_the_upstream_and_life_does_not() {
        let failure = UpstreamFailure {
            upstream: None,
            reason: "timeout",
            cause: "did not respond in time: 30 s".into(),
            requests: 3,
            first: Some("GET /a".into()),
            last_s: 4.2,
        };
        let slow = Snapshot { upstream_failures: vec![failure], ..Snapshot::default() };
        let (status, text) = health(&slow);
        let told = "ok\nthe upstream did not respond in time: 30 s (3 requests, last 4 s ago)\n";
        assert_eq!((status.as_u16(), text.as_str()), (200, told));
        let dead = Snapshot { upstream_problem: Some("refused".into()), ..slow };
        let (status, text) = health(&dead);
        assert_eq!((status.as_u16(), &*text), (503, "the upstream cannot be reached: refused\n"));
        let source = move || Snapshot { draining: true, ..dead.clone() };
        assert_eq!(health(&source()).1, "draining\n");
        let request = Request::get("/livez").body(()).unwrap();
        assert_eq!(asked(&request, true, &live(source)).status(), 200);
    }

    #[test]
    fn the_page_runs_its_own_script_and_nothing_else() {
        let live = live(|| Snapshot {
            upstream_problem: Some("</script><script>alert(1)</script>".into()),
            ..Snapshot::default()
        });
        let request = Request::get("/?span=hour").body(()).unwrap();
        let response = asked(&request, true, &live);
        let policy = response.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(
            !policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        let scripts = policy.split("script-src").nth(1).unwrap().split(';').next().unwrap();
        assert_eq!(scripts.matches("sha256-").count(), 1, "{policy}");
        let html = live.page(Span::Hour).html();
        assert_eq!(html.matches("<script").count(), 1);
        assert!(!html.contains(" style=\"") && !html.contains("src=\""), "allowed by no hash");
        assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
    }

    #[test]
    fn events_are_a_stream_for_so_many_pages() {
        let (live, request) = (live(Snapshot::default), Request::get("/events").body(()).unwrap());
        let head = Request::head("/events").body(()).unwrap();
        assert_eq!(asked(&head, true, &live).headers()[header::CONTENT_TYPE], EVENTS);
        let open: Vec<_> = (0..READERS).map(|_| asked(&request, true, &live)).collect();
        assert!(open.iter().all(|answer| answer.headers()[header::CONTENT_TYPE] == EVENTS));
        assert_eq!(asked(&request, true, &live).status(), 503);
        let foreign = Request::get("/events").header("host", "evil.example").body(()).unwrap();
        assert_eq!(asked(&foreign, true, &live).status(), 403);
    }

    #[test]
    fn only_reading_is_allowed() {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"] {
            assert_eq!(response_to(method, "/status", "127.0.0.1").0, 405, "{method}");
        }
    }

    #[test]
    fn a_foreign_name_that_points_here_is_refused_on_loopback_only() {
        for host in
            ["evil.example:9443", "localhost.evil.example", "127.0.0.1.evil.example", "@", ""]
        {
            assert_eq!(response_to("GET", "/status", host).0, 403, "{host:?}");
        }
        let request = Request::get("/").header("host", "gate.internal").body(()).unwrap();
        assert_eq!(asked(&request, false, &live(Snapshot::default)).status(), 200);
        let request = Request::get("http://evil.example/").body(()).unwrap();
        assert_eq!(asked(&request, true, &live(Snapshot::default)).status(), 403);
    }

    #[test]
    fn a_busy_port_is_a_clear_error() {
        let first = Admin::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let text = Admin::bind(first.address()).unwrap_err().to_string();
        let port = first.address().port();
        let expected = format!(
            "admin.address = 127.0.0.1:{port}: another process has port {port}; stop it, or \
             choose another port (or off)"
        );
        assert_eq!(text, expected);
        let text = Admin::bind("192.0.2.1:0".parse().unwrap()).unwrap_err().to_string();
        assert!(text.contains("192.0.2.1 is no address of this host"), "{text}");
    }

    /// Sends bytes to a served admin address and reads until it closes.
    async fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[tokio::test]
    async fn it_answers_over_a_socket_and_refuses_junk() {
        let admin = Admin::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = admin.address();
        let served =
            tokio::spawn(admin.serve(Arc::new(Snapshot::default), SharedHistory::default()));
        let request = b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        let answer = exchange(address, request).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("\ntidegate_connections_total{class=\"new\""), "{answer}");
        let request = b"HEAD /status HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        assert!(exchange(address, request).await.ends_with("\r\n\r\n"));
        assert!(exchange(address, b"\x16\x03\x01\x02\x00\x01").await.starts_with("HTTP/1.1 400"));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(200));
        assert!(exchange(address, many.as_bytes()).await.starts_with("HTTP/1.1 431"));
        served.abort();
    }

    /// A connection on which bytes were sent.
    async fn sending(address: SocketAddr, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream
    }

    /// Whether the connection gets an answer; otherwise it was closed.
    async fn is_answered(stream: &mut TcpStream) -> bool {
        let mut first = [0; 12];
        stream.read_exact(&mut first).await.is_ok_and(|_| &first == b"HTTP/1.1 200")
    }

    const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

    #[tokio::test]
    async fn slow_and_silent_clients_keep_nobody_from_the_pages() {
        let admin = Admin::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = admin.address();
        let served =
            tokio::spawn(admin.serve(Arc::new(Snapshot::default), SharedHistory::default()));
        let mut slow = Vec::new();
        for _ in 0..CONNECTIONS {
            slow.push(sending(address, b"GET /healthz HT").await);
            slow.push(sending(address, b"").await);
        }
        let mut collector = sending(address, HEALTH).await;
        assert!(is_answered(&mut collector).await);
        for _ in 0..2 * CONNECTIONS {
            slow.push(sending(address, b"GET").await);
            assert!(is_answered(&mut sending(address, HEALTH).await).await);
        }
        assert_eq!(slow[0].read(&mut [0; 1]).await.unwrap_or_default(), 0, "the oldest is closed");
        // A kept connection that was used outlives them.
        let mut rest = [0; 4096];
        let _ = collector.read(&mut rest).await.unwrap();
        collector.write_all(HEALTH).await.unwrap();
        assert!(is_answered(&mut collector).await);
        served.abort();
    }

    #[tokio::test]
    async fn of_used_connections_the_one_closes_whose_last_request_is_oldest() {
        let admin = Admin::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = admin.address();
        let served =
            tokio::spawn(admin.serve(Arc::new(Snapshot::default), SharedHistory::default()));
        let request = b"HEAD /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let mut open = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = sending(address, request).await;
            assert!(is_answered(&mut stream).await);
            open.push(stream);
        }
        open[0].write_all(request).await.unwrap();
        let mut buffer = [0; 4096];
        while !buffer.windows(8).any(|part| part == b"HTTP/1.1") {
            let _ = open[0].read(&mut buffer).await.unwrap();
        }
        assert!(is_answered(&mut sending(address, request).await).await);
        let _ = open[1].read(&mut buffer).await.unwrap();
        assert_eq!(open[1].read(&mut buffer).await.unwrap_or_default(), 0, "closed");
        open[0].write_all(request).await.unwrap();
        assert!(open[0].read(&mut buffer).await.unwrap() > 0, "kept");
        served.abort();
    }
}
