//! A customer's connection as the HTTP library sees it: plain bytes in and out, and a
//! lingering close where the customer may still be sending. Bytes that break the grammar do
//! not reach the library.

use crate::connection::exchange::Activity;
use crate::connection::state::ConnectionState;
use crate::connection::transport::Transport;
use crate::framing::{Fault, Limits, Part, Reader, Rule};
use crate::http::pages::ErrorPage;
use crate::linger::{LINGER, Linger};
use crate::socket;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A transport with HTTP on it.
pub struct Stream {
    transport: Transport,
    state: Rc<ConnectionState>,
    requests: Reader,
    /// Where the requests break the grammar; the library has all bytes before it.
    fault: Option<Fault>,
    /// Linger at the close although no request's body is incomplete.
    lingers: bool,
    linger: Option<Linger>,
}

impl Stream {
    /// HTTP on a transport that is ready for it.
    pub fn new(transport: Transport, state: Rc<ConnectionState>, limits: Limits) -> Self {
        let requests = Reader::requests(limits);
        Self { transport, state, requests, fault: None, lingers: false, linger: None }
    }

    /// The transport below.
    pub fn transport(&mut self) -> &mut Transport {
        &mut self.transport
    }

    /// The transport, for another protocol.
    pub fn into_transport(self) -> Transport {
        self.transport
    }

    /// Ends the sending side, as far as the socket accepts it at once, and closes.
    pub async fn close(mut self) {
        poll_fn(|cx| {
            let _ = Pin::new(&mut self).poll_shutdown(cx);
            Poll::Ready(())
        })
        .await;
    }

    /// Breaks off, in a way that the customer can tell from a proper end.
    pub fn cut(self) {
        self.transport.cut();
    }

    /// Breaks off, and discards what the kernel has not sent.
    pub fn reset(mut self) {
        socket::reset_on_close(self.transport.socket());
    }

    /// Answers a head that breaks the grammar, and closes, lingering.
    pub async fn refuse(mut self, page: ErrorPage) {
        let bytes = page.bytes();
        let mut rest = &bytes[..];
        let sent = poll_fn(|cx| {
            while !rest.is_empty() {
                let sent = ready!(Pin::new(&mut self).poll_write(cx, rest))?;
                rest = &rest[sent..];
            }
            Pin::new(&mut self).poll_flush(cx)
        });
        let _ = tokio::time::timeout(LINGER, sent).await;
        self.fault = None;
        self.close_lingering().await;
    }

    /// Reports the fault to the library as an error of reading. A response under way is
    /// completed before a fault in the next head is reported.
    fn poll_fault(&self, fault: Fault) -> Poll<io::Result<()>> {
        if fault.part == Part::Head && !self.state.awaits_request() {
            return Poll::Pending;
        }
        tracing::debug!(%fault, "a request is malformed");
        self.state.exchange.note_fault(fault);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, fault)))
    }

    /// Closes, lingering, so that the last response reaches a customer who is still
    /// sending.
    pub async fn close_lingering(mut self) {
        self.lingers = true;
        let shutdown = poll_fn(|cx| Pin::new(&mut self).poll_shutdown(cx));
        let _ = tokio::time::timeout(LINGER, shutdown).await;
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(fault) = self.fault {
            return self.poll_fault(fault);
        }
        let Self { transport, state, requests, fault, .. } = &mut *self;
        if requests.is_switching() {
            match state.exchange.activity() {
                // The tunnel reads what follows.
                Activity::Tunnel => return Poll::Pending,
                Activity::Idle => requests.stay_with_http(),
                _ => {}
            }
        }
        let before = buf.filled().len();
        ready!(transport.poll_read(cx, buf, state))?;
        let read = &buf.filled()[before..];
        if read.is_empty() {
            state.closed_by_customer.set(true);
            return Poll::Ready(Ok(()));
        }
        state.received();
        if let Err(broken) = requests.feed(read) {
            *fault = Some(broken.fault);
            state.exchange.early.set(broken.fault.rule == Rule::EarlyBytes);
            buf.set_filled(before + broken.clean);
            if broken.clean == 0 {
                return self.poll_fault(broken.fault);
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
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
        let Self { transport, state, .. } = &mut *self;
        let written = transport.poll_write(cx, bufs, state);
        match &written {
            Poll::Pending => state.send_waits(|| socket::unacknowledged(transport.socket())),
            Poll::Ready(_) if state.exchange.take_new_stream() => {
                socket::enable_keepalive(transport.socket())
            }
            Poll::Ready(_) => {}
        }
        written
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { transport, state, fault, .. } = &mut *self;
        match transport.poll_flush(cx, state) {
            Poll::Pending => {
                state.send_waits(|| socket::unacknowledged(transport.socket()));
                return Poll::Pending;
            }
            Poll::Ready(flushed) => flushed?,
        }
        state.flushed();
        if state.measurement_due() {
            state.measured(socket::unacknowledged(transport.socket()));
        }
        if fault.is_some() && state.exchange.fault().is_none() && state.awaits_request() {
            // The library does not read again of its own accord.
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { transport, state, fault, lingers, linger, .. } = &mut *self;
        if fault.is_some_and(|fault| fault.part == Part::Head) && state.exchange.fault().is_some() {
            // The answer to the fault is still to be sent; see `refuse`.
            return Poll::Ready(Ok(()));
        }
        match transport.poll_close(cx, state) {
            Poll::Pending => {
                if state.measurement_due() {
                    state.measured(socket::unacknowledged(transport.socket()));
                }
                return Poll::Pending;
            }
            Poll::Ready(closed) => closed?,
        }
        if *lingers || state.exchange.uploading() {
            ready!(linger.get_or_insert_with(Linger::new).poll(transport.socket(), cx));
        }
        Poll::Ready(Ok(()))
    }
}
