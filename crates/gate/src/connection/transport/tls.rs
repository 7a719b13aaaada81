//! TLS over a customer's socket: the handshake, then plain bytes for HTTP.
//!
//! It drives rustls itself, since it replays a hello that was read before, sets the
//! [`HandshakeContext`] around each step, and delays the ticket of TLS 1.3 to the first
//! response where the request has already arrived.

use crate::admission::handshake_context::HandshakeContext;
use crate::connection::state::ConnectionState;
use crate::socket;
use rustls::{HandshakeKind, ProtocolVersion, ServerConfig, ServerConnection};
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Why a handshake failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The customer closed, or the network failed.
    #[error("the connection broke: {0}")]
    Io(io::Error),
    /// TLS failed; the alert was sent.
    #[error("TLS failed: {0}")]
    Tls(rustls::Error),
}

/// A socket with a TLS session on it.
pub struct TlsStream {
    socket: TcpStream,
    session: Box<ServerConnection>,
    /// HTTP has written nothing yet: TLS has at most a ticket to send, which goes with
    /// the first response if its request has already arrived.
    unwritten: bool,
    /// A close_notify has been queued.
    closing: bool,
}

impl TlsStream {
    /// Performs the handshake. `hello` is everything that was read so far.
    ///
    /// # Errors
    /// The connection broke, or TLS failed.
    pub async fn accept(
        socket: std::net::TcpStream,
        config: Arc<ServerConfig>,
        hello: &[u8],
        handshake: &HandshakeContext,
    ) -> Result<Self, Failure> {
        let mut session = Box::new(ServerConnection::new(config).map_err(Failure::Tls)?);
        let fed = handshake.scope(|| {
            let mut rest = hello;
            while !rest.is_empty() {
                session.read_tls(&mut rest).map_err(Failure::Io)?;
                session.process_new_packets().map_err(Failure::Tls)?;
            }
            Ok(())
        });
        // The first flight is sent before the runtime registers the socket: else it
        // would wait for the kernel to report that there is room.
        let mut blocked = false;
        while session.wants_write() && !blocked {
            blocked = session.write_tls(&mut &socket).map_or(true, |n| n == 0);
        }
        let socket = TcpStream::from_std(socket).map_err(Failure::Io)?;
        let mut tls = Self { socket, session, unwritten: true, closing: false };
        if let Err(failure) = fed {
            return Err(tls.send_alert(failure).await);
        }
        let done = poll_fn(|cx| tls.poll_handshake(cx, handshake)).await;
        match done {
            Ok(()) => Ok(tls),
            Err(failure) => Err(tls.send_alert(failure).await),
        }
    }

    /// What kind of handshake it was.
    pub fn kind(&self) -> Option<HandshakeKind> {
        self.session.handshake_kind()
    }

    /// The certificate that the client showed, verified; as DER.
    pub fn client_certificate(&self) -> Option<&[u8]> {
        self.session.peer_certificates()?.first().map(AsRef::as_ref)
    }

    /// Whether the client chose HTTP/2.
    pub fn speaks_http2(&self) -> bool {
        self.session.alpn_protocol() == Some(b"h2")
    }

    /// The socket below.
    pub fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Reads bytes of HTTP that have arrived, at most what `buf` has room for.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        state: &ConnectionState,
    ) -> Poll<io::Result<()>> {
        loop {
            match self.session.reader().into_first_chunk() {
                Ok([]) if !state.awaits_request() => {
                    return self.poll_end_of_socket(cx);
                }
                Ok(chunk) => {
                    let n = chunk.len().min(buf.remaining());
                    buf.put_slice(&chunk[..n]);
                    io::BufRead::consume(&mut self.session.reader(), n);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Without a close_notify it is an end as well; HTTP detects what is missing.
                Err(_) => return Poll::Ready(Ok(())),
            }
            let received = match self.poll_receive(cx) {
                Poll::Ready(received) => received?,
                Poll::Pending => {
                    if self.unwritten && state.awaits_request() {
                        self.unwritten = false;
                        self.send_out(cx, state)?;
                    }
                    return Poll::Pending;
                }
            };
            state.bytes_received(received);
            if let Err(error) = self.session.process_new_packets() {
                let _ = self.send_out(cx, state);
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
            }
        }
    }

    /// The customer has ended their sending side by a close_notify, and may wait for the answer.
    /// Ready when they have closed the socket as well.
    ///
    /// Source: RFC 8446, section 6.1.
    fn poll_end_of_socket(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing may follow; what does ends the connection too.
        let mut scratch = [0; 64];
        let mut buf = ReadBuf::new(&mut scratch);
        Pin::new(&mut self.socket).poll_read(cx, &mut buf)
    }

    /// Accepts bytes of HTTP to send. Returns how many.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
        state: &ConnectionState,
    ) -> Poll<io::Result<usize>> {
        use io::Write as _;
        self.unwritten = false;
        loop {
            let accepted = self.session.writer().write_vectored(bufs)?;
            let all_sent = self.send_out(cx, state)?;
            match (accepted, all_sent) {
                (0, false) => return Poll::Pending,
                (0, true) => {}
                (accepted, _) => return Poll::Ready(Ok(accepted)),
            }
        }
    }

    /// Sends all that was accepted.
    pub fn poll_flush(
        &mut self,
        cx: &mut Context<'_>,
        state: &ConnectionState,
    ) -> Poll<io::Result<()>> {
        if self.unwritten || self.send_out(cx, state)? {
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    }

    /// Sends a close_notify and ends the sending side.
    pub fn poll_close(
        &mut self,
        cx: &mut Context<'_>,
        state: &ConnectionState,
    ) -> Poll<io::Result<()>> {
        if !self.closing {
            self.closing = true;
            self.session.send_close_notify();
        }
        if !self.send_out(cx, state)? {
            return Poll::Pending;
        }
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    /// Sends what TLS has to send. Returns whether all of it was sent.
    fn send_out(&mut self, cx: &mut Context<'_>, state: &ConnectionState) -> io::Result<bool> {
        let (sent, all) = self.send(cx)?;
        state.bytes_sent(sent);
        Ok(all)
    }

    fn poll_handshake(
        &mut self,
        cx: &mut Context<'_>,
        handshake: &HandshakeContext,
    ) -> Poll<Result<(), Failure>> {
        loop {
            // The last flight of TLS 1.2 must be sent; tickets of 1.3 may wait.
            let over = !self.session.is_handshaking();
            if over && self.session.protocol_version() == Some(ProtocolVersion::TLSv1_3) {
                return Poll::Ready(Ok(()));
            }
            if !self.send(cx).map_err(Failure::Io)?.1 {
                return Poll::Pending;
            }
            if over {
                return Poll::Ready(Ok(()));
            }
            if ready!(self.poll_receive(cx)).map_err(Failure::Io)? == 0 {
                return Poll::Ready(Err(Failure::Io(io::ErrorKind::UnexpectedEof.into())));
            }
            handshake.scope(|| self.session.process_new_packets()).map_err(Failure::Tls)?;
        }
    }

    /// Sends the alert of a failed handshake.
    async fn send_alert(&mut self, failure: Failure) -> Failure {
        if let Failure::Tls(_) = failure {
            poll_fn(|cx| match self.send(cx) {
                Ok((_, false)) => Poll::Pending,
                _ => Pin::new(&mut self.socket).poll_shutdown(cx).map(drop),
            })
            .await;
        }
        failure
    }

    /// Sends what TLS has to send. Returns how many bytes were sent, and whether all of
    /// it was. If not, the task is woken when there is room.
    fn send(&mut self, cx: &mut Context<'_>) -> io::Result<(usize, bool)> {
        let mut sent = 0;
        while self.session.wants_write() {
            let mut socket = NonBlocking { socket: &mut self.socket, cx };
            match self.session.write_tls(&mut socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok((sent, false));
                }
                Err(error) => return Err(error),
            }
        }
        Ok((sent, true))
    }

    /// Reads once from the socket into TLS; 0 is its end.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut socket = NonBlocking { socket: &mut self.socket, cx };
        match self.session.read_tls(&mut socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            result => Poll::Ready(result),
        }
    }
}

/// A socket with the interface that rustls needs: what is not ready returns
/// `WouldBlock`.
struct NonBlocking<'a, 'b> {
    socket: &'a mut TcpStream,
    cx: &'a mut Context<'b>,
}

impl io::Read for NonBlocking<'_, '_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut buf = ReadBuf::new(buf);
        match Pin::new(&mut *self.socket).poll_read(self.cx, &mut buf) {
            Poll::Ready(result) => result.map(|()| buf.filled().len()),
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl io::Write for NonBlocking<'_, '_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(buf)])
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match socket::poll_write(self.socket, self.cx, bufs) {
            Poll::Ready(result) => result,
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
