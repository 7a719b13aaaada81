//! A customer's socket without TLS.

use crate::connection::state::ConnectionState;
use crate::socket;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A socket with plain HTTP on it.
pub struct PlainStream {
    socket: TcpStream,
    /// The bytes that were read before admission, until they are consumed.
    first_flight: Vec<u8>,
    consumed: usize,
}

impl PlainStream {
    /// Continues after the bytes that were read already.
    ///
    /// # Errors
    /// The runtime cannot register the socket.
    pub fn new(socket: std::net::TcpStream, first_flight: Vec<u8>) -> io::Result<Self> {
        Ok(Self { socket: TcpStream::from_std(socket)?, first_flight, consumed: 0 })
    }

    /// The socket.
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
        if !self.first_flight.is_empty() {
            let rest = &self.first_flight[self.consumed..];
            let part = &rest[..rest.len().min(buf.remaining())];
            state.bytes_received(part.len());
            buf.put_slice(part);
            self.consumed += part.len();
            if self.consumed == self.first_flight.len() {
                self.first_flight = Vec::new();
            }
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(cx, buf))?;
        state.bytes_received(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }

    /// Accepts bytes of HTTP to send. Returns how many.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
        state: &ConnectionState,
    ) -> Poll<io::Result<usize>> {
        let sent = ready!(socket::poll_write(&mut self.socket, cx, bufs))?;
        state.bytes_sent(sent);
        Poll::Ready(Ok(sent))
    }

    /// Ends the sending side.
    pub fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    /// Breaks off by a reset: nothing else distinguishes a cut response without a length
    /// from a complete one.
    pub fn cut(self) {
        socket::reset_on_close(&self.socket);
    }
}
