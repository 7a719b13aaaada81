//! TLS on a TCP connection. It holds a buffer, and keys ready for use, only while
//! bytes are on their way: most customers think, and what each of them holds
//! meanwhile decides how many there can be.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, ClientConfig, CommonState, Error, HandshakeKind, ProtocolVersion};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::tickets::ConnectionTickets;
use crate::client::tls::algorithms::Agreed;
use crate::outcome::Handshake;
use by_rustls::ByRustls;
use flow::{BUFFER, Flow, Next};
use record::MOST_CONTENT;
use traffic::Traffic;

mod by_rustls;
mod flow;
mod messages;
mod record;
mod traffic;

/// Least space to read into.
const SPACE: usize = 4 * 1024;
/// Most bytes kept of what has come: the longest message of a handshake that
/// rustls takes, and a record.
const MOST: usize = 3 * BUFFER;

/// A connection over TLS. Dropping it closes the socket without a goodbye.
pub(crate) struct ClientTlsStream {
    tcp: TcpStream,
    tls: Phase,
    tickets: ConnectionTickets,
    flow: Flow,
}

/// Which implementation encrypts.
#[expect(clippy::large_enum_variant, reason = "the common one is large, and is in a box already")]
enum Phase {
    /// Boxed, as it is gone after a handshake of TLS 1.3.
    ByRustls(Box<ByRustls>),
    Traffic(Traffic),
    /// None: the connection has failed.
    Failed,
}

/// What a handshake has led to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed {
    pub(crate) kind: Handshake,
    pub(crate) agreed: Agreed,
    /// The server chose HTTP/2.
    pub(crate) http2: bool,
}

impl Completed {
    fn of(state: &CommonState) -> Self {
        let kind = match state.handshake_kind() {
            Some(HandshakeKind::Resumed) => Handshake::Resumed,
            _ => Handshake::Full,
        };
        let http2 = state.alpn_protocol() == Some(b"h2");
        Self { kind, agreed: Agreed::of(state), http2 }
    }
}

impl ClientTlsStream {
    /// Makes the handshake. `config` allows to take secrets out.
    ///
    /// # Errors
    /// Of kind `UnexpectedEof` if the peer closes the connection, of kind
    /// `InvalidData` that contains a [`rustls::Error`] if TLS fails.
    pub(crate) async fn connect(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        mut tickets: ConnectionTickets,
        tcp: TcpStream,
    ) -> io::Result<(Self, Completed)> {
        let made = ByRustls::new(config, name, &mut tickets).map_err(invalid)?;
        let tls = Phase::ByRustls(Box::new(made));
        let mut secure = Self { tcp, tls, tickets, flow: Flow::default() };
        std::future::poll_fn(|cx| secure.poll_handshake(cx)).await?;
        let completed = secure.take_over().map_err(invalid)?;
        Ok((secure, completed))
    }

    fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.advance(None)? {
                Next::Send | Next::Plain | Next::Ticket(_) => {}
                Next::Traffic => return self.poll_flush(cx),
                Next::Ended => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                Next::More => {
                    ready!(self.poll_flush(cx))?;
                    if ready!(self.poll_fill(cx))? == 0 {
                        return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                    }
                }
            }
        }
    }

    /// Takes over from rustls after a handshake of TLS 1.3, unless a part of what it
    /// has begun to read is still there.
    fn take_over(&mut self) -> Result<Completed, Error> {
        let Phase::ByRustls(made) = std::mem::replace(&mut self.tls, Phase::Failed) else {
            return Err(Error::HandshakeNotComplete);
        };
        let completed = Completed::of(made.state());
        let is_13 = made.state().protocol_version() == Some(ProtocolVersion::TLSv1_3);
        self.tls = if is_13 && self.flow.incoming.is_empty() {
            Phase::Traffic(Traffic::new(made.into_inner())?)
        } else {
            Phase::ByRustls(made)
        };
        Ok(completed)
    }

    /// Waits for the first ticket of TLS 1.3, and gives it as the server sent it,
    /// and what makes it a ticket.
    ///
    /// # Errors
    /// None comes, or TLS fails.
    pub(crate) async fn into_ticket(
        mut self,
    ) -> io::Result<(KernelConnection<ClientConnectionData>, Vec<u8>)> {
        loop {
            let Phase::Traffic(traffic) = &mut self.tls else {
                return Err(io::Error::other("the server sent other things before a ticket"));
            };
            match traffic.read(&mut self.flow, None).map_err(invalid)? {
                Next::Ticket(ticket) => {
                    let Phase::Traffic(traffic) = self.tls else { unreachable!("it is that") };
                    return Ok((traffic.into_connection(), ticket));
                }
                Next::More => {
                    let come = std::future::poll_fn(|cx| self.poll_fill(cx)).await?;
                    if come == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Next::Ended => return Err(io::ErrorKind::UnexpectedEof.into()),
                // No request is pending.
                Next::Plain | Next::Send | Next::Traffic => self.flow.plain.clear(),
            }
        }
    }

    /// Tickets of TLS 1.3 that have come so far.
    pub(crate) fn tickets_received(&self) -> u32 {
        match &self.tls {
            Phase::ByRustls(tls) => tls.tickets_received(),
            Phase::Traffic(traffic) => traffic.tickets_received(),
            Phase::Failed => 0,
        }
    }

    /// The socket below.
    pub(crate) fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    /// Whether it holds something that was not read, or has ended.
    pub(crate) fn holds(&self) -> bool {
        let Flow { incoming, plain, ended, .. } = &self.flow;
        !incoming.is_empty() || !plain.is_empty() || *ended || matches!(self.tls, Phase::Failed)
    }

    /// Holds as little as can be, since nothing is to do for some time.
    pub(crate) fn release_memory(&mut self) {
        if let Phase::Traffic(traffic) = &mut self.tls {
            traffic.release_memory();
        }
    }

    /// See [`AsyncRead::poll_read`]. An end without a goodbye is an error of kind
    /// `UnexpectedEof`.
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        loop {
            if self.flow.plain.move_to(buf) || self.flow.ended || buf.filled().len() > before {
                return Poll::Ready(Ok(()));
            }
            if !self.flow.incoming.is_empty() {
                match self.advance(Some(buf))? {
                    Next::Plain | Next::Ended | Next::Ticket(_) => continue,
                    Next::Send => {
                        // An answer of TLS's own, as to an update of keys. If it does not
                        // go out now, it does with what is sent next.
                        let _ = self.poll_flush(cx)?;
                        continue;
                    }
                    Next::More | Next::Traffic => {}
                }
            } else if let Phase::Failed = self.tls {
                return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
            }
            if ready!(self.poll_fill(cx))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }

    /// See [`AsyncWrite::poll_write`]: what is taken is encrypted, and sent as far
    /// as the socket takes it.
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_flush(cx))?;
        let bytes = &bytes[..bytes.len().min(MOST_CONTENT)];
        let encrypted = match &mut self.tls {
            Phase::ByRustls(tls) => tls.encrypt(bytes, &mut self.flow, &mut self.tickets),
            Phase::Traffic(traffic) => traffic.encrypt(bytes, &mut self.flow),
            Phase::Failed => Err(Error::HandshakeNotComplete),
        };
        encrypted.map_err(|error| self.failed(error))?;
        match self.poll_flush(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            // The rest goes out when it is flushed.
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(bytes.len())),
        }
    }

    /// Sends all that is encrypted.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.flow.outgoing.is_empty() {
            let outgoing = self.flow.outgoing.bytes();
            let sent = ready!(Pin::new(&mut self.tcp).poll_write(cx, outgoing))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.flow.outgoing.discard(sent);
        }
        Poll::Ready(Ok(()))
    }

    /// Says goodbye, if that can be sent at once.
    pub(crate) fn send_close_notify(&mut self) {
        let said = match &mut self.tls {
            Phase::ByRustls(tls) => tls.close_notify(&mut self.flow, &mut self.tickets),
            Phase::Traffic(traffic) => traffic.alert(AlertDescription::CloseNotify, &mut self.flow),
            Phase::Failed => return,
        };
        if said.is_ok() {
            self.send_now();
        }
    }

    fn send_now(&mut self) {
        while !self.flow.outgoing.is_empty()
            && let Ok(sent @ 1..) = self.tcp.try_write(self.flow.outgoing.bytes())
        {
            self.flow.outgoing.discard(sent);
        }
    }

    /// Reads what has come, up to a buffer of it; 0 at the end.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if !self.flow.incoming.make_space(SPACE, MOST) {
            let long = "a message of the handshake is too long";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, long)));
        }
        let mut space = ReadBuf::new(self.flow.incoming.space());
        let poll = Pin::new(&mut self.tcp).poll_read(cx, &mut space);
        let count = space.filled().len();
        self.flow.incoming.add(count);
        poll.map(|result| result.map(|()| count))
    }

    /// Works off what has come, until there is something to do; what is decrypted
    /// goes to `buf` first.
    fn advance(&mut self, buf: Option<&mut ReadBuf<'_>>) -> io::Result<Next> {
        let next = match &mut self.tls {
            Phase::ByRustls(tls) => tls.read(&mut self.flow, &mut self.tickets, buf),
            Phase::Traffic(traffic) => match traffic.read(&mut self.flow, buf) {
                Ok(Next::Ticket(ticket)) => {
                    let put = traffic.put_in(&ticket, &mut self.tickets);
                    put.map(|()| Next::Ticket(ticket))
                }
                next => next,
            },
            Phase::Failed => return Err(io::ErrorKind::NotConnected.into()),
        };
        match next {
            Ok(Next::Ended) => {
                self.flow.ended = true;
                // What comes after a goodbye means nothing.
                self.flow.incoming.clear();
                Ok(Next::Ended)
            }
            Ok(next) => Ok(next),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Sends the alert for an error, as far as that is possible without waiting.
    fn failed(&mut self, error: Error) -> io::Error {
        match std::mem::replace(&mut self.tls, Phase::Failed) {
            Phase::ByRustls(mut tls) => tls.alert(&mut self.flow),
            Phase::Traffic(mut traffic) => {
                if let Some(alert) = traffic::alert_for(&error) {
                    let _ = traffic.alert(alert, &mut self.flow);
                }
            }
            Phase::Failed => {}
        }
        self.send_now();
        invalid(error)
    }
}

impl fmt::Debug for ClientTlsStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTlsStream").field("tcp", &self.tcp).finish_non_exhaustive()
    }
}

fn invalid(error: Error) -> io::Error {
    match error {
        // Nothing can be sent or read any more.
        Error::HandshakeNotComplete => io::ErrorKind::NotConnected.into(),
        error => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}

#[cfg(test)]
mod tests;
