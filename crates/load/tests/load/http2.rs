//! Customers who speak HTTP/2, with servers that do, that end it in every way, and
//! that do not.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::http2::{Act, Http2Server, Raw, Setup, frame, go_away, ok, reset, with_alpn};
use crate::common::{Manner, Seen, Server, loop_of};
use bytes::Bytes;
use http::Response;
use tidegate_load::{Arrivals, Close, Http, KeepAlive, Plan, Scenario, Summary, Totals, run};

/// Answers each request at once.
const AT_ONCE: Setup = Setup { tls: true, site: hello, after: Duration::ZERO, answers: u64::MAX };

fn hello(_: &Seen) -> Response<Bytes> {
    Response::new(Bytes::from_static(b"<p>hello"))
}

/// Sessions that end the run when they have ended.
fn plan(scenario: Scenario, url: &str, sessions: u64) -> Plan {
    let mut plan = Plan::new(scenario, url);
    plan.arrivals = Some(Arrivals::even(200.0));
    plan.insecure = true;
    plan.http = Http::Two;
    plan.warm_up = Duration::ZERO;
    plan.measure = Duration::from_secs(60);
    plan.max_sessions = Some(sessions);
    plan
}

fn summary(plan: Plan) -> Summary {
    run(plan, &mut |_| ()).unwrap()
}

fn totals(plan: Plan) -> Totals {
    summary(plan).totals
}

#[test]
fn a_session_is_one_connection_over_tls_as_in_clear() {
    for tls in [true, false] {
        let server = Http2Server::start(Setup { tls, ..AT_ONCE });
        let summary = summary(plan(loop_of(5, ""), &server.url, 20));
        let totals = &summary.totals;
        assert_eq!((totals.completed, totals.requests_ok, totals.retries), (20, 100, 0));
        assert_eq!((server.connections(), server.seen().len()), (20, 100));
        assert_eq!((totals.full_ok, &*summary.http), (if tls { 20 } else { 0 }, "2"));
        // At least the bodies and the heads of their frames.
        assert!(totals.received_bytes >= 100 * (8 + 18), "{}", totals.received_bytes);
    }
}

#[test]
fn values_are_taken_from_answers_and_go_into_requests_as_over_http_1() {
    fn site(seen: &Seen) -> Response<Bytes> {
        let head = Response::builder().header("x-session", "s-17");
        let body = if seen.path == "/" { r#"{"items":[{"id":42}]}"# } else { "done" };
        head.body(Bytes::from_static(body.as_bytes())).unwrap()
    }
    let server = Http2Server::start(Setup { site, ..AT_ONCE });
    let text = "[session]\nsteps = [\"Home\", \"Order\"]\nthink = \"1ms\"\n[pages.Home]\n\
                path = \"/\"\nextract = { token = { header = \"x-session\" }, \
                item = { json = \"/items/0/id\" } }\n[pages.Order]\npath = \"/items/{item}\"\n\
                method = \"PUT\"\nbody = '{\"count\": 1}'\nheaders = { \"X-Token\" = \"{token}\" }\n\
                check = { contains = \"done\" }\n";
    let totals = totals(plan(Scenario::from_toml(text, "api.toml").unwrap(), &server.url, 1));
    assert_eq!((totals.completed, totals.requests_ok), (1, 2), "{totals:?}");
    let order = &server.seen()[1];
    assert_eq!((order.method.as_str(), order.path.as_str()), ("PUT", "/items/42"));
    assert_eq!((order.kind.as_str(), order.token.as_str()), ("application/json", "s-17"));
    assert_eq!(order.body, r#"{"count": 1}"#);
}

#[test]
fn bodies_of_bytes_and_locations_beyond_ascii_are_as_over_http_1() {
    fn site(seen: &Seen) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        if seen.path == "/a" {
            *response.status_mut() = http::StatusCode::SEE_OTHER;
            let location = http::HeaderValue::from_bytes(b"/k\xf6").unwrap();
            response.headers_mut().insert("location", location);
        }
        response
    }
    let server = Http2Server::start(Setup { site, ..AT_ONCE });
    let text = "[session]\nsteps = [\"A\"]\n[pages]\n\
                A = { path = \"/a\", body_base64 = \"AP8NCg==\", headers = { Cookie = \"a=1\" } }\n";
    let scenario = Scenario::from_toml(text, "shop.toml").unwrap();
    let totals = totals(plan(scenario, &server.url, 1));
    assert_eq!((totals.completed, totals.redirects), (1, 1), "{totals:?}");
    let seen = server.seen();
    let sent: Vec<_> = seen.iter().map(|it| (it.path.as_str(), &it.bytes[..])).collect();
    assert_eq!(sent, [("/a", &b"\0\xff\r\n"[..]), ("/k%F6", b"")]);
    assert!(seen.iter().all(|it| it.cookie == "a=1"), "{seen:?}");
}

#[test]
fn links_forms_cookies_and_redirects_work_as_over_http_1() {
    fn site(seen: &Seen) -> Response<Bytes> {
        let (status, header, body) = match seen.path.as_str() {
            "/" => (302, ("location", "/start"), ""),
            "/start" => (200, ("set-cookie", "id=7; Path=/"), "<a href=/items/3>x</a>"),
            "/items/3" => {
                (200, ("x", "y"), "<form method=post action=/bids><input name=bid value=5></form>")
            }
            _ => (200, ("x", "y"), "thanks"),
        };
        let head = Response::builder().status(status).header(header.0, header.1);
        head.body(Bytes::from_static(body.as_bytes())).unwrap()
    }
    let server = Http2Server::start(Setup { site, ..AT_ONCE });
    let text = "[session]\nstart = \"Home\"\nthink = \"1ms\"\n[pages]\nHome = { path = \"/\" }\n\
                Item = { link = \"/items/{item}\" }\nBid = { form = \"/bids\" }\n[transitions]\n\
                Home = { Item = 1 }\nItem = { Bid = 1 }\nBid = { End = 1 }\n";
    let totals = totals(plan(Scenario::from_toml(text, "shop.toml").unwrap(), &server.url, 1));
    assert_eq!((totals.completed, totals.requests_ok, totals.redirects), (1, 3, 1), "{totals:?}");
    let seen = server.seen();
    let of = |seen: &Seen| format!("{} {} {} {}", seen.method, seen.path, seen.cookie, seen.body);
    assert_eq!(
        seen.iter().map(of).collect::<Vec<_>>(),
        ["GET /  ", "GET /start  ", "GET /items/3 id=7 ", "POST /bids id=7 bid=5"]
    );
}

#[test]
fn a_known_delay_and_a_large_body_are_measured() {
    fn large(_: &Seen) -> Response<Bytes> {
        Response::new(Bytes::from(vec![b'x'; 3_000_000]))
    }
    let after = Duration::from_millis(50);
    let server = Http2Server::start(Setup { site: large, after, ..AT_ONCE });
    let summary = summary(plan(loop_of(2, ""), &server.url, 3));
    assert_eq!(summary.totals.completed, 3, "{:?}", summary.totals);
    // More than a window of flow control is sent.
    assert!(summary.totals.received_bytes >= 6 * 3_000_000, "{}", summary.totals.received_bytes);
    assert!(summary.phases.first_byte.p50_ms >= 49.9, "{:?}", summary.phases);
    assert!(summary.phases.last_byte.p50_ms > 0.0, "{:?}", summary.phases);
}

#[test]
fn a_connection_per_request_is_ended_after_each_and_resumed() {
    let server = Http2Server::start(AT_ONCE);
    let mut plan = plan(loop_of(4, ""), &server.url, 10);
    plan.keep = KeepAlive::Request;
    let totals = totals(plan);
    assert_eq!((totals.completed, totals.requests_ok), (10, 40));
    assert_eq!((server.connections(), totals.full_ok, totals.resumed_ok), (40, 10, 30));
}

#[test]
fn a_server_that_gives_connections_up_is_visited_on_new_ones() {
    let server = Http2Server::start(Setup { answers: 2, ..AT_ONCE });
    let totals = totals(plan(loop_of(6, ""), &server.url, 10));
    assert_eq!((totals.completed, totals.requests_ok), (10, 60), "{totals:?}");
    assert_eq!((totals.full_ok, totals.resumed_ok), (10, 20), "{totals:?}");
}

#[test]
fn what_goes_wrong_is_counted_by_its_kind() {
    let acts: [(Act, &str); 6] = [
        (|tcp, _, stream| tcp.write_all(&reset(stream, 7)).is_ok(), "stream_refused"),
        (|tcp, _, stream| tcp.write_all(&reset(stream, 2)).is_ok(), "stream_reset"),
        (|tcp, _, _| tcp.write_all(&go_away(0, 11)).is_ok(), "go_away"),
        // A frame longer than may be.
        (|tcp, _, _| tcp.write_all(b"HTTP/1.1 200 OK\r\n\r\n").is_ok(), "http"),
        (|_, _, _| false, "closed"),
        // The head of an answer, and then the end of the connection.
        (
            |tcp, _, stream| {
                let _ = tcp.write_all(&frame(1, 4, stream, &[0x88]));
                false
            },
            "closed",
        ),
    ];
    for (act, kind) in acts {
        let server = Raw::start(act);
        let totals = totals(plan(loop_of(3, ""), &server.url, 5));
        assert_eq!(totals.failed_by_kind.get(kind), Some(&5), "{kind}: {totals:?}");
        assert_eq!((totals.failed, totals.retries, totals.requests_ok), (5, 0, 0), "{kind}");
    }
}

#[test]
fn a_head_without_end_ends_the_request_and_not_the_driver() {
    let server = Raw::start(|tcp, _, stream| {
        // A field of 16 KB in each of a hundred frames.
        let field = [&[0x88, 0x40, 0x01, b'a', 0x7f, 0x81, 0x7c][..], &[b'x'; 16_000]].concat();
        let more = [&[0x40, 0x01, b'a', 0x7f, 0x81, 0x7c][..], &[b'x'; 16_000]].concat();
        let mut sent = tcp.write_all(&frame(1, 0, stream, &field));
        for _ in 0..100 {
            sent = sent.and_then(|()| tcp.write_all(&frame(9, 0, stream, &more)));
        }
        sent.is_ok()
    });
    let totals = totals(plan(loop_of(3, ""), &server.url, 3));
    assert_eq!(totals.failed_by_kind.get("http"), Some(&3), "{totals:?}");
}

#[test]
fn a_request_that_meets_the_end_of_a_kept_connection_is_sent_once_more() {
    let acts: [Act; 2] = [
        // Takes no more requests than the first.
        |tcp, number, stream| match number {
            0 => tcp.write_all(&ok(stream)).is_ok(),
            _ => tcp.write_all(&go_away(1, 0)).is_ok(),
        },
        |tcp, number, stream| number == 0 && tcp.write_all(&ok(stream)).is_ok(),
    ];
    for act in acts {
        let server = Raw::start(act);
        let totals = totals(plan(loop_of(3, ""), &server.url, 5));
        assert_eq!(
            (totals.completed, totals.requests_ok, totals.retries),
            (5, 15, 10),
            "{totals:?}"
        );
    }
}

#[test]
fn customers_without_an_answer_lose_patience_and_reset() {
    let server = Raw::start(|_, _, _| true);
    let totals = totals(plan(loop_of(3, "patience = \"200ms\""), &server.url, 5));
    assert_eq!(totals.abandoned_by_stage.get("first_byte"), Some(&5), "{totals:?}");
    assert_eq!(ends(&server, 6).iter().filter(|end| **end == (false, false)).count(), 5);
}

#[test]
fn connections_end_by_goaway_and_by_shutdown_or_reset_as_asked() {
    for (close, by_fin) in [(Close::Shutdown, 6), (Close::Reset, 1)] {
        let server = Raw::start(|tcp, _, stream| tcp.write_all(&ok(stream)).is_ok());
        let mut plan = plan(loop_of(2, ""), &server.url, 5);
        plan.close = close;
        assert_eq!(totals(plan).completed, 5);
        let ends = ends(&server, 6);
        // The probe is always shut down. Linux may lose the GOAWAY that is still
        // unread when a reset comes.
        assert_eq!(ends.iter().filter(|(_, fin)| *fin).count(), by_fin, "{close:?} {ends:?}");
        if close == Close::Shutdown {
            assert!(ends.iter().all(|(went_away, _)| *went_away), "{ends:?}");
        }
    }
}

/// How so many connections ended; the server may still be about to notice.
fn ends(server: &Raw, count: usize) -> Vec<(bool, bool)> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let ends = server.ends.lock().unwrap().clone();
        if ends.len() >= count {
            return ends;
        }
        assert!(Instant::now() < deadline, "{ends:?}");
        std::thread::yield_now();
    }
}

#[test]
fn a_server_without_http2_is_reported_before_the_run() {
    let error = |url: &str| {
        let error = run(plan(loop_of(1, ""), url, 1), &mut |_| ()).unwrap_err();
        assert_eq!(error.exit_code(), 3);
        error.to_string()
    };
    let manner = Manner::Answer { after: Duration::ZERO };
    let site: crate::common::Site = |_| ("200 OK", String::new(), String::new());
    // It knows nothing of ALPN.
    let text = error(&Server::start(manner).url);
    assert!(text.contains("no HTTP/2: in TLS it did not choose h2"), "{text}");
    // It knows HTTP/1.1 only.
    let text = error(&Server::with_config(manner, site, with_alpn(&["http/1.1"])).url);
    assert!(text.contains("NoApplicationProtocol; it does not support the requested"), "{text}");
    // It knows HTTP/2, but not without a certificate.
    let server = crate::common::openssl::SServer::with_page(&["-Verify", "1", "-alpn", "h2"]);
    let text = error(&server.url);
    assert!(text.contains("it requests a client certificate"), "{text}");
    // In clear.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut tcp in listener.incoming().map_while(Result::ok) {
            let _ = tcp.read(&mut [0; 100]);
            let _ = tcp.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
        }
    });
    let text = error(&url);
    assert!(text.contains("no HTTP/2: ") && text.contains("or use HTTP/1.1"), "{text}");
}

/// nginx in the foreground, ended when dropped.
struct Nginx {
    url: String,
    child: Child,
    _folder: tempfile::TempDir,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Nginx {
    /// Gives a connection up after so many requests.
    fn start(keepalive_requests: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // nginx started by root drops to a user that cannot enter the folder.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), mode).unwrap();
        let (certificate, key) = crate::common::openssl::certificate(folder.path(), "localhost");
        let (certificate, key) = (certificate.display(), key.display());
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let home = folder.path().display();
        let text = format!(
            "daemon off; master_process off; pid {home}/pid; error_log stderr warn;\n\
             events {{ worker_connections 256; }}\n\
             http {{ access_log off; client_body_temp_path {home}/a; proxy_temp_path {home}/b;\n\
             fastcgi_temp_path {home}/c; uwsgi_temp_path {home}/d; scgi_temp_path {home}/e;\n\
             keepalive_requests {keepalive_requests};\n\
             server {{ listen {free} ssl http2; ssl_certificate {certificate};\n\
             ssl_certificate_key {key}; location / {{ return 200 \"$server_protocol\"; }} }} }}\n"
        );
        std::fs::write(folder.path().join("nginx.conf"), text).unwrap();
        let child = Command::new("nginx")
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(folder.path().join("nginx.conf"))
            .args(["-e", "stderr"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("nginx is installed; scripts/bootstrap test installs it");
        let deadline = Instant::now() + Duration::from_secs(60);
        while std::net::TcpStream::connect(free).is_err() {
            assert!(Instant::now() < deadline, "nginx answers at {free}");
            std::thread::sleep(Duration::from_millis(5));
        }
        Self { url: format!("https://{free}"), child, _folder: folder }
    }
}

#[test]
fn nginx_is_visited_over_tls_and_given_new_connections_when_it_wants_them() {
    let nginx = Nginx::start(5);
    let totals = totals(plan(loop_of(20, ""), &nginx.url, 5));
    assert_eq!((totals.completed, totals.requests_ok), (5, 100), "{totals:?}");
    assert_eq!(totals.full_ok + totals.resumed_ok, 20, "{totals:?}");
    assert_eq!(totals.full_ok, 5, "{totals:?}");
}
