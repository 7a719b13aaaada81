//! What bytes go over: TCP in clear or TLS, and how that ends.

use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use super::tls::secure::Secure;
use crate::plan::Close;

/// An open wire. Its socket resets when dropped, unless it was finished.
#[derive(Debug)]
pub(crate) enum Wire {
    Clear(TcpStream),
    Tls(Box<Secure>),
}

impl Wire {
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Clear(io) => Pin::new(io).poll_read(cx, buf),
            Self::Tls(io) => io.poll_read(cx, buf),
        }
    }

    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Clear(io) => Pin::new(io).poll_write(cx, bytes),
            Self::Tls(io) => io.poll_write(cx, bytes),
        }
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Clear(_) => Poll::Ready(Ok(())),
            Self::Tls(io) => io.poll_flush(cx),
        }
    }

    /// Whether nothing has come that was not read, as far as that is known without
    /// asking: cheaper than to read in vain.
    pub(super) fn is_silent(&self) -> bool {
        let (tcp, holds) = match self {
            Self::Clear(tcp) => (tcp, false),
            Self::Tls(tls) => (tls.tcp(), tls.holds()),
        };
        !holds && tcp.try_io(Interest::READABLE, || Ok(())).is_err()
    }

    /// Holds as little as can be, since nothing is to do for some time.
    pub(super) fn rest(&mut self) {
        if let Self::Tls(io) = self {
            io.rest();
        }
    }

    /// Writes all of it.
    pub(super) async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = std::future::poll_fn(|cx| self.poll_write(cx, bytes)).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = &bytes[written..];
        }
        std::future::poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Whether the server's first word after the handshake is that it ends it, and
    /// why: with TLS 1.3 only then can it judge the customer's certificate. Waits
    /// until `at` for any word.
    pub(super) async fn is_taken_back(&mut self, at: tokio::time::Instant) -> Option<String> {
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
        match self {
            Self::Clear(_) => false,
            Self::Tls(io) => io.tickets_received() > 0,
        }
    }

    /// Ends it well: close_notify, and then FIN or RST as `close` says; RST comes
    /// when it is dropped. Never waits: if the socket's buffer is full, the peer
    /// is not reading anyway.
    pub(super) fn finish(&mut self, close: Close) {
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
