//! The transport of a connection: plain TCP or TLS.

use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use super::connections::Close;
use super::tls::stream::ClientTlsStream;

/// An open transport. The socket is reset when it is dropped, unless it was finished.
#[derive(Debug)]
pub(crate) enum Transport {
    Clear(TcpStream),
    Tls(Box<ClientTlsStream>),
}

impl Transport {
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Clear(io) => Pin::new(io).poll_read(cx, buf),
            Self::Tls(io) => io.poll_read(cx, buf),
        }
    }

    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Clear(io) => Pin::new(io).poll_write(cx, bytes),
            Self::Tls(io) => io.poll_write(cx, bytes),
        }
    }

    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Clear(_) => Poll::Ready(Ok(())),
            Self::Tls(io) => io.poll_flush(cx),
        }
    }

    /// Whether no unread bytes are known to have arrived; cheaper than a read.
    pub(crate) fn is_silent(&self) -> bool {
        let (tcp, holds) = match self {
            Self::Clear(tcp) => (tcp, false),
            Self::Tls(tls) => (tls.tcp(), tls.holds()),
        };
        !holds && tcp.try_io(Interest::READABLE, || Ok(())).is_err()
    }

    /// Releases memory for an idle period.
    pub(crate) fn release_memory(&mut self) {
        if let Self::Tls(io) = self {
            io.release_memory();
        }
    }

    /// Writes all bytes.
    pub(crate) async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = std::future::poll_fn(|cx| self.poll_write(cx, bytes)).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = &bytes[written..];
        }
        std::future::poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Why the server ended the connection right after the handshake, if it did: in TLS 1.3 it
    /// checks the client certificate only then. Waits until `at`.
    pub(crate) async fn rejection(&mut self, at: tokio::time::Instant) -> Option<String> {
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

    /// Whether the server issued a TLS 1.3 ticket, which means that it accepted the handshake.
    fn has_ticket(&self) -> bool {
        match self {
            Self::Clear(_) => false,
            Self::Tls(io) => io.tickets_received() > 0,
        }
    }

    /// Closes the transport: close_notify, then FIN or, when it is dropped, RST, by `close`.
    /// Never waits: if the socket buffer is full, the peer is not reading.
    pub(crate) fn finish(&mut self, close: Close) {
        if let Self::Tls(io) = self {
            io.send_close_notify();
        }
        if close == Close::Shutdown {
            let tcp = match self {
                Self::Clear(tcp) => &*tcp,
                Self::Tls(tls) => tls.tcp(),
            };
            let socket = SockRef::from(tcp);
            let _ = socket.set_linger(None);
            let _ = socket.shutdown(Shutdown::Write);
        }
    }
}
