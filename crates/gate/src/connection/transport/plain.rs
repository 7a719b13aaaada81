//! A customer's socket without TLS.

use super::Tap;
use crate::socket;
use hyper::rt::ReadBufCursor;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A socket in clear.
pub struct Clear {
    socket: TcpStream,
    /// What was read before she was let in, from the first byte not taken yet.
    said: Vec<u8>,
    taken: usize,
}

impl Clear {
    /// Goes on after what was `said` already.
    ///
    /// # Errors
    /// The runtime cannot watch the socket.
    pub fn new(socket: std::net::TcpStream, said: Vec<u8>) -> io::Result<Self> {
        Ok(Self { socket: TcpStream::from_std(socket)?, said, taken: 0 })
    }

    /// What it runs over.
    pub fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Takes what arrived for HTTP, at most what `buf` has room for.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBufCursor<'_>,
        tap: &Tap,
    ) -> Poll<io::Result<()>> {
        if !self.said.is_empty() {
            let rest = &self.said[self.taken..];
            let part = &rest[..rest.len().min(buf.remaining())];
            tap.received(part.len());
            tap.heard(part);
            buf.put_slice(part);
            self.taken += part.len();
            if self.taken == self.said.len() {
                self.said = Vec::new();
            }
            return Poll::Ready(Ok(()));
        }
        // SAFETY: nothing is made uninitialised: the socket writes into it only.
        let mut read = ReadBuf::uninit(unsafe { buf.as_mut() });
        ready!(Pin::new(&mut self.socket).poll_read(cx, &mut read))?;
        let n = read.filled().len();
        tap.received(n);
        tap.heard(read.filled());
        // SAFETY: these bytes were just read into it.
        unsafe { buf.advance(n) };
        Poll::Ready(Ok(()))
    }

    /// Takes bytes of HTTP; how many.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
        tap: &Tap,
    ) -> Poll<io::Result<usize>> {
        let sent = ready!(socket::poll_write(&mut self.socket, cx, bufs))?;
        tap.sent(sent);
        Poll::Ready(Ok(sent))
    }

    /// Says that no more will be sent.
    pub fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    /// Breaks off. Only a reset tells the end of a response that has no length
    /// from one that was cut.
    pub fn cut(self) {
        socket::reset_on_close(&self.socket);
    }
}
