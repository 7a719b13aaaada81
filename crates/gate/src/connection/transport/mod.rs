//! What carries a customer's bytes: TLS over her socket, or the bare socket.

mod plain;
mod tls;

pub use plain::Clear;
pub use tls::Tls;

use crate::connection::state::{Phase, Watch};
use crate::http::guard::Guard;
use hyper::rt::ReadBufCursor;
use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::net::TcpStream;

/// A connection that is ready for HTTP.
pub enum Wire {
    /// Over TLS.
    Tls(Tls),
    /// In clear.
    Clear(Clear),
}

impl Wire {
    /// What it runs over.
    pub fn socket(&mut self) -> &mut TcpStream {
        match self {
            Self::Tls(tls) => tls.socket(),
            Self::Clear(clear) => clear.socket(),
        }
    }

    /// Takes what arrived for HTTP, at most what `buf` has room for.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBufCursor<'_>,
        tap: &Tap,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Tls(tls) => tls.poll_read(cx, buf, tap),
            Self::Clear(clear) => clear.poll_read(cx, buf, tap),
        }
    }

    /// Takes bytes of HTTP; how many.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
        tap: &Tap,
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Tls(tls) => tls.poll_write(cx, bufs, tap),
            Self::Clear(clear) => clear.poll_write(cx, bufs, tap),
        }
    }

    /// Sends all that HTTP wrote.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>, tap: &Tap) -> Poll<io::Result<()>> {
        match self {
            Self::Tls(tls) => tls.poll_flush(cx, tap),
            // The kernel has it already.
            Self::Clear(_) => Poll::Ready(Ok(())),
        }
    }

    /// Says goodbye where there is a word for it, and that no more will be sent.
    pub fn poll_close(&mut self, cx: &mut Context<'_>, tap: &Tap) -> Poll<io::Result<()>> {
        match self {
            Self::Tls(tls) => tls.poll_close(cx, tap),
            Self::Clear(clear) => clear.poll_close(cx),
        }
    }

    /// Breaks off so that the customer sees it.
    pub fn cut(self) {
        match self {
            // The missing goodbye says it.
            Self::Tls(tls) => drop(tls),
            Self::Clear(clear) => clear.cut(),
        }
    }
}

/// Notes what passes on a wire, for the counters, the deadlines and the guard.
pub struct Tap {
    /// What the connection is doing.
    pub watch: Rc<Watch>,
    /// Watches for conflicting lengths.
    pub guard: Rc<RefCell<Guard>>,
}

impl Tap {
    /// Bytes came over the wire.
    fn received(&self, bytes: usize) {
        self.watch.counters.bytes_in[0].add(bytes as u64);
    }

    /// Bytes of HTTP go to the reader of requests; none of them is the end.
    fn heard(&self, plain: &[u8]) {
        if plain.is_empty() {
            return self.watch.hang_up();
        }
        self.guard.borrow_mut().feed(plain);
        self.watch.received();
    }

    /// Bytes went over the wire.
    fn sent(&self, bytes: usize) {
        if bytes > 0 {
            self.watch.counters.bytes_out[0].add(bytes as u64);
            self.watch.reply_progress();
        }
    }

    /// Whether no request is under way.
    fn awaits_request(&self) -> bool {
        matches!(self.watch.phase(), Phase::Idle | Phase::Head)
    }
}
