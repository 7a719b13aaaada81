//! One persistent connection: TCP, TLS, and how it ends.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rustls::{AlertDescription, HandshakeKind};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::address;
use super::mix::Mix;
use super::tickets::{OfConnection, Tickets};
use super::tls::Tls;
use crate::algorithms::Agreed;
use crate::outcome::{Failure, Handshake, Offered, Refusal, Stage};
use crate::plan::{Close, Sources};

/// Makes connections to one target.
#[derive(Debug)]
pub(crate) struct Connector {
    address: SocketAddr,
    sources: Vec<IpAddr>,
    next_source: Cell<usize>,
    tls: Option<Tls>,
    mix: Option<RefCell<Mix>>,
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Turned away.
    Refused(Refusal),
    /// Anything else, with what the system or rustls says.
    Failed(Failure, String),
}

/// What making a connection took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub(crate) connect: Duration,
    /// None in clear.
    pub(crate) handshake: Option<Shaken>,
}

/// A complete TLS handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shaken {
    pub(crate) offered: Offered,
    pub(crate) kind: Handshake,
    pub(crate) agreed: Agreed,
    pub(crate) took: Duration,
}

impl Connector {
    /// `seed` decides in which order handshakes are full and resumed, where a
    /// share of them is to be full.
    pub(crate) fn new(address: SocketAddr, sources: &Sources, tls: Option<Tls>, seed: u64) -> Self {
        let sources = address::sources(sources, address);
        let mix = tls.as_ref().and_then(|tls| tls.mix(seed)).map(RefCell::new);
        Self { address, sources, next_source: Cell::new(0), tls, mix }
    }

    /// The tickets that a new customer brings.
    pub(crate) fn first_tickets(&self) -> Arc<Tickets> {
        self.tls.as_ref().map_or_else(|| Arc::new(Tickets::own()), Tls::first_tickets)
    }

    /// What a handshake goes with: a ticket, if there is one and the share of
    /// full ones, where it is set, does not want this one full.
    fn offer(&self, tickets: &Arc<Tickets>) -> (Offered, OfConnection) {
        let full = self.mix.as_ref().is_some_and(|mix| mix.borrow_mut().is_full());
        let own = OfConnection::new(tickets, !full);
        let offered = match (own.has_ticket(), full) {
            (true, _) => Offered::Ticket,
            (false, false) if self.mix.is_some() => Offered::NoneLeft,
            (false, _) => Offered::Nothing,
        };
        (offered, own)
    }

    /// Connects; `stage` follows how far it has come, `on_hello` is called
    /// when a handshake begins and says what it goes with. Dropping the future
    /// resets the connection.
    pub(crate) async fn connect(
        &self,
        tickets: &Arc<Tickets>,
        stage: &Cell<Stage>,
        on_hello: impl FnOnce(Offered),
    ) -> Result<(Connection, Made), Trouble> {
        stage.set(Stage::Connect);
        let begun = Instant::now();
        let tcp = self.tcp().await.map_err(|error| connect_trouble(&error))?;
        let connected = Instant::now();
        let connect = connected - begun;
        let Some(tls) = &self.tls else {
            return Ok((Connection(Io::Clear(tcp)), Made { connect, handshake: None }));
        };
        stage.set(Stage::Handshake);
        let (offered, own) = self.offer(tickets);
        on_hello(offered);
        let connector = TlsConnector::from(tls.of_connection(own));
        let stream = connector
            .connect(tls.name.clone(), tcp)
            .await
            .map_err(|error| handshake_trouble(&error))?;
        let kind = match stream.get_ref().1.handshake_kind() {
            Some(HandshakeKind::Resumed) => Handshake::Resumed,
            _ => Handshake::Full,
        };
        if let (Some(mix), Offered::Ticket | Offered::NoneLeft, Handshake::Full) =
            (&self.mix, offered, kind)
        {
            mix.borrow_mut().owe();
        }
        let agreed = Agreed::of(stream.get_ref().1);
        let shaken = Shaken { offered, kind, agreed, took: connected.elapsed() };
        Ok((Connection(Io::Tls(Box::new(stream))), Made { connect, handshake: Some(shaken) }))
    }

    async fn tcp(&self) -> io::Result<TcpStream> {
        let socket =
            if self.address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        if !self.sources.is_empty() {
            let index = self.next_source.get();
            self.next_source.set((index + 1) % self.sources.len());
            // The port is chosen when connecting, so that one port can serve
            // connections to several targets.
            port_at_connect(&socket);
            socket.bind(SocketAddr::new(self.sources[index], 0))?;
        }
        socket.set_nodelay(true)?;
        // A connection that is dropped is reset, whatever it was doing;
        // `Connection::finish` takes this back for one that ends well.
        SockRef::from(&socket).set_linger(Some(Duration::ZERO))?;
        socket.connect(self.address).await
    }
}

/// An open connection. Dropping it resets it.
#[derive(Debug)]
pub(crate) struct Connection(Io);

#[derive(Debug)]
enum Io {
    Clear(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Connection {
    /// Resolves when the peer has closed the connection, or has sent what
    /// nobody asked for. Takes in tickets that come late.
    pub(crate) async fn closed(&mut self) {
        std::future::poll_fn(|cx| self.poll_closed(cx)).await;
    }

    /// Whether the server's first word after the handshake is that it ends it, and
    /// why: with TLS 1.3 only then can it judge the customer's certificate. Waits
    /// until `at` for any word.
    pub(crate) async fn is_taken_back(&mut self, at: tokio::time::Instant) -> Option<String> {
        while tokio::time::Instant::now() < at && !self.has_ticket() {
            let mut byte = [0u8; 1];
            let mut space = ReadBuf::new(&mut byte);
            let word = std::future::poll_fn(|cx| self.poll_read(cx, &mut space));
            if let Ok(word) = tokio::time::timeout(Duration::from_millis(5), word).await {
                return word.err().map(|error| error.to_string());
            }
        }
        None
    }

    /// Whether the server gave a ticket of TLS 1.3, as one does who is content.
    fn has_ticket(&self) -> bool {
        match &self.0 {
            Io::Clear(_) => false,
            Io::Tls(io) => io.get_ref().1.tls13_tickets_received() > 0,
        }
    }

    /// Whether the peer has closed it by now.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        self.poll_closed(&mut cx).is_ready()
    }

    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut byte = [0u8; 1];
        // Whatever comes while nothing is asked for, the connection is no
        // longer good for a request.
        self.poll_read(cx, &mut ReadBuf::new(&mut byte)).map(|_| ())
    }

    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Io::Clear(io) => Pin::new(io).poll_read(cx, buf),
            Io::Tls(io) => Pin::new(io).poll_read(cx, buf),
        }
    }

    /// Writes all of it.
    pub(crate) async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = std::future::poll_fn(|cx| match &mut self.0 {
                Io::Clear(io) => Pin::new(io).poll_write(cx, bytes),
                Io::Tls(io) => Pin::new(io).poll_write(cx, bytes),
            })
            .await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = &bytes[written..];
        }
        match &mut self.0 {
            Io::Clear(_) => Ok(()),
            Io::Tls(io) => std::future::poll_fn(|cx| Pin::new(&mut *io).poll_flush(cx)).await,
        }
    }

    /// Ends it well: close_notify, and then FIN or RST as `close` says. Never
    /// waits: if the socket's buffer is full, the peer is not reading anyway.
    pub(crate) fn finish(mut self, close: Close) {
        if close == Close::Reset {
            if let Io::Tls(io) = &mut self.0 {
                let (tcp, tls) = io.get_mut();
                tls.send_close_notify();
                let _ = tls.write_tls(&mut Now(tcp));
            }
            return;
        }
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let tcp = match &self.0 {
            Io::Clear(tcp) => tcp,
            Io::Tls(tls) => tls.get_ref().0,
        };
        let _ = SockRef::from(tcp).set_linger(None);
        let _ = match &mut self.0 {
            Io::Clear(io) => Pin::new(io).poll_shutdown(&mut cx),
            Io::Tls(io) => Pin::new(io).poll_shutdown(&mut cx),
        };
    }
}

/// Writes what fits now.
struct Now<'a>(&'a TcpStream);

impl io::Write for Now<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Asks for `IP_BIND_ADDRESS_NO_PORT`; where it is not to be had, ports are
/// merely scarcer.
fn port_at_connect(socket: &TcpSocket) {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open, and the value points to a c_int of the
    // length given.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        );
    }
}

fn connect_trouble(error: &io::Error) -> Trouble {
    let failure = match error.raw_os_error() {
        Some(libc::ECONNRESET) => return Trouble::Refused(Refusal::Reset),
        Some(libc::ECONNREFUSED) => Failure::ConnectRefused,
        Some(libc::EHOSTUNREACH | libc::ENETUNREACH | libc::ENETDOWN | libc::EHOSTDOWN) => {
            Failure::Unreachable
        }
        Some(libc::ETIMEDOUT) => Failure::ConnectTimeout,
        Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE) => Failure::NoPorts,
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS) => Failure::NoResources,
        _ => Failure::Other,
    };
    Trouble::Failed(failure, error.to_string())
}

fn handshake_trouble(error: &io::Error) -> Trouble {
    if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return match tls {
            rustls::Error::AlertReceived(alert) if !about_protocol(*alert) => {
                Trouble::Refused(Refusal::Alert)
            }
            other => Trouble::Failed(Failure::Tls, other.to_string()),
        };
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Trouble::Refused(Refusal::Closed),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            Trouble::Refused(Refusal::Reset)
        }
        _ => connect_trouble(error),
    }
}

/// Alerts that say that the two do not understand each other, rather than
/// that the customer is not wanted now.
fn about_protocol(alert: AlertDescription) -> bool {
    use AlertDescription as A;
    matches!(
        alert,
        A::ProtocolVersion
            | A::UnexpectedMessage
            | A::BadRecordMac
            | A::RecordOverflow
            | A::IllegalParameter
            | A::DecodeError
            | A::DecryptError
            | A::HandshakeFailure
            | A::InsufficientSecurity
            | A::UnsupportedExtension
            | A::MissingExtension
            | A::UnrecognisedName
            | A::NoApplicationProtocol
            | A::CertificateRequired
            | A::BadCertificate
            | A::UnsupportedCertificate
            | A::CertificateRevoked
            | A::CertificateExpired
            | A::CertificateUnknown
            | A::UnknownCA
    )
}
