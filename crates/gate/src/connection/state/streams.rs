//! The state of a connection with HTTP/2: its streams have exchanges of their own, and the
//! connection has what concerns all of them.

use super::ConnectionState;
use crate::connection::delivery::Delivery;
use crate::connection::exchange::{Exchange, Expiry};
use crate::telemetry::clock;
use crate::telemetry::labels::End;
use std::rc::Rc;
use std::time::Instant;

impl ConnectionState {
    /// A stream begins with the head of a request. `has_body` tells whether a body follows.
    pub fn stream_opens(&self, has_body: bool) -> Rc<Exchange> {
        let now = clock::now();
        self.begun.set(true);
        self.stop_thinking();
        self.open_streams.set(self.open_streams.get() + 1);
        let exchange = Exchange::new(self.class, self.deadlines, self.counters.clone(), now);
        if let Some(log) = self.exchange.log() {
            exchange.log_to(log.of_stream());
        }
        exchange.request(has_body, now);
        Rc::new(exchange)
    }

    /// A stream is over.
    pub fn stream_ends(&self) {
        self.open_streams.set(self.open_streams.get().saturating_sub(1));
        if self.open_streams.get() == 0 {
            self.idle_since.set(clock::now());
            self.begin_thinking();
        }
    }

    /// How the customer takes the response of one stream.
    pub fn delivery_of_stream(&self) -> Delivery {
        Delivery::new(self.deadlines.delivery, clock::now())
    }

    /// Whether the head of a request is incomplete, after bytes have arrived.
    pub fn head_is_incomplete(&self, incomplete: bool) {
        match (incomplete, self.head_since.get()) {
            (true, None) => self.head_since.set(Some(clock::now())),
            (false, Some(_)) => self.head_since.set(None),
            _ => {}
        }
    }

    /// The kernel accepts no more of the responses; see [`ConnectionState::send_waits`].
    pub fn streams_wait(&self, unacknowledged: impl FnOnce() -> u64) {
        self.delivery.wait(clock::now(), unacknowledged);
    }

    /// The kernel has accepted all frames.
    pub fn streams_flushed(&self) {
        if self.delivery.waits() && !self.measurement_due() {
            self.delivery.accepted(clock::now());
        }
    }

    /// Whether responses wait for the kernel.
    pub fn is_blocked(&self) -> bool {
        self.delivery.waits()
    }

    /// When there must have been progress; `None` while the deadlines of the streams suffice.
    pub fn deadline_of_streams(&self) -> Option<Instant> {
        let head = self.head_since.get().map(|since| since + self.deadlines.head);
        let idle = if self.begun.get() { self.idle } else { self.first_idle };
        let waits = self.delivery.next_measurement();
        let idle =
            (self.open_streams.get() == 0 && waits.is_none()).then(|| self.idle_since.get() + idle);
        [head, idle, waits].into_iter().flatten().min()
    }

    /// That deadline has passed. `measured` tells whether it has just been measured what the
    /// customer has not read.
    pub fn expire_streams(&self, measured: bool) -> Expiry {
        let late = |since: Instant| since + self.deadlines.head <= clock::now();
        if self.head_since.get().is_some_and(late) {
            return Expiry::Close(End::HeadDeadline);
        }
        let waits = self.delivery.waits();
        let reads_on = self.begun.get() && !self.idle.is_zero();
        if !measured && (waits || reads_on) {
            self.delivery.demand_measurement();
            return Expiry::Measure;
        }
        Expiry::Close(if waits { End::BodyDeadline } else { End::Idle })
    }
}
