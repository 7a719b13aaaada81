//! A connection whose requests must have their heads complete in time.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::unfinished::{Entry, Unfinished};

/// From the first byte of a request, or the beginning of the connection, to the end of the
/// request's head. A head is one or two packets; a slower one is an attack or a dead network.
pub(super) const HEAD_DEADLINE: Duration = Duration::from_secs(10);

/// The heads of one connection.
#[derive(Debug)]
pub(super) struct Heads {
    state: Mutex<State>,
    unfinished: Arc<Unfinished>,
    address: IpAddr,
    close: Arc<Notify>,
}

#[derive(Debug)]
struct State {
    /// When the head that is awaited began; none between requests and while one is served.
    begun: Option<Instant>,
    serving: bool,
    /// It is counted as unfinished: a part of the head is still to come.
    entry: Option<Entry>,
}

impl Heads {
    /// The first head is awaited. `close` is told where the connection has to give way.
    pub(super) fn new(
        unfinished: &Arc<Unfinished>,
        address: IpAddr,
        close: Arc<Notify>,
        now: Instant,
    ) -> Arc<Self> {
        let state = Mutex::new(State { begun: Some(now), serving: false, entry: None });
        Arc::new(Self { state, unfinished: Arc::clone(unfinished), address, close })
    }

    /// A head is complete, and its request is served.
    pub(super) fn complete(&self) {
        *self.lock() = State { begun: None, serving: true, entry: None };
    }

    /// The request is answered: what arrives from now on is the next one.
    pub(super) fn answered(&self) {
        self.lock().serving = false;
    }

    /// When to look again.
    ///
    /// # Errors
    /// A head is overdue.
    pub(super) fn look(&self, now: Instant) -> Result<Instant, ()> {
        let due = self.lock().begun.unwrap_or(now) + HEAD_DEADLINE;
        if due <= now { Err(()) } else { Ok(due) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no panic under this lock")
    }

    fn read(&self, some: Poll<bool>) {
        let mut state = self.lock();
        match some {
            Poll::Ready(true) if !state.serving => {
                state.begun.get_or_insert_with(Instant::now);
            }
            Poll::Pending if state.begun.is_some() && state.entry.is_none() => {
                state.entry = Some(self.unfinished.begin(self.address, &self.close));
            }
            Poll::Ready(_) | Poll::Pending => {}
        }
    }

    /// A response is being sent: the next head has its time from here.
    fn wrote(&self) {
        if let Some(begun) = &mut self.lock().begun {
            *begun = Instant::now();
        }
    }
}

/// A stream that tells of what is read and written.
pub(super) struct Watched<S> {
    /// The stream.
    pub(super) stream: S,
    /// What is told.
    pub(super) heads: Arc<Heads>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.heads.read(match read {
            Poll::Pending => Poll::Pending,
            Poll::Ready(_) => Poll::Ready(buf.filled().len() > before),
        });
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.heads.wrote();
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.heads.wrote();
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_head_has_ten_seconds_and_an_idle_connection_has_no_head() {
        let now = Instant::now();
        let address = IpAddr::from([192, 0, 2, 1]);
        let heads = Heads::new(&Unfinished::new(1), address, Arc::default(), now);
        assert_eq!(heads.look(now + SECOND), Ok(now + HEAD_DEADLINE));
        assert_eq!(heads.look(now + HEAD_DEADLINE), Err(()));
        heads.complete();
        let later = now + 60 * SECOND;
        assert_eq!(heads.look(later), Ok(later + HEAD_DEADLINE));
        // What arrives before the answer is not late.
        heads.read(Poll::Ready(true));
        assert!(heads.look(later).is_ok());
        heads.answered();
        assert!(heads.look(later).is_ok());
        heads.read(Poll::Ready(true));
        assert_eq!(heads.look(later), Err(()), "it began when it was read");
    }

    #[test]
    fn only_a_head_that_is_not_there_at_once_counts_as_unfinished() {
        let unfinished = Unfinished::new(1);
        let counted = |heads: &Heads| heads.lock().entry.is_some();
        let address = IpAddr::from([192, 0, 2, 1]);
        let heads = Heads::new(&unfinished, address, Arc::default(), Instant::now());
        heads.read(Poll::Ready(true));
        assert!(!counted(&heads));
        heads.read(Poll::Pending);
        assert!(counted(&heads));
        heads.complete();
        heads.read(Poll::Pending);
        heads.answered();
        heads.read(Poll::Pending);
        assert!(!counted(&heads));
    }
}
