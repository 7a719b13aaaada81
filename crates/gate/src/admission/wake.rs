//! Wakes the dispatcher of a core's admission queue.

use crate::telemetry::counters::Counters;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

/// When the dispatcher decides next.
pub struct Wake {
    notify: Notify,
    /// When the next decision of the controller is worthwhile.
    next_decision: Cell<Instant>,
    /// The core's counters: how many are queued.
    counters: Arc<Counters>,
}

impl Wake {
    /// Decides at once.
    pub fn new(counters: Arc<Counters>) -> Self {
        Self { notify: Notify::new(), next_decision: Cell::new(Instant::now()), counters }
    }

    /// Work was done: the dispatcher decides again at the end of this turn of the event
    /// loop, whatever the last decision was. A handshake may take a tenth of the shortest
    /// time of a timer.
    pub fn decide_soon(&self) {
        if self.counters.holding.get() > 0 {
            self.decide_from(Instant::now());
            self.notify();
        }
    }

    /// No decision is worthwhile before this time.
    pub fn decide_from(&self, at: Instant) {
        self.next_decision.set(at);
    }

    /// When the next decision is worthwhile.
    pub fn next_decision(&self) -> Instant {
        self.next_decision.get()
    }

    /// Wakes the dispatcher; it decides where that is worthwhile.
    pub fn notify(&self) {
        self.notify.notify_one();
    }

    /// Waits until it is woken.
    pub async fn notified(&self) {
        self.notify.notified().await;
    }
}
