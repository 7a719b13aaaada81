#!/usr/bin/env python3
"""Captures the ClientHellos in captured/ again, from the real clients on this machine.

Every client talks to `openssl s_server` through a recorder on loopback, which
stores what the client sent before the server's first byte: its first flight.
Usage: capture.py [NAME...]   (all groups, or only those named: openssl, curl,
chromium, go, java, python)
"""

import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

OUT = pathlib.Path(__file__).parent / "captured"
REQUEST = b"GET /page.html HTTP/1.0\r\nHost: localhost\r\n\r\n"


# Fetches an image after the first connections were closed.
PAGE = """<!doctype html><title>page</title><body>
<script>
setTimeout(() => document.body.append(Object.assign(new Image(), { src: "late.png" })), 2000)
</script>
"""


class Recorder:
    """Forwards connections to a server and keeps each client's first flight."""

    def __init__(self, scratch, *server_flags):
        self.flights = []
        backend = free_port()
        self.server = subprocess.Popen(
            ["openssl", "s_server", "-accept", str(backend), "-WWW", "-quiet",
             "-cert", scratch / "cert.pem", "-key", scratch / "key.pem", *server_flags],
            cwd=scratch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", backend)).close()
                break
            except ConnectionRefusedError:
                self.server.poll() is None or sys.exit("openssl s_server did not start")
        self.backend = backend
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.backend))
            flight = bytearray()
            self.flights.append(flight)
            answered = threading.Event()
            threading.Thread(target=pump, args=(client, server, flight, answered), daemon=True).start()
            threading.Thread(target=pump, args=(server, client, None, answered), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.server.terminate()
        self.server.wait()

    def save(self, *names):
        """Stores the flights so far under these names, in order of connection."""
        flights = [bytes(flight) for flight in self.flights if flight]
        for name, flight in zip(names, flights):
            (OUT / f"{name}.bin").write_bytes(flight)
            print(f"{name}: {len(flight)} bytes")
        if len(flights) < len(names):
            print(f"MISSING: {names[len(flights):]}", file=sys.stderr)


def pump(source, sink, flight, answered):
    try:
        while data := source.recv(65536):
            if flight is None:
                answered.set()
            elif not answered.is_set():
                flight += data
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def run(*command, stdin=None, seconds=60):
    try:
        subprocess.run(command, input=stdin, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=seconds)
    except subprocess.TimeoutExpired:
        pass


def openssl(scratch):
    for version, kind in (("1_2", "ticket"), ("1_3", "psk")):
        name = f"openssl-tls{version.replace('_', '')}"
        with Recorder(scratch) as recorder:
            session = scratch / f"{name}.session"
            client = ["openssl", "s_client", "-connect", f"localhost:{recorder.port}",
                      "-servername", "Shop.Example", f"-tls{version}", "-ign_eof"]
            run(*client, "-sess_out", session, stdin=REQUEST)
            run(*client, "-sess_in", session, stdin=REQUEST)
            recorder.save(f"{name}-new", f"{name}-{kind}")
    with Recorder(scratch, "-no_ticket") as recorder:
        session = scratch / "id.session"
        client = ["openssl", "s_client", "-connect", f"localhost:{recorder.port}",
                  "-noservername", "-tls1_2", "-no_ticket", "-ign_eof"]
        run(*client, "-sess_out", session, stdin=REQUEST)
        run(*client, "-sess_in", session, stdin=REQUEST)
        recorder.save("openssl-tls12-no-ticket", "openssl-tls12-session-id")


def curl(scratch):
    with Recorder(scratch) as recorder:
        run("curl", "-sk", f"https://localhost:{recorder.port}/page.html")
        run("curl", "-sk", "--tls-max", "1.2", "--http1.1", f"https://127.0.0.1:{recorder.port}/page.html")
        recorder.save("curl-new", "curl-tls12-address")


def chromium(scratch):
    with Recorder(scratch) as recorder:
        run("chromium", "--headless", "--no-sandbox", "--disable-gpu",
            "--disable-background-networking", "--ignore-certificate-errors",
            f"--user-data-dir={scratch / 'profile'}", "--virtual-time-budget=3000", "--dump-dom",
            f"https://localhost:{recorder.port}/page.html", seconds=40)
        # It opens two connections at once; only a later one has a ticket to offer.
        del recorder.flights[1:-1]
        recorder.save("chromium-new", "chromium-psk")


GO = """package main

import (
	"crypto/tls"
	"io"
	"os"
)

func main() {
	for _, version := range []uint16{tls.VersionTLS13, tls.VersionTLS12} {
		config := &tls.Config{InsecureSkipVerify: true, ServerName: "localhost",
			MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(4)}
		for range 2 {
			conn, err := tls.Dial("tcp", "127.0.0.1:"+os.Args[1], config)
			if err != nil {
				panic(err)
			}
			conn.Write([]byte("GET /page.html HTTP/1.0\\r\\n\\r\\n"))
			io.ReadAll(conn)
			conn.Close()
		}
	}
}
"""


def go(scratch):
    (scratch / "hello.go").write_text(GO)
    with Recorder(scratch) as recorder:
        run("go", "run", scratch / "hello.go", str(recorder.port), seconds=180)
        recorder.save("go-new", "go-psk", "go-tls12-new", "go-tls12-ticket")


JAVA = """import java.security.cert.X509Certificate;
import javax.net.ssl.*;

class Hello {
    public static void main(String[] args) throws Exception {
        TrustManager all = new X509ExtendedTrustManager() {
            public void checkClientTrusted(X509Certificate[] c, String a) {}
            public void checkServerTrusted(X509Certificate[] c, String a) {}
            public void checkClientTrusted(X509Certificate[] c, String a, java.net.Socket s) {}
            public void checkServerTrusted(X509Certificate[] c, String a, java.net.Socket s) {}
            public void checkClientTrusted(X509Certificate[] c, String a, SSLEngine e) {}
            public void checkServerTrusted(X509Certificate[] c, String a, SSLEngine e) {}
            public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
        };
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] { all }, null);
        for (int i = 0; i < 2; i++) {
            try (SSLSocket socket = (SSLSocket) context.getSocketFactory()
                    .createSocket("localhost", Integer.parseInt(args[0]))) {
                SSLParameters parameters = socket.getSSLParameters();
                parameters.setServerNames(java.util.List.of(new SNIHostName("shop.example")));
                socket.setSSLParameters(parameters);
                socket.getOutputStream().write("GET /page.html HTTP/1.0\\r\\n\\r\\n".getBytes());
                socket.getInputStream().readAllBytes();
            }
        }
    }
}
"""


def java(scratch):
    (scratch / "Hello.java").write_text(JAVA)
    with Recorder(scratch) as recorder:
        run("java", scratch / "Hello.java", str(recorder.port), seconds=120)
        recorder.save("java-new", "java-psk")


def python(scratch):
    with Recorder(scratch) as recorder:
        context = ssl._create_unverified_context()
        context.set_alpn_protocols(["http/1.1"])
        session = None
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", recorder.port)) as plain:
                with context.wrap_socket(plain, server_hostname="localhost", session=session) as tls:
                    tls.sendall(REQUEST)
                    while tls.recv(4096):
                        pass
                    session = tls.session
        recorder.save("python-new", "python-psk")


def main():
    groups = [openssl, curl, chromium, go, java, python]
    wanted = sys.argv[1:] or [group.__name__ for group in groups]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        scratch = pathlib.Path(scratch)
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", scratch / "key.pem", "-out", scratch / "cert.pem",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        (scratch / "page.html").write_text(PAGE)
        for group in groups:
            if group.__name__ in wanted:
                group(scratch)


if __name__ == "__main__":
    main()
