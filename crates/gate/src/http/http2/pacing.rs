//! How much of the responses is handed to the library before the kernel has taken it.

use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

/// Bytes handed over and not yet taken, at most, before streams wait; the last part may exceed
/// it. So a customer who does not read makes the gate keep this much, however many streams
/// they open.
const MOST: usize = 256 * 1024;

/// What the streams of a connection have handed over.
#[derive(Debug, Default)]
pub struct Pacing {
    handed: Cell<usize>,
    waiting: RefCell<Vec<Waker>>,
}

impl Pacing {
    /// Whether a stream may hand over more. If not, its task is woken when it may.
    pub fn has_room(&self, cx: &Context<'_>) -> bool {
        let room = self.handed.get() < MOST;
        if !room {
            let mut waiting = self.waiting.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                waiting.push(cx.waker().clone());
            }
        }
        room
    }

    /// A stream hands over so many bytes.
    pub fn hand_over(&self, bytes: usize) {
        self.handed.set(self.handed.get() + bytes);
    }

    /// The kernel has taken everything.
    pub fn flushed(&self) {
        self.handed.set(0);
        self.waiting.take().into_iter().for_each(Waker::wake);
    }
}
