//! A customer's connection as HTTP sees it: plain bytes in and out, and an end
//! at which the last word is still heard.

use crate::connection::state::Watch;
use crate::connection::transport::{Tap, Wire};
use crate::http::guard::Guard;
use hyper::rt::{Read, ReadBufCursor, Write};
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// A wire with HTTP on it.
pub struct Stream {
    wire: Wire,
    tap: Tap,
    /// Hears out a customer who was answered in the middle of an upload.
    linger: Option<Linger>,
}

/// Reading on after the last word: a socket that is closed with unread bytes
/// is reset, and the reset would overtake the answer (RFC 9112, section 9.6).
struct Linger {
    until: Pin<Box<Sleep>>,
    left: usize,
}

impl Linger {
    /// Bytes that are heard out: an upload longer than that has not noticed.
    const MOST: usize = 4 << 20;

    fn new() -> Self {
        let until = Box::pin(tokio::time::sleep(crate::socket::LINGER));
        Self { until, left: Self::MOST }
    }

    /// Ready when the customer has closed, or was heard long enough.
    fn poll(&mut self, socket: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        let mut scratch = [0; 8192];
        while self.left > 0 && self.until.as_mut().poll(cx).is_pending() {
            let mut buf = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut *socket).poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => {
                    self.left = self.left.saturating_sub(buf.filled().len());
                }
                _ => break,
            }
        }
        Poll::Ready(())
    }
}

impl Stream {
    /// Puts HTTP on a wire that is ready for it.
    pub fn new(wire: Wire, watch: Rc<Watch>, guard: Rc<RefCell<Guard>>) -> Self {
        Self { wire, tap: Tap { watch, guard }, linger: None }
    }

    /// Says goodbye and closes, as far as the socket takes it at once.
    pub async fn close(mut self) {
        poll_fn(|cx| {
            let _ = Pin::new(&mut self).poll_shutdown(cx);
            Poll::Ready(())
        })
        .await;
    }

    /// Breaks off, so that a cut is seen to be one.
    pub fn cut(self) {
        self.wire.cut();
    }

    /// Closes so that what was sent last reaches the customer although she is
    /// still sending: says goodbye, then reads and forgets what comes.
    pub async fn close_gently(mut self) {
        let goodbye = async {
            let _ = poll_fn(|cx| Pin::new(&mut self).poll_shutdown(cx)).await;
            crate::socket::drain(self.wire.socket()).await;
        };
        let _ = tokio::time::timeout(crate::socket::LINGER, goodbye).await;
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { wire, tap, .. } = &mut *self;
        wire.poll_read(cx, &mut buf, tap)
    }
}

impl Write for Stream {
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
        let Self { wire, tap, .. } = &mut *self;
        wire.poll_write(cx, bufs, tap)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { wire, tap, .. } = &mut *self;
        ready!(wire.poll_flush(cx, tap))?;
        tap.watch.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { wire, tap, linger } = &mut *self;
        ready!(wire.poll_close(cx, tap))?;
        if tap.watch.uploading() {
            ready!(linger.get_or_insert_with(Linger::new).poll(wire.socket(), cx));
        }
        Poll::Ready(Ok(()))
    }
}
