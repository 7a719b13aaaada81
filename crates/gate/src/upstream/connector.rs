//! Connections to the service behind the gate.

use crate::config::{Config, Origin, Upstream};
use crate::error::Error;
use crate::framing::{Fault, Limits};
use crate::http::request_body::RequestBody;
use crate::socket;
use crate::upstream::error::ConnectError;
use crate::upstream::responses::Responses;
use crate::upstream::unacked::UnackedMeter;
use crate::upstream::watched::WatchedSocket;
use bytes::Bytes;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Most addresses of a name that are servers of their own.
const ADDRESSES: usize = 100;

/// Opens connections to one server; each core has a copy.
#[derive(Clone)]
pub struct Connector {
    to: Target,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    timeout: Duration,
    builder: Builder,
    limits: Limits,
}

/// What is connected to.
#[derive(Clone)]
enum Target {
    /// The addresses of a name, in turn.
    Name(String, u16),
    /// One address.
    Address(SocketAddr),
    /// A unix socket.
    Socket(PathBuf),
}

impl Target {
    fn of(origin: &Origin) -> Self {
        match (&origin.socket, origin.host.parse::<IpAddr>()) {
            (Some(path), _) => Self::Socket(path.clone()),
            (None, Ok(address)) => Self::Address(SocketAddr::new(address, origin.port)),
            (None, Err(_)) => Self::Name(origin.host.clone(), origin.port),
        }
    }
}

impl Connector {
    /// The connectors for the URLs of an upstream of this configuration, in their order.
    ///
    /// # Errors
    /// An https upstream without any root to trust it by, or with a host that
    /// no certificate can be for.
    pub fn all(
        config: &Config,
        upstream: &Upstream,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Vec<Self>, Error> {
        let tls = match upstream.uses_tls() {
            true => Some(TlsConnector::from(client_config(config, upstream, provider)?)),
            false => None,
        };
        let mut builder = Builder::new();
        let head_bytes = config.limits.head_max_bytes.max(64 * 1024);
        let limits = Limits { head_bytes, fields: config.limits.head_max_fields };
        builder.max_buf_size(head_bytes);
        builder.preserve_header_case(true);
        if config.limits.head_max_fields != 100 {
            builder.max_headers(config.limits.head_max_fields);
        }
        let timeout = upstream.connect_timeout;
        let connector = |origin: &Origin| -> Result<Self, Error> {
            let tls = match tls.as_ref().filter(|_| origin.tls) {
                Some(tls) => {
                    let name = ServerName::try_from(origin.host.clone())
                        .map_err(|error| Error::Roots(format!("{}: {error}", origin.host)))?;
                    Some((tls.clone(), name))
                }
                None => None,
            };
            let (to, builder) = (Target::of(origin), builder.clone());
            Ok(Self { to, tls, timeout, builder, limits })
        };
        upstream.url.iter().map(connector).collect()
    }

    /// The same to one of the addresses of its host.
    pub fn at(&self, address: SocketAddr) -> Self {
        Self { to: Target::Address(address), ..self.clone() }
    }

    /// The addresses of its host's name now; none where it has an address already.
    ///
    /// # Errors
    /// It does not resolve within the connect timeout.
    pub async fn resolve(&self) -> Result<Option<Vec<SocketAddr>>, ConnectError> {
        let Target::Name(host, port) = &self.to else { return Ok(None) };
        let failed = |source| ConnectError::Resolve { host: host.clone(), source };
        let found = tokio::time::timeout(self.timeout, tokio::net::lookup_host((&**host, *port)));
        let found = found.await.map_err(|_| failed(io::ErrorKind::TimedOut.into()))?;
        let mut found: Vec<_> = found.map_err(failed)?.collect();
        found.sort_unstable();
        found.dedup();
        found.truncate(ADDRESSES);
        match found.is_empty() {
            true => Err(failed(io::Error::other("no address"))),
            false => Ok(Some(found)),
        }
    }

    /// Opens a connection, within the connect timeout.
    ///
    /// # Errors
    /// It was refused, broke, or was not open in time.
    pub async fn connect(&self) -> Result<UpstreamConnection, ConnectError> {
        let socket = self.open_in_time().await?;
        let (responses, unacked) = (Responses::new(self.limits), Rc::<UnackedMeter>::default());
        let socket = WatchedSocket::new(socket, responses.clone(), unacked.clone());
        let socket = TokioIo::new(socket);
        let (sender, connection) =
            self.builder.handshake(socket).await.map_err(ConnectError::Http)?;
        Ok(UpstreamConnection { sender, connection, unacked, responses, ended: false })
    }

    /// Whether the upstream can be reached: opens a connection, TLS included, and closes it.
    ///
    /// # Errors
    /// As of [`Connector::connect`].
    pub async fn reach(&self) -> Result<(), ConnectError> {
        self.open_in_time().await.map(drop)
    }

    async fn open_in_time(&self) -> Result<UpstreamSocket, ConnectError> {
        let mut step = Step::Begin;
        match tokio::time::timeout(self.timeout, self.open(&mut step)).await {
            Ok(opened) => opened,
            Err(_) => {
                let step = match (step, &self.to) {
                    (Step::Connect(address), _) => format!("connecting to {address}"),
                    (Step::Tls(address), _) => format!("TLS with {address}"),
                    (Step::Begin, Target::Name(host, _)) => format!("resolving {host}"),
                    (Step::Begin, Target::Socket(path)) => {
                        format!("connecting to {}", path.display())
                    }
                    (Step::Begin, Target::Address(address)) => format!("connecting to {address}"),
                };
                Err(ConnectError::Late { step, timeout: self.timeout })
            }
        }
    }

    async fn open(&self, step: &mut Step) -> Result<UpstreamSocket, ConnectError> {
        match &self.to {
            Target::Address(address) => self.open_at(*address, step).await,
            Target::Socket(path) => {
                let refused =
                    |source| ConnectError::Connect { address: path.display().to_string(), source };
                UnixStream::connect(path).await.map(UpstreamSocket::Local).map_err(refused)
            }
            Target::Name(host, port) => {
                let resolve = |source| ConnectError::Resolve { host: host.clone(), source };
                let found = tokio::net::lookup_host((host.as_str(), *port)).await;
                let mut failed = resolve(io::Error::other("no address"));
                for address in found.map_err(resolve)? {
                    match self.open_at(address, step).await {
                        Err(error @ ConnectError::Connect { .. }) => failed = error,
                        opened => return opened,
                    }
                }
                Err(failed)
            }
        }
    }

    async fn open_at(
        &self,
        address: SocketAddr,
        step: &mut Step,
    ) -> Result<UpstreamSocket, ConnectError> {
        *step = Step::Connect(address);
        let refused = |source| ConnectError::Connect { address: address.to_string(), source };
        let socket = TcpStream::connect(address).await.map_err(refused)?;
        // Failure only delays.
        let _ = socket.set_nodelay(true);
        let Some((connector, name)) = &self.tls else { return Ok(UpstreamSocket::Plain(socket)) };
        *step = Step::Tls(address);
        match connector.connect(name.clone(), socket).await {
            Ok(socket) => Ok(UpstreamSocket::Tls(Box::new(socket))),
            Err(source) => Err(ConnectError::Tls { address: address.to_string(), source }),
        }
    }
}

/// How far opening a connection has come.
#[derive(Clone, Copy)]
enum Step {
    Begin,
    Connect(SocketAddr),
    Tls(SocketAddr),
}

/// An open connection to the upstream. The task that uses it drives it: so a response
/// wakes the customer's task directly, and no other.
pub struct UpstreamConnection {
    /// Accepts requests.
    pub sender: SendRequest<RequestBody>,
    connection: Connection<TokioIo<WatchedSocket<UpstreamSocket>>, RequestBody>,
    /// Tells what the upstream has not acknowledged.
    pub unacked: Rc<UnackedMeter>,
    responses: Responses,
    ended: bool,
}

impl UpstreamConnection {
    /// Moves bytes. Does nothing once the connection has ended.
    pub fn drive(&mut self, cx: &mut Context<'_>) {
        if !self.ended && Pin::new(&mut self.connection).poll(cx).is_ready() {
            self.ended = true;
        }
    }

    /// Whether it accepts a request now: checks for its end first.
    pub fn is_ready(&mut self, cx: &mut Context<'_>) -> bool {
        self.drive(cx);
        !self.ended && matches!(self.sender.poll_ready(cx), Poll::Ready(Ok(())))
    }

    /// A request is about to be sent: a HEAD, or another.
    pub fn expect_response(&self, to_head: bool) {
        self.responses.expect(to_head);
    }

    /// Where the upstream's bytes broke the grammar of HTTP; once.
    pub fn take_fault(&self) -> Option<Fault> {
        self.responses.take_fault()
    }

    /// Whether nothing has arrived of the response to the last request.
    pub fn awaits_response(&self) -> bool {
        self.responses.is_between()
    }

    /// The socket, and what was read behind the last head: the upstream has agreed to another
    /// protocol, and the HTTP library has let go of it.
    pub fn into_socket(self) -> (UpstreamSocket, Bytes) {
        let parts = self.connection.into_parts();
        (parts.io.into_inner().into_socket(), parts.read_buf)
    }

    /// Whether the HTTP library has let go of it.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether it may serve another request: it is open, and the last response was read to
    /// its end.
    pub fn is_reusable(&self) -> bool {
        !self.ended && self.responses.is_between()
    }
}

fn client_config(
    config: &Config,
    upstream: &Upstream,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<ClientConfig>, Error> {
    let builder = ClientConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions()?;
    if upstream.insecure {
        let verifier = Arc::new(AnyCertificate(provider.clone()));
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        return Ok(Arc::new(builder.with_no_client_auth()));
    }
    let mut roots = RootCertStore::empty();
    match &config.files.upstream_roots {
        Some(given) => roots.add_parsable_certificates(given.iter().cloned()),
        None => {
            let native = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(native.certs)
        }
    };
    if roots.is_empty() {
        return Err(Error::Roots("install ca-certificates, or set `upstream.ca`".into()));
    }
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

/// Trusts any certificate, as configured; signatures are still verified.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// A socket to the upstream, with or without TLS, or a unix socket.
pub enum UpstreamSocket {
    /// Without TLS.
    Plain(TcpStream),
    /// A unix socket.
    Local(UnixStream),
    /// With TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

/// Calls a method of tokio's traits on any of the sockets.
macro_rules! on_socket {
    ($self:ident, $socket:ident => $call:expr) => {
        match $self.get_mut() {
            Self::Plain($socket) => {
                let $socket = Pin::new($socket);
                $call
            }
            Self::Local($socket) => {
                let $socket = Pin::new($socket);
                $call
            }
            Self::Tls($socket) => {
                let $socket = Pin::new(&mut **$socket);
                $call
            }
        }
    };
}

impl AsFd for UpstreamSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Plain(socket) => socket.as_fd(),
            Self::Local(socket) => socket.as_fd(),
            Self::Tls(socket) => socket.get_ref().0.as_fd(),
        }
    }
}

impl AsyncRead for UpstreamSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on_socket!(self, socket => socket.poll_read(cx, buf))
    }
}

impl AsyncWrite for UpstreamSocket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        on_socket!(self, socket => socket.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => socket::poll_write(socket, cx, bufs),
            Self::Local(socket) => socket::poll_write(socket, cx, bufs),
            Self::Tls(socket) => Pin::new(&mut **socket).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_socket!(self, socket => socket.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_socket!(self, socket => socket.poll_shutdown(cx))
    }
}
