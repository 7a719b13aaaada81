//! Upstreams of several servers, and what they may be: TCP, TLS, a unix socket.

use crate::common::plain::connect_plain;
use crate::common::*;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use tidegate_gate::Gate;

/// A gate that also listens for plain HTTP, with these lines in its upstream section.
fn clear_gate_of(upstream: &str, more: &str) -> Gate {
    let listen = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\nclear = \"127.0.0.1:0\"\ncores = \"{}\"\n",
        a_core()
    );
    gate_of(upstream, &format!("{more}\n{listen}"), |_| {})
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
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
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
