//! A request's body on its way from the customer to the upstream: what has passed, and
//! for whom it waits.

use crate::connection::deadlines::RequestDeadlines;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The body of the last request.
#[derive(Debug)]
pub struct Upload {
    /// It has not passed to its end.
    open: Cell<bool>,
    /// Bytes that have passed.
    passed: Cell<u64>,
    /// The customer's next bytes are awaited; otherwise the upstream's readiness for them.
    awaits_customer: Cell<bool>,
    /// When the rate began to count: at the request's head, and later by the time that the
    /// body waited for the upstream.
    counts_from: Cell<Instant>,
    /// Since when it waits for the upstream.
    handed: Cell<Instant>,
    /// What the upstream had not acknowledged at the last measurement since then.
    unacknowledged: Cell<Option<u64>>,
    /// A measurement is due.
    measurement_due: Cell<bool>,
}

/// What a measurement finds where the socket accepts all, as before the connection is open.
const NOTHING_FOUND: u64 = u64::MAX;

impl Upload {
    /// No request was made.
    pub fn new(now: Instant) -> Self {
        Self {
            open: Cell::new(false),
            passed: Cell::new(0),
            awaits_customer: Cell::new(false),
            counts_from: Cell::new(now),
            handed: Cell::new(now),
            unacknowledged: Cell::new(None),
            measurement_due: Cell::new(false),
        }
    }

    /// The head of a request was read.
    pub fn begin(&self, has_body: bool, now: Instant) {
        self.open.set(has_body);
        self.passed.set(0);
        self.awaits_customer.set(false);
        self.counts_from.set(now);
        self.handed.set(now);
        self.unacknowledged.set(None);
    }

    /// So many bytes passed; the upstream has to take them.
    pub fn pass(&self, bytes: usize, now: Instant) {
        self.passed.set(self.passed.get().saturating_add(bytes as u64));
        self.awaits_customer.set(false);
        self.handed.set(now);
        self.unacknowledged.set(None);
    }

    /// The upstream is ready for bytes that have not arrived. Returns whether it was not
    /// before.
    pub fn await_customer(&self, now: Instant) -> bool {
        let begins = !self.awaits_customer.replace(true);
        if begins {
            let held = now.saturating_duration_since(self.handed.get());
            self.counts_from.set(self.counts_from.get() + held);
        }
        begins
    }

    /// Whether the customer's next bytes are awaited.
    pub fn awaits_customer(&self) -> bool {
        self.awaits_customer.get()
    }

    /// How long it may wait for the upstream after its last progress: a first measurement comes
    /// early, so that the next one can tell progress from none.
    pub fn patience(&self, deadlines: &RequestDeadlines) -> Duration {
        match self.unacknowledged.get() {
            None => deadlines.body / 2,
            Some(_) => deadlines.body,
        }
    }

    /// Its time is up, unless a measurement shows that the upstream still reads. Returns whether it
    /// is up for good.
    pub fn expire(&self, measured: bool) -> bool {
        if !measured {
            self.measurement_due.set(true);
            return false;
        }
        self.measurement_due.set(false);
        self.unacknowledged.get().is_some()
            || self.unacknowledged.replace(Some(NOTHING_FOUND)).is_some()
    }

    /// Whether a measurement is due; then it no longer is.
    pub fn take_measurement(&self) -> bool {
        self.measurement_due.take()
    }

    /// So many bytes were sent to the upstream and not acknowledged. Returns whether it has
    /// read since the measurement before.
    pub fn measured(&self, unacknowledged: u64) -> bool {
        let before = self.unacknowledged.replace(Some(unacknowledged));
        before.is_some_and(|before| before != unacknowledged)
    }

    /// It passed to its end.
    pub fn end(&self) {
        self.open.set(false);
    }

    /// Whether a part of it is still to come.
    pub fn is_open(&self) -> bool {
        self.open.get()
    }

    /// When more bytes must have passed to keep up with the least rate. Without it a client
    /// that sends a byte per deadline would keep its connection, and one to the upstream,
    /// without end. `None` if no rate is demanded, or the body waits for the upstream.
    pub fn rate_due(&self, deadlines: &RequestDeadlines) -> Option<Instant> {
        let passed = self.awaits_customer().then(|| self.passed.get())?;
        let millis = passed.saturating_mul(1_000).checked_div(deadlines.upload_rate)?;
        let allowed = deadlines.body.checked_add(Duration::from_millis(millis))?;
        self.counts_from.get().checked_add(allowed)
    }
}
