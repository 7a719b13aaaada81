//! Makes persistent connections: TCP, TLS, HTTP of either version.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rustls::AlertDescription;
use socket2::SockRef;
use tokio::io::ReadBuf;
use tokio::net::{TcpSocket, TcpStream};

use super::address;
use super::http::http2::Http2;
use super::tls::config::Tls;
use super::tls::mix::Mix;
use super::tls::secure::{Completed, Secure};
use super::tls::tickets::{OfConnection, Tickets};
use super::wire::Wire;
use crate::client::tls::algorithms::Agreed;
use crate::outcome::{Failure, Handshake, Offered, Refusal, Stage};
use crate::plan::{Close, Http, Sources};

/// Makes connections to one target.
#[derive(Debug)]
pub(crate) struct Connector {
    address: SocketAddr,
    sources: Vec<IpAddr>,
    next_source: Cell<usize>,
    tls: Option<Tls>,
    http: Http,
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
    pub(crate) fn new(
        address: SocketAddr,
        sources: &Sources,
        tls: Option<Tls>,
        http: Http,
        seed: u64,
    ) -> Self {
        let sources = address::sources(sources, address);
        let mix = tls.as_ref().and_then(|tls| tls.mix(seed)).map(RefCell::new);
        Self { address, sources, next_source: Cell::new(0), tls, http, mix }
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
            let connection = self.speak(Wire::Clear(tcp)).await?;
            return Ok((connection, Made { connect, handshake: None }));
        };
        stage.set(Stage::Handshake);
        let (offered, own) = self.offer(tickets);
        on_hello(offered);
        let (stream, Completed { kind, agreed, http2 }) =
            Secure::connect(tls.config(), tls.name.clone(), own, tcp)
                .await
                .map_err(|error| handshake_trouble(&error))?;
        if let (Some(mix), Offered::Ticket | Offered::NoneLeft, Handshake::Full) =
            (&self.mix, offered, kind)
        {
            mix.borrow_mut().owe();
        }
        let shaken = Shaken { offered, kind, agreed, took: connected.elapsed() };
        if self.http == Http::Two && !http2 {
            let reason = "in TLS it did not choose h2, HTTP/2 (ALPN)";
            return Err(Trouble::Failed(Failure::Http, reason.to_owned()));
        }
        let connection = self.speak(Wire::Tls(Box::new(stream))).await?;
        Ok((connection, Made { connect, handshake: Some(shaken) }))
    }

    /// Begins to speak HTTP.
    async fn speak(&self, wire: Wire) -> Result<Connection, Trouble> {
        if self.http == Http::One {
            return Ok(Connection::Http1(wire));
        }
        let trouble = |failure| Trouble::Failed(failure, "HTTP/2 could not begin".to_owned());
        let http2 = Box::pin(Http2::begin(wire)).await.map_err(trouble)?;
        Ok(Connection::Http2(Box::new(http2)))
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
        // `Wire::finish` takes this back for one that ends well.
        SockRef::from(&socket).set_linger(Some(Duration::ZERO))?;
        socket.connect(self.address).await
    }
}

/// An open connection. Dropping it resets it.
#[derive(Debug)]
pub(crate) enum Connection {
    Http1(Wire),
    Http2(Box<Http2>),
}

impl Connection {
    /// Resolves when the peer has closed the connection, or has sent what
    /// nobody asked for. Takes in tickets that come late.
    pub(crate) async fn closed(&mut self) {
        std::future::poll_fn(|cx| {
            let poll = self.poll_closed(cx);
            // A customer thinks, and there are many who do.
            self.rest();
            poll
        })
        .await;
    }

    fn rest(&mut self) {
        if let Self::Http1(wire) = self {
            wire.rest();
        }
    }

    /// Whether the peer has closed it by now.
    pub(crate) fn is_closed(&mut self) -> bool {
        if let Self::Http1(wire) = self
            && wire.is_silent()
        {
            return false;
        }
        let mut cx = Context::from_waker(std::task::Waker::noop());
        self.poll_closed(&mut cx).is_ready()
    }

    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut byte = [0u8; 1];
        match self {
            // Whatever comes while nothing is asked for, the connection is no
            // longer good for a request.
            Self::Http1(wire) => wire.poll_read(cx, &mut ReadBuf::new(&mut byte)).map(|_| ()),
            Self::Http2(http2) => http2.poll_closed(cx),
        }
    }

    /// See [`Wire::is_taken_back`]; over HTTP/2 the check finds out.
    pub(crate) async fn is_taken_back(&mut self, at: tokio::time::Instant) -> Option<String> {
        match self {
            Self::Http1(wire) => wire.is_taken_back(at).await,
            Self::Http2(_) => None,
        }
    }

    /// Whether the server speaks the version of HTTP that was asked for, as far as
    /// that can be told without a request.
    ///
    /// # Errors
    /// What it does instead.
    pub(crate) async fn check(&mut self) -> Result<(), String> {
        match self {
            Self::Http1(_) => Ok(()),
            Self::Http2(http2) => http2.check().await,
        }
    }

    /// Ends it well, see [`Wire::finish`].
    pub(crate) fn finish(self, close: Close) {
        match self {
            Self::Http1(mut wire) => wire.finish(close),
            Self::Http2(http2) => http2.finish(close),
        }
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
