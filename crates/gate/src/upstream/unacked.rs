//! What the upstream has not acknowledged yet of what was sent to it: whether it still
//! reads an upload. The HTTP library owns the socket, so the number is measured when the
//! library finds that the socket accepts no more.

use crate::socket;
use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::task::Poll;

/// Asks a [`WatchedSocket`](crate::upstream::watched::WatchedSocket).
#[derive(Debug, Default)]
pub struct UnackedMeter {
    due: Cell<bool>,
    found: Cell<Option<u64>>,
}

impl UnackedMeter {
    /// Demands a measurement when the socket next accepts no more.
    pub fn demand(&self) {
        self.due.set(true);
    }

    /// The bytes that were not acknowledged at a measurement since the last call.
    pub fn take(&self) -> Option<u64> {
        self.found.take()
    }

    /// Measures, if that is demanded and the socket accepted no more.
    pub fn note<T>(&self, polled: &Poll<T>, socket: BorrowedFd<'_>) {
        if polled.is_pending() && self.due.take() {
            self.found.set(Some(socket::unacknowledged(&socket)));
        }
    }
}
