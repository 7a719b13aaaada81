//! Upstreams of several servers: how requests are spread, which route leads where, unix sockets.

mod changes;
mod failures;
mod queue;

use crate::common::plain::connect_plain;
use crate::common::*;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use tidegate_gate::Gate;
use tidegate_gate::config::Config;
use tidegate_gate::telemetry::snapshot::MemberStatus;

/// A gate that also listens for plain HTTP, with these lines in its upstream section.
fn clear_gate_of(upstream: &str, more: &str) -> Gate {
    clear_gate_with(upstream, more, |_| {})
}

/// The same with a configuration that a file cannot contain.
fn clear_gate_with(upstream: &str, more: &str, change: impl Fn(&mut Config)) -> Gate {
    let listen = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\nclear = \"127.0.0.1:0\"\ncores = \"{}\"\n",
        a_core()
    );
    gate_of(upstream, &format!("{more}\n{listen}"), change)
}

/// The key with these servers.
fn urls(key: &str, servers: &[SocketAddr]) -> String {
    let servers: Vec<_> = servers.iter().map(|server| format!("http://{server}")).collect();
    format!("{key} = {servers:?}\n")
}

/// A server that answers with its name and the path that it received.
fn named(name: &'static str) -> SocketAddr {
    answering(move |got| ok(&format!("{name} {}", got.line.split(' ').nth(1).unwrap())))
}

/// Answers every request that comes to this listener.
fn serve(listener: TcpListener, answer: impl Fn(Got) -> String + Send + Sync + 'static) {
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let answer = answer.clone();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(socket.unwrap());
                while let Some(got) = read_request(&mut reader) {
                    if reader.get_mut().write_all(answer(got).as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

/// What the gate tells of a server of `[upstream]`.
fn member(gate: &Gate, server: SocketAddr) -> MemberStatus {
    let members = gate.snapshot().pools.swap_remove(0).members;
    let url = format!("http://{server}");
    members.into_iter().find(|member| member.server == url).expect("it is a server")
}

fn answer(gate: &Gate, path: &str) -> String {
    get(&mut connect_plain(gate), path).unwrap().text().to_owned()
}

fn post(gate: &Gate, path: &str) -> Response {
    let mut connection = connect_plain(gate);
    let request = format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    send(&mut connection, request.as_bytes());
    receive(&mut connection, "POST").unwrap()
}

/// A process of Python's `http.server` that answers with its name and the request's body.
struct Python {
    process: Child,
    /// What it listens on, as a key names it.
    url: String,
    _output: BufReader<ChildStdout>,
}

impl Python {
    /// Starts one on a port of the system's choice, or on the unix socket of this path.
    fn start(name: &str, socket: Option<&str>) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", SERVER, name]).args(socket).stdout(Stdio::piped());
        let mut process = command.spawn().expect("python3 is installed");
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut url = String::new();
        output.read_line(&mut url).unwrap();
        Self { process, url: url.trim().to_owned(), _output: output }
    }

    /// Ends it at once, as a crash does.
    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const SERVER: &str = r#"
import http.server, socketserver, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/slow":
            import time; time.sleep(600)
        text = sys.argv[1].encode() + b" " + self.headers["Host"].encode() + b" " + body
        # At once: a process that is killed has answered, or not begun to.
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
    do_GET = do_POST = answer
    def address_string(self): return "gate"
    def log_message(self, *_): pass
class Tcp(http.server.ThreadingHTTPServer): pass
class Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer): daemon_threads = True
if len(sys.argv) > 2:
    server, url = Unix(sys.argv[2], Handler), "unix:" + sys.argv[2]
else:
    server = Tcp(("127.0.0.1", 0), Handler)
    url = "http://127.0.0.1:%d" % server.server_address[1]
print(url, flush=True)
server.serve_forever()
"#;

#[test]
fn a_server_on_a_unix_socket_is_an_upstream() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.sock");
    let mut server = Python::start("shop", path.to_str());
    let gate = clear_gate_of(&format!("url = \"{}\"", server.url), "");
    let mut connection = connect_plain(&gate);
    assert_eq!(get(&mut connection, "/").unwrap().text(), "shop localhost ");
    let long = "a".repeat(1_000_000);
    let post =
        format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{long}", long.len());
    send(&mut connection, post.as_bytes());
    let response = receive(&mut connection, "POST").unwrap();
    assert_eq!(response.text(), format!("shop a {long}"));
    assert_eq!(gate.totals().upstream_connects, 1, "the connection is kept");
    server.kill();
    let response = get(&mut connection, "/").unwrap();
    assert_eq!(response.code, 502);
    until("it is told where", || {
        let failures = gate.snapshot().upstream_failures;
        failures.iter().any(|failure| failure.cause.contains(path.to_str().unwrap()))
    });
}

#[test]
fn requests_are_spread_over_all_servers() {
    let servers = [named("one"), named("two"), named("three")];
    let gate = clear_gate_of(&urls("url", &servers), "");
    let mut connection = connect_plain(&gate);
    let mut served = BTreeMap::<String, usize>::new();
    while served.len() < 3 || served.values().sum::<usize>() < 100 {
        *served.entry(get(&mut connection, "/").unwrap().text().to_owned()).or_default() += 1;
    }
    assert_eq!(gate.totals().upstream_connects, 3, "each has a connection of its own");
    for server in servers {
        let member = member(&gate, server);
        assert!(member.responses > 0 && member.share == 1.0, "{member:?}");
        assert_eq!(member.connections_in_use, 0);
    }
}

#[test]
fn requests_go_to_the_server_that_has_fewer() {
    let (busy, requested, go) = answering_on_request();
    let idle = named("idle");
    let gate = clear_gate_of(&urls("url", &[busy, idle]), "");
    let mut waiting = connect_plain(&gate);
    let long = b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n";
    // Until the busy one has it: the other answers at once.
    loop {
        let (before, mut taken) = (member(&gate, idle).responses, false);
        send(&mut waiting, long);
        until("one of them has it", || {
            taken = requested.try_recv().is_ok();
            taken || member(&gate, idle).responses > before
        });
        if taken {
            break;
        }
        assert_eq!(receive(&mut waiting, "GET").unwrap().text(), "idle /long");
    }
    for _ in 0..50 {
        assert_eq!(answer(&gate, "/"), "idle /");
    }
    go.send(()).unwrap();
    assert_eq!(receive(&mut waiting, "GET").unwrap().text(), "hello");
}

#[test]
fn routes_lead_hosts_and_paths_to_pools() {
    let pool = |name: &str, servers: &[SocketAddr]| {
        format!("[[pools]]\nname = \"{name}\"\n{}", urls("members", servers))
    };
    let more = [
        pool("checkout", &[named("checkout")]),
        pool("api", &[named("api")]),
        pool("tenants", &[named("tenants")]),
        "[[routes]]\npath = \"/checkout\"\npool = \"checkout\"\n".into(),
        "[[routes]]\nhost = \"*.shop.example\"\npool = \"tenants\"\n".into(),
        "[[routes]]\nhost = \"api.shop.example\"\npool = \"api\"\n".into(),
        "[[routes]]\nhost = \"api.shop.example\"\npath = \"/checkout\"\npool = \"checkout\"\n"
            .into(),
    ];
    let gate = clear_gate_of(&urls("url", &[named("main")]), &more.concat());
    let mut connection = connect_plain(&gate);
    for (host, path, pool) in [
        ("shop.example", "/", "main"),
        ("shop.example", "/checkout/1", "checkout"),
        ("api.shop.example", "/", "api"),
        ("API.shop.example:8443", "/v1", "api"),
        ("api.shop.example", "/checkout", "checkout"),
        ("a.shop.example", "/", "tenants"),
        ("a.b.shop.example", "/checkout", "tenants"),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        send(&mut connection, request.as_bytes());
        let answer = receive(&mut connection, "GET").unwrap();
        assert_eq!(answer.text(), format!("{pool} {path}"), "{host}");
    }
    let snapshot = gate.snapshot();
    let pools: Vec<_> = snapshot.pools.iter().map(|pool| &*pool.pool).collect();
    assert_eq!(pools, ["upstream", "checkout", "api", "tenants"]);
    let route = &snapshot.routes[3];
    assert_eq!(route.host.as_deref(), Some("api.shop.example"));
    assert_eq!((&*route.path, route.pool.as_deref()), ("/checkout", Some("checkout")));
    let totals = || gate.snapshot().route_totals;
    until("a tick has counted them", || {
        let is =
            |name: &str, count| totals().iter().any(|it| it.route == name && it.requests == count);
        is("*.shop.example/", 2) && is("api.shop.example/", 2) && is("/checkout", 1)
    });
}
