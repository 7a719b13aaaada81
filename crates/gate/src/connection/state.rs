//! The state of one customer's connection, and the deadline that follows from it.
//!
//! The connection has what outlives a request: what the customer has acknowledged, their
//! think time, the idle deadline. A request and its response are an [`Exchange`], of which
//! the connection has one. Stream, service and bodies note in both what happens; one lazily
//! armed timer per connection reads them. So a request sets and clears no timer of its own.

use crate::connection::deadlines::RequestDeadlines;
use crate::connection::delivery::Delivery;
use crate::connection::exchange::{Activity, Exchange, Expiry};
use crate::connection::own_session::OwnSession;
use crate::telemetry::clock;
use crate::telemetry::counters::Counters;
use crate::telemetry::labels::{Class, End};
use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The state of one connection.
#[derive(Debug)]
pub struct ConnectionState {
    /// The request under way, or the last one.
    pub exchange: Rc<Exchange>,
    /// Responses on their way to the customer.
    delivery: Delivery,
    /// The idle deadlines before the first request, and between two.
    first_idle: Duration,
    idle: Duration,
    /// Since when no request is under way.
    idle_since: Cell<Instant>,
    /// A request has begun at any time.
    begun: Cell<bool>,
    /// The tick since which the customer is thinking, if they are.
    thinks_since: Cell<Option<u64>>,
    /// It is a proxy's: how long it is without a request is nobody's think time.
    of_proxy: Cell<bool>,
    /// The session of the connection, which may be in the waiting room.
    session: OnceCell<Rc<OwnSession>>,
    /// The customer has closed their side.
    pub closed_by_customer: Cell<bool>,
    /// HTTP/2: the requests under way, each an exchange of its own.
    open_streams: Cell<u32>,
    /// HTTP/2: since when a head is incomplete.
    head_since: Cell<Option<Instant>>,
    class: Class,
    deadlines: RequestDeadlines,
    counters: Arc<Counters>,
}

impl ConnectionState {
    /// A connection on which nothing has happened yet.
    pub fn new(
        class: Class,
        deadlines: RequestDeadlines,
        counters: Arc<Counters>,
        now: Instant,
    ) -> Self {
        Self {
            delivery: Delivery::new(deadlines.delivery, now),
            // The first request has at least as long as any head.
            first_idle: deadlines.idle.max(deadlines.head),
            idle: deadlines.idle,
            idle_since: Cell::new(now),
            begun: Cell::new(false),
            thinks_since: Cell::new(None),
            of_proxy: Cell::new(false),
            session: OnceCell::new(),
            closed_by_customer: Cell::new(false),
            open_streams: Cell::new(0),
            head_since: Cell::new(None),
            class,
            deadlines,
            exchange: Rc::new(Exchange::new(class, deadlines, counters.clone(), now)),
            counters,
        }
    }

    /// The connection is a proxy's, which sends the requests of many customers.
    pub fn is_of_proxy(&self) {
        self.of_proxy.set(true);
    }

    /// The connection is of this session, or will be.
    pub fn is_of(&self, session: Rc<OwnSession>) {
        // It is told once.
        let _ = self.session.set(session);
    }

    /// Whether the customer is in the waiting room.
    pub fn waits(&self) -> bool {
        self.session.get().is_some_and(|session| session.waits_as().is_some())
    }

    /// The response is over, and the customer begins to think, if they are in a session.
    fn begin_thinking(&self) {
        if !self.of_proxy.get() && !self.waits() {
            self.thinks_since.set(Some(self.counters.think_times.begins()));
        }
    }

    /// What the connection is doing.
    pub fn activity(&self) -> Activity {
        if self.open_streams.get() > 0 {
            return Activity::Waiting;
        }
        self.exchange.activity()
    }

    /// Since when nothing is under way, and the customer has all that was sent.
    pub fn idle_since(&self) -> Option<Instant> {
        let idle = self.activity() == Activity::Idle && self.delivery.next_measurement().is_none();
        idle.then(|| self.idle_since.get())
    }

    /// When there must have been progress.
    pub fn deadline(&self) -> Instant {
        let may_wait = matches!(self.activity(), Activity::Idle | Activity::Response);
        if let Some(next) = self.delivery.next_measurement()
            && may_wait
        {
            return self.exchange.over_at().map_or(next, |over| over.min(next));
        }
        let idle = if self.begun.get() { self.idle } else { self.first_idle };
        self.exchange.deadline().unwrap_or_else(|| self.idle_since.get() + idle)
    }

    /// The deadline has passed. `measured` tells whether it has just been measured what the
    /// peer has not read.
    pub fn expire(&self, measured: bool) -> Expiry {
        let waits = self.delivery.waits();
        match self.activity() {
            Activity::Response if self.exchange.is_over_time() => self.exchange.expire(measured),
            // All was sent, and the customer may still be reading: they are not idle then.
            Activity::Idle if self.begun.get() && !self.idle.is_zero() && !measured => {
                self.delivery.demand_measurement();
                Expiry::Measure
            }
            Activity::Response if waits && !measured => {
                self.delivery.demand_measurement();
                Expiry::Measure
            }
            Activity::Idle | Activity::Response if waits => Expiry::Close(End::BodyDeadline),
            _ => self.exchange.expire(measured),
        }
    }

    /// So many bytes were received, TLS included.
    pub fn bytes_received(&self, bytes: usize) {
        self.counters.bytes_in.add(bytes as u64);
    }

    /// So many bytes were sent, TLS included.
    pub fn bytes_sent(&self, bytes: usize) {
        if bytes > 0 {
            self.counters.bytes_out.add(bytes as u64);
            self.delivery.sent(bytes, clock::now());
            self.exchange.response_progress();
        }
    }

    /// Whether no request is under way.
    pub fn awaits_request(&self) -> bool {
        self.open_streams.get() == 0 && self.exchange.awaits_request()
    }

    /// Bytes of HTTP arrived from the customer.
    pub fn received(&self) {
        if self.activity() == Activity::Idle {
            self.exchange.head_begins(clock::now());
            self.stop_thinking();
        }
    }

    /// A request's head was read: its exchange begins.
    pub fn request(&self, has_body: bool) -> Rc<Exchange> {
        let now = clock::now();
        self.begun.set(true);
        self.exchange.request(has_body, now);
        self.stop_thinking();
        self.exchange.clone()
    }

    /// The response's head arrived. `streams` tells whether it begins a stream of events.
    pub fn response(&self, exchange: &Exchange, streams: bool, now: Instant) {
        self.delivery.begin();
        exchange.response(streams, now);
    }

    fn stop_thinking(&self) {
        if let Some(since) = self.thinks_since.take() {
            self.counters.think_times.requests(since);
        }
    }

    /// The kernel accepts no more of the response. `unacknowledged` returns how much it has
    /// of what the customer has not acknowledged.
    pub fn send_waits(&self, unacknowledged: impl FnOnce() -> u64) {
        if self.exchange.is_responding() {
            self.delivery.wait(clock::now(), unacknowledged);
        }
    }

    /// All that was handed over has been accepted by the kernel.
    pub fn flushed(&self) {
        if !self.exchange.is_responding() {
            return;
        }
        if self.delivery.waits() {
            self.delivery.accepted(clock::now());
            self.exchange.response_progress();
        }
        let now = clock::now();
        if self.exchange.flushed(now) {
            self.idle_since.set(now);
            self.begin_thinking();
        }
    }

    /// Whether it has to be measured what the customer has not acknowledged, although
    /// the kernel has accepted everything.
    pub fn measurement_due(&self) -> bool {
        self.activity() == Activity::Idle && self.delivery.is_measurement_due()
    }

    /// So many bytes of the last response are not acknowledged yet.
    pub fn measured(&self, unacknowledged: u64) {
        let (now, waited) = (clock::now(), self.delivery.waits());
        self.delivery.measured(now, unacknowledged);
        if waited && !self.delivery.waits() {
            // Only now the customer has all of it, and may begin to think.
            self.idle_since.set(now);
        }
    }
}

impl Drop for ConnectionState {
    fn drop(&mut self) {
        if let Some(since) = self.thinks_since.take() {
            self.counters.think_times.ends(since);
        }
    }
}

mod streams;
#[cfg(test)]
mod tests;
mod tunnel;
