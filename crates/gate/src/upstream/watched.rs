//! A socket to the upstream as the HTTP library sees it: its responses are checked, and
//! a measurement of what it has not acknowledged can be demanded.

use crate::upstream::responses::Responses;
use crate::upstream::unacked::UnackedMeter;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A socket to the upstream.
pub struct WatchedSocket<S> {
    socket: S,
    responses: Responses,
    unacked: Rc<UnackedMeter>,
    /// Writing failed: what has arrived is still to be read.
    write_failed: bool,
}

impl<S> WatchedSocket<S> {
    /// Checks what is read from the socket, and measures what is not acknowledged.
    pub fn new(socket: S, responses: Responses, unacked: Rc<UnackedMeter>) -> Self {
        Self { socket, responses, unacked, write_failed: false }
    }

    /// The socket itself.
    pub fn into_socket(self) -> S {
        self.socket
    }

    /// What writing came to. An upstream that answers early and closes makes it fail while the
    /// answer waits to be read. So an error is left to reading, which finds the end of the
    /// connection after the answer.
    fn written<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        cx: &Context<'_>,
    ) -> Poll<io::Result<T>> {
        match written {
            Poll::Ready(Err(_)) => {
                self.write_failed = true;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            written => written,
        }
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

impl<S: AsyncWrite + AsFd + Unpin> AsyncWrite for WatchedSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.write_failed {
            return Poll::Pending;
        }
        let polled = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.unacked.note(&polled, self.socket.as_fd());
        self.written(polled, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.write_failed {
            return Poll::Pending;
        }
        let polled = Pin::new(&mut self.socket).poll_write_vectored(cx, bufs);
        self.unacked.note(&polled, self.socket.as_fd());
        self.written(polled, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.write_failed {
            return Poll::Pending;
        }
        let polled = Pin::new(&mut self.socket).poll_flush(cx);
        self.unacked.note(&polled, self.socket.as_fd());
        self.written(polled, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
