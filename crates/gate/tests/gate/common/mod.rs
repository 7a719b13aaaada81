//! What the gate's tests over real sockets share: an upstream, a gate in front of
//! it, customers.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod files;
pub mod http2;
pub mod openssl;
pub mod peers;
pub mod plain;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};
use socket2::{Domain, Socket, Type};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use tidegate_gate::Gate;
use tidegate_gate::config::{Config, Refusal};
use tidegate_gate::telemetry::counters::Totals;

/// Longest wait for something that must happen: generous, since a loaded machine is no failure.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a condition holds.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < PATIENCE, "did not happen: {what}");
        std::thread::yield_now();
    }
}

/// A processor that this process may use, as the key `cores` names it.
pub fn a_core() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    allowed.trim().chars().take_while(char::is_ascii_digit).collect()
}

/// A request as the upstream received it.
pub struct Got {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Got {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        let first = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} occurs twice");
        first
    }
}

/// Reads a request from the gate; `None` at the end of the connection.
pub fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Got> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut headers = Vec::new();
    loop {
        let mut field = String::new();
        reader.read_line(&mut field).ok()?;
        match field.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.into(), value.trim().into())),
            None => break,
        }
    }
    let mut got = Got { line: line.trim_end().into(), headers, body: Vec::new() };
    if let Some(length) = got.header("content-length") {
        got.body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut got.body).ok()?;
    } else if got.header("transfer-encoding").is_some() {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            if size == 0 {
                break;
            }
            got.body.extend(&chunk[..size]);
        }
    }
    Some(got)
}

/// An upstream that answers each connection with `serve`, in threads.
pub fn upstream(serve: impl Fn(BufReader<TcpStream>) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(BufReader::new(socket.unwrap())));
        }
    });
    address
}

/// An upstream that answers every request with the result of `answer`.
pub fn answering(answer: impl Fn(Got) -> String + Send + Sync + 'static) -> SocketAddr {
    upstream(move |mut reader| {
        while let Some(got) = read_request(&mut reader) {
            if reader.get_mut().write_all(answer(got).as_bytes()).is_err() {
                return;
            }
        }
    })
}

/// An upstream that reports a request for `/long`, and answers it only after a
/// message on the returned sender.
pub fn answering_on_request() -> (SocketAddr, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (sender, requested) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let upstream = answering(move |got| {
        if got.line.contains("/long") {
            sender.send(()).unwrap();
            wait.lock().unwrap().recv().unwrap();
        }
        ok("hello")
    });
    (upstream, requested, go)
}

/// Waits until a request has come to such an upstream. Where none does, the gate's counts tell why.
pub fn comes_to_the_upstream(gate: &Gate, requested: &mpsc::Receiver<()>) {
    let came = requested.recv_timeout(PATIENCE);
    came.unwrap_or_else(|_| panic!("no request comes to the upstream: {:?}", gate.totals()));
}

/// An upstream that answers a request's head with 413, and then reads the body.
pub fn refusing_at_the_head() -> SocketAddr {
    upstream(|mut reader| {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
        }
        let refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig";
        reader.get_mut().write_all(refusal.as_bytes()).unwrap();
        let _ = std::io::copy(&mut reader, &mut std::io::sink());
    })
}

/// An address that refuses connections, and the socket that will listen on it.
pub fn refusing() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

/// A response with a length.
pub fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// An upstream that answers `hello`.
pub fn hello() -> SocketAddr {
    answering(|_| ok("hello"))
}

/// A gate in front of an upstream; `more` is appended to its configuration.
pub fn gate(upstream: SocketAddr, more: &str) -> Gate {
    gate_with(upstream, more, |_| {})
}

/// The same with a configuration that a file cannot contain.
pub fn gate_with(upstream: SocketAddr, more: &str, change: impl Fn(&mut Config)) -> Gate {
    let base = format!("url = \"http://{upstream}\"");
    gate_of(&base, more, change)
}

/// A gate with these lines in its upstream section.
pub fn gate_of(upstream: &str, more: &str, change: impl Fn(&mut Config)) -> Gate {
    let mut config = config_of(upstream, more);
    change(&mut config);
    Gate::start(config).unwrap()
}

/// The configuration of such a gate.
pub fn config_of(upstream: &str, more: &str) -> Config {
    let mut text = String::new();
    if !more.contains("[listen]") {
        let core = a_core();
        text += "[listen]\naddress = \"127.0.0.1:0\"\ndrain_deadline = \"5s\"\n";
        text += &format!("cores = \"{core}\"\n");
    }
    if !more.contains("[admin]") {
        text += "[admin]\naddress = \"off\"\n";
    }
    if !more.contains("[admission]") {
        text += "[admission]\npolicy = \"off\"\n";
    }
    text +=
        &format!("[upstream]\nprocesses = \"none\"\ncheck_interval = \"0s\"\n{upstream}\n{more}");
    let config = Config::from_toml(&text, "test.toml");
    let mut config = config.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    if !more.contains("refuse") {
        config.admission.refuse = Refusal::Reset;
    }
    if !more.contains("browser_connections") {
        // All customers come from one address.
        config.admission.browser_connections = 0;
    }
    config
}

/// Waits until the gate's counters satisfy a condition.
pub fn counted(gate: &Gate, what: &str, so: impl Fn(&Totals) -> bool) {
    let begun = Instant::now();
    while !so(&gate.totals()) {
        assert!(begun.elapsed() < PATIENCE, "not counted: {what}; {:?}", gate.totals());
        std::thread::yield_now();
    }
}

/// A customer's TLS configuration: keeps sessions, trusts any certificate.
pub fn client(versions: &[&'static rustls::SupportedProtocolVersion]) -> ClientConfig {
    client_by(default_provider(), versions)
}

/// The same with the groups and signatures of this provider.
pub fn client_by(
    provider: rustls::crypto::CryptoProvider,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> ClientConfig {
    let provider = Arc::new(provider);
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// Both versions.
pub fn any_client() -> Arc<ClientConfig> {
    Arc::new(client(rustls::ALL_VERSIONS))
}

/// A customer's connection.
pub type Connection = BufReader<StreamOwned<ClientConnection, TcpStream>>;

/// Connects a customer; the handshake is performed with the first bytes.
pub fn connect(gate: &Gate, config: &Arc<ClientConfig>) -> Connection {
    connect_as(gate, config, "localhost")
}

/// The same for another server name.
pub fn connect_as(gate: &Gate, config: &Arc<ClientConfig>, name: &'static str) -> Connection {
    connect_to(gate.address(), config, name)
}

/// The same at an address.
pub fn connect_to(
    address: SocketAddr,
    config: &Arc<ClientConfig>,
    name: &'static str,
) -> Connection {
    connect_over(TcpStream::connect(address).unwrap(), config, name)
}

/// The same over a socket.
pub fn connect_over(
    socket: TcpStream,
    config: &Arc<ClientConfig>,
    name: &'static str,
) -> Connection {
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    let name = ServerName::try_from(name).unwrap();
    let session = ClientConnection::new(config.clone(), name).unwrap();
    BufReader::new(StreamOwned::new(session, socket))
}

/// A response as a customer received it.
#[derive(Debug)]
pub struct Response {
    pub code: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Response {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// Sends raw bytes.
pub fn send(connection: &mut BufReader<impl Read + Write>, bytes: &[u8]) {
    connection.get_mut().write_all(bytes).unwrap();
    connection.get_mut().flush().unwrap();
}

/// Reads one response, whose request had the given method.
pub fn receive(connection: &mut impl BufRead, method: &str) -> std::io::Result<Response> {
    let head = receive_head(connection)?;
    let lower = head.to_ascii_lowercase();
    let code: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
    let field = |name: &str| {
        lower.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    };
    let mut body = Vec::new();
    if method == "HEAD" || code == 204 || code == 304 || code < 200 {
    } else if let Some(length) = field("content-length:") {
        body = vec![0; length.parse().unwrap()];
        connection.read_exact(&mut body)?;
    } else if field("transfer-encoding:").is_some() {
        loop {
            let mut size = String::new();
            connection.read_line(&mut size)?;
            let size = usize::from_str_radix(size.trim(), 16)
                .map_err(|_| std::io::Error::from(std::io::ErrorKind::UnexpectedEof))?;
            let mut chunk = vec![0; size + 2];
            connection.read_exact(&mut chunk)?;
            if size == 0 {
                break;
            }
            body.extend(&chunk[..size]);
        }
    } else {
        connection.read_to_end(&mut body)?;
    }
    Ok(Response { code, head, body })
}

/// Reads a response's head.
pub fn receive_head(connection: &mut impl BufRead) -> std::io::Result<String> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if connection.read_line(&mut head)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if head.len() - before == 2 {
            return Ok(head);
        }
    }
}

/// One GET.
pub fn get(connection: &mut BufReader<impl Read + Write>, path: &str) -> std::io::Result<Response> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    connection.get_mut().write_all(request.as_bytes())?;
    connection.get_mut().flush()?;
    receive(connection, "GET")
}

/// The kind of a connection's handshake.
pub fn kind(connection: &Connection) -> rustls::HandshakeKind {
    connection.get_ref().conn.handshake_kind().unwrap()
}

#[derive(Debug)]
struct AnyCertificate(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
