//! A socket to the upstream as the HTTP library sees it: its responses are checked, and
//! a measurement of what it has not acknowledged can be demanded.

use crate::upstream::responses::Responses;
use crate::upstream::unacked::{OverTcp, UnackedMeter};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A socket to the upstream.
pub struct WatchedSocket<S> {
    socket: S,
    responses: Responses,
    unacked: Rc<UnackedMeter>,
}

impl<S> WatchedSocket<S> {
    /// Checks what is read from the socket, and measures what is not acknowledged.
    pub fn new(socket: S, responses: Responses, unacked: Rc<UnackedMeter>) -> Self {
        Self { socket, responses, unacked }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.responses.check_unbroken()?;
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(cx, buf))?;
        Poll::Ready(self.responses.check(buf, before))
    }
}

impl<S: AsyncWrite + OverTcp + Unpin> AsyncWrite for WatchedSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.unacked.note(&polled, self.socket.tcp());
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write_vectored(cx, bufs);
        self.unacked.note(&polled, self.socket.tcp());
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.socket).poll_flush(cx);
        self.unacked.note(&polled, self.socket.tcp());
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
