//! What the upstream has not acknowledged yet of what was sent to it: whether it still
//! reads an upload. The HTTP library owns the socket, so the number is looked up when the
//! library finds that the socket accepts no more.

use crate::socket;
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Asks a [`Probed`] socket.
#[derive(Debug, Default)]
pub struct Probe {
    due: Cell<bool>,
    found: Cell<Option<u64>>,
}

impl Probe {
    /// Demands a look when the socket next accepts no more.
    pub fn demand(&self) {
        self.due.set(true);
    }

    /// The bytes that were not acknowledged at a look since the last call.
    pub fn take(&self) -> Option<u64> {
        self.found.take()
    }

    fn note<T>(&self, polled: &Poll<T>, socket: &TcpStream) {
        if polled.is_pending() && self.due.take() {
            self.found.set(Some(socket::unacknowledged(socket)));
        }
    }
}

/// A stream over TCP.
pub trait OverTcp {
    /// The socket below.
    fn tcp(&self) -> &TcpStream;
}

/// A socket that answers a [`Probe`].
pub struct Probed<S> {
    socket: S,
    probe: Rc<Probe>,
}

impl<S> Probed<S> {
    /// The socket, and what asks it.
    pub fn new(socket: S) -> (Self, Rc<Probe>) {
        let probe = Rc::<Probe>::default();
        (Self { socket, probe: probe.clone() }, probe)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Probed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + OverTcp + Unpin> AsyncWrite for Probed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.probe.note(&polled, self.socket.tcp());
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write_vectored(cx, bufs);
        self.probe.note(&polled, self.socket.tcp());
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.socket).poll_flush(cx);
        self.probe.note(&polled, self.socket.tcp());
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
