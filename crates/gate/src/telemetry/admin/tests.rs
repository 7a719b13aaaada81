//! What the admin address answers, and to whom.

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
    assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
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
    for host in ["evil.example:9443", "localhost.evil.example", "127.0.0.1.evil.example", "@", ""] {
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
    let served = tokio::spawn(admin.serve(Arc::new(Snapshot::default), SharedHistory::default()));
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
    let served = tokio::spawn(admin.serve(Arc::new(Snapshot::default), SharedHistory::default()));
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
    let served = tokio::spawn(admin.serve(Arc::new(Snapshot::default), SharedHistory::default()));
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
