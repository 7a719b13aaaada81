//! What carries a customer's bytes.

mod tls;

pub use tls::Tls;

use crate::guard::Guard;
use crate::watch::{Phase, Watch};
use std::cell::RefCell;
use std::rc::Rc;

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
