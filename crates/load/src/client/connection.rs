//! Opens connections: TCP, TLS, HTTP/1.1 or HTTP/2.

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rustls::AlertDescription;
use tokio::io::ReadBuf;

use super::addresses::Addresses;
use super::connections::{Close, Http};
use super::http::exchange::{Answer, Exchange, ExchangeError};
use super::http::http2::Http2;
use super::tls::algorithms::Agreed;
use super::tls::config::ClientTls;
use super::tls::schedule::HandshakeSchedule;
use super::tls::stream::{ClientTlsStream, Completed};
use super::tls::tickets::{ConnectionTickets, Tickets};
use super::transport::Transport;
use crate::outcome::{Failure, Handshake, Offered, Refusal, Stage};

/// Makes connections to one target.
#[derive(Debug)]
pub(crate) struct Connector {
    addresses: Addresses,
    tls: Option<ClientTls>,
    http: Http,
    mix: Option<RefCell<HandshakeSchedule>>,
}

/// Why a connection could not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectError {
    /// Refused.
    Refused(Refusal),
    /// Another failure, with the error of the system or of rustls.
    Failed(Failure, String),
}

/// A step of opening a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Progress {
    /// The address of this index did not accept; the next is tried.
    PassedOver { address: u8 },
    /// A TLS handshake begins.
    Hello { offered: Offered },
}

/// The address and the durations of opening a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectTimes {
    /// Index of the address.
    pub(crate) address: u8,
    pub(crate) connect: Duration,
    /// `None` without TLS.
    pub(crate) handshake: Option<CompletedHandshake>,
}

/// A completed TLS handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompletedHandshake {
    pub(crate) offered: Offered,
    pub(crate) kind: Handshake,
    pub(crate) agreed: Agreed,
    pub(crate) took: Duration,
}

impl Connector {
    /// `seed` determines the order of full and resumed handshakes, if a share of full ones is
    /// set.
    pub(crate) fn new(addresses: Addresses, tls: Option<ClientTls>, http: Http, seed: u64) -> Self {
        let mix = tls.as_ref().and_then(|tls| tls.schedule(seed)).map(RefCell::new);
        Self { addresses, tls, http, mix }
    }

    /// Whether connections speak HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        self.http == Http::Two
    }

    /// The tickets of a new customer.
    pub(crate) fn first_tickets(&self) -> Arc<Tickets> {
        self.tls.as_ref().map_or_else(|| Arc::new(Tickets::own()), ClientTls::first_tickets)
    }

    /// What the next handshake offers: a ticket, if there is one and the schedule does not
    /// require a full handshake.
    fn offer(&self, tickets: &Arc<Tickets>) -> (Offered, ConnectionTickets) {
        let full = self.mix.as_ref().is_some_and(|mix| mix.borrow_mut().is_full());
        let own = ConnectionTickets::new(tickets, !full);
        let offered = match (own.has_ticket(), full) {
            (true, _) => Offered::Ticket,
            (false, false) if self.mix.is_some() => Offered::NoneLeft,
            (false, _) => Offered::Nothing,
        };
        (offered, own)
    }

    /// Connects; `stage` follows how far it has come, `progress` is called for each step.
    /// Dropping the future resets the connection.
    pub(crate) async fn connect(
        &self,
        tickets: &Arc<Tickets>,
        stage: &Cell<Stage>,
        progress: impl Fn(Progress),
    ) -> Result<(Connection, ConnectTimes), ConnectError> {
        stage.set(Stage::Connect);
        let begun = Instant::now();
        let passed = |address| progress(Progress::PassedOver { address });
        let connected = self.addresses.connect(passed).await;
        let (tcp, address) = connected.map_err(|error| connect_trouble(&error))?;
        let connected = Instant::now();
        let connect = connected - begun;
        let Some(tls) = &self.tls else {
            let connection = self.speak(Transport::Clear(tcp)).await?;
            return Ok((connection, ConnectTimes { address, connect, handshake: None }));
        };
        stage.set(Stage::Handshake);
        let (offered, own) = self.offer(tickets);
        progress(Progress::Hello { offered });
        let (stream, Completed { kind, agreed, http2 }) =
            ClientTlsStream::connect(tls.config(), tls.name.clone(), own, tcp)
                .await
                .map_err(|error| handshake_trouble(&error))?;
        if let (Some(mix), Offered::Ticket | Offered::NoneLeft, Handshake::Full) =
            (&self.mix, offered, kind)
        {
            mix.borrow_mut().owe();
        }
        let shaken = CompletedHandshake { offered, kind, agreed, took: connected.elapsed() };
        if self.http == Http::Two && !http2 {
            let reason = "in TLS it did not choose h2, HTTP/2 (ALPN)";
            return Err(ConnectError::Failed(Failure::Http, reason.to_owned()));
        }
        let connection = self.speak(Transport::Tls(Box::new(stream))).await?;
        Ok((connection, ConnectTimes { address, connect, handshake: Some(shaken) }))
    }

    /// Begins HTTP on the transport.
    async fn speak(&self, wire: Transport) -> Result<Connection, ConnectError> {
        if self.http == Http::One {
            return Ok(Connection::Http1(wire));
        }
        let trouble = |failure| ConnectError::Failed(failure, "HTTP/2 could not begin".to_owned());
        let http2 = Box::pin(Http2::begin(wire)).await.map_err(trouble)?;
        Ok(Connection::Http2(http2))
    }
}

/// An open connection. Dropping it resets it.
#[derive(Debug)]
pub(crate) enum Connection {
    Http1(Transport),
    Http2(Http2),
}

impl Connection {
    /// Sends a request and reads its response.
    ///
    /// # Errors
    /// There is no complete response.
    pub(crate) async fn exchange(
        &mut self,
        exchange: Exchange<'_>,
    ) -> Result<Answer, ExchangeError> {
        match self {
            Self::Http1(transport) => exchange.over_http1(transport).await,
            // Boxed, so that HTTP/1.1 needs no room for it.
            Self::Http2(http2) => Box::pin(http2.run(exchange)).await,
        }
    }

    /// Resolves when the peer has closed the connection or has sent unexpected bytes. Accepts
    /// late tickets.
    pub(crate) async fn closed(&mut self) {
        std::future::poll_fn(|cx| self.poll_idle(cx)).await;
    }

    /// Ready when [`Connection::closed`] resolves.
    pub(crate) fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let poll = self.poll_closed(cx);
        // Most customers are thinking: an idle connection holds little memory.
        self.release_memory();
        poll
    }

    /// The same connection for another request at the same time, which HTTP/1.1 does not have.
    pub(crate) fn share(&self) -> Option<Self> {
        match self {
            Self::Http1(_) => None,
            Self::Http2(http2) => Some(Self::Http2(http2.clone())),
        }
    }

    fn release_memory(&mut self) {
        if let Self::Http1(wire) = self {
            wire.release_memory();
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
            // Bytes without a pending request make the connection unusable.
            Self::Http1(wire) => wire.poll_read(cx, &mut ReadBuf::new(&mut byte)).map(|_| ()),
            Self::Http2(http2) => http2.poll_closed(cx),
        }
    }

    /// See [`Transport::rejection`]; over HTTP/2 the check finds out.
    pub(crate) async fn rejection(&mut self, at: tokio::time::Instant) -> Option<String> {
        match self {
            Self::Http1(wire) => wire.rejection(at).await,
            Self::Http2(_) => None,
        }
    }

    /// Checks the HTTP version of the server, as far as possible without a request.
    ///
    /// # Errors
    /// What it does instead.
    pub(crate) async fn check(&mut self) -> Result<(), String> {
        match self {
            Self::Http1(_) => Ok(()),
            Self::Http2(http2) => http2.check().await,
        }
    }

    /// Closes it, see [`Transport::finish`].
    pub(crate) fn finish(self, close: Close) {
        match self {
            Self::Http1(mut wire) => wire.finish(close),
            Self::Http2(http2) => http2.finish(close),
        }
    }
}

fn connect_trouble(error: &io::Error) -> ConnectError {
    let failure = match error.raw_os_error() {
        Some(libc::ECONNRESET) => return ConnectError::Refused(Refusal::Reset),
        Some(libc::ECONNREFUSED) => Failure::ConnectRefused,
        Some(libc::EHOSTUNREACH | libc::ENETUNREACH | libc::ENETDOWN | libc::EHOSTDOWN) => {
            Failure::Unreachable
        }
        Some(libc::ETIMEDOUT) => Failure::ConnectTimeout,
        Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE) => Failure::NoPorts,
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS) => Failure::NoResources,
        _ => Failure::Other,
    };
    ConnectError::Failed(failure, error.to_string())
}

fn handshake_trouble(error: &io::Error) -> ConnectError {
    if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return match tls {
            rustls::Error::AlertReceived(alert) if !about_protocol(*alert) => {
                ConnectError::Refused(Refusal::Alert)
            }
            other => ConnectError::Failed(Failure::Tls, other.to_string()),
        };
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => ConnectError::Refused(Refusal::Closed),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            ConnectError::Refused(Refusal::Reset)
        }
        _ => connect_trouble(error),
    }
}

/// Alerts about protocol errors, as opposed to a refusal of the connection.
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
