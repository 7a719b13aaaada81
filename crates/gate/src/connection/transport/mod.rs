//! The transport of a customer's connection: TLS over the socket, or the bare socket.

mod plain;
mod tls;

pub use plain::PlainStream;
pub use tls::TlsStream;

use crate::connection::state::ConnectionState;
use std::io::{self, IoSlice};
use std::task::{Context, Poll};
use tokio::io::ReadBuf;
use tokio::net::TcpStream;

/// A connection that is ready for HTTP.
pub enum Transport {
    /// Over TLS.
    Tls(TlsStream),
    /// Plain HTTP.
    Plain(PlainStream),
}

impl Transport {
    /// The certificate that the client showed, verified; as DER.
    pub fn client_certificate(&self) -> Option<&[u8]> {
        match self {
            Self::Tls(tls) => tls.client_certificate(),
            Self::Plain(_) => None,
        }
    }

    /// Whether the client chose HTTP/2.
    pub fn speaks_http2(&self) -> bool {
        match self {
            Self::Tls(tls) => tls.speaks_http2(),
            Self::Plain(_) => false,
        }
    }

    /// The socket below.
    pub fn socket(&mut self) -> &mut TcpStream {
        match self {
            Self::Tls(tls) => tls.socket(),
            Self::Plain(plain) => plain.socket(),
        }
    }

    /// Reads bytes of HTTP that have arrived, at most what `buf` has room for.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        state: &ConnectionState,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Tls(tls) => tls.poll_read(cx, buf, state),
            Self::Plain(plain) => plain.poll_read(cx, buf, state),
        }
    }

    /// Accepts bytes of HTTP to send. Returns how many.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
        state: &ConnectionState,
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Tls(tls) => tls.poll_write(cx, bufs, state),
            Self::Plain(plain) => plain.poll_write(cx, bufs, state),
        }
    }

    /// Sends all that was accepted.
    pub fn poll_flush(
        &mut self,
        cx: &mut Context<'_>,
        state: &ConnectionState,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Tls(tls) => tls.poll_flush(cx, state),
            // The kernel has all of it.
            Self::Plain(_) => Poll::Ready(Ok(())),
        }
    }

    /// Ends the sending side: with a close_notify over TLS, then of the socket.
    pub fn poll_close(
        &mut self,
        cx: &mut Context<'_>,
        state: &ConnectionState,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Tls(tls) => tls.poll_close(cx, state),
            Self::Plain(plain) => plain.poll_close(cx),
        }
    }

    /// Breaks off in a way that the customer can tell from a proper end.
    pub fn cut(self) {
        match self {
            // The close_notify is missing.
            Self::Tls(tls) => drop(tls),
            Self::Plain(plain) => plain.cut(),
        }
    }
}
