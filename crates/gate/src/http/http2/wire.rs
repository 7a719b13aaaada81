//! A customer's connection as the HTTP/2 library sees it: bytes in and out, whose frames are
//! counted.

use super::pacing::Pacing;
use crate::connection::state::ConnectionState;
use crate::connection::transport::Transport;
use crate::framing::{Excess, Frames};
use crate::linger::Linger;
use crate::socket;
use crate::telemetry::clock;
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A transport with HTTP/2 on it.
pub struct Wire {
    transport: Transport,
    frames: Frames,
    shared: Rc<Shared>,
    linger: Option<Linger>,
}

/// What the connection and its wire share.
pub struct Shared {
    /// The state of the connection.
    pub state: Rc<ConnectionState>,
    /// How much the streams have handed over.
    pub pacing: Pacing,
    /// What the customer sent too much of: nothing more is read.
    pub excess: Cell<Option<Excess>>,
    /// Linger at the close: the customer may still be sending.
    pub lingers: Cell<bool>,
    /// Discard at the close what the kernel has not sent.
    pub resets: Cell<bool>,
}

impl Wire {
    /// HTTP/2 on a transport that is ready for it.
    pub fn new(transport: Transport, frames: Frames, shared: Rc<Shared>) -> Self {
        Self { transport, frames, shared, linger: None }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.shared.resets.get() {
            socket::reset_on_close(self.transport.socket());
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { transport, frames, shared, .. } = &mut *self;
        if shared.excess.get().is_some() {
            return Poll::Pending;
        }
        let before = buf.filled().len();
        ready!(transport.poll_read(cx, buf, &shared.state))?;
        let read = &buf.filled()[before..];
        if read.is_empty() {
            shared.state.closed_by_customer.set(true);
            return Poll::Ready(Ok(()));
        }
        let counted = frames.feed(read, clock::now());
        shared.state.head_is_incomplete(frames.head_is_incomplete());
        if let Err(excess) = counted {
            // The connection answers; none of these bytes reaches the library.
            buf.set_filled(before);
            shared.excess.set(Some(excess));
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if bufs.iter().all(|buf| buf.is_empty()) {
            return Poll::Ready(Ok(0));
        }
        let Self { transport, frames, shared, .. } = &mut *self;
        let written = transport.poll_write(cx, bufs, &shared.state);
        match &written {
            Poll::Pending => {
                shared.state.streams_wait(|| socket::unacknowledged(transport.socket()));
            }
            Poll::Ready(Ok(bytes)) => frames.sent(*bytes),
            Poll::Ready(Err(_)) => {}
        }
        written
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { transport, shared, .. } = &mut *self;
        let state = &shared.state;
        match transport.poll_flush(cx, state) {
            Poll::Pending => {
                state.streams_wait(|| socket::unacknowledged(transport.socket()));
                return Poll::Pending;
            }
            Poll::Ready(flushed) => flushed?,
        }
        state.streams_flushed();
        if state.measurement_due() {
            state.measured(socket::unacknowledged(transport.socket()));
        }
        shared.pacing.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { transport, shared, linger, .. } = &mut *self;
        ready!(transport.poll_close(cx, &shared.state))?;
        if shared.lingers.get() {
            ready!(linger.get_or_insert_with(Linger::new).poll(transport.socket(), cx));
        }
        Poll::Ready(Ok(()))
    }
}
