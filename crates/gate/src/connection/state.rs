//! The state of one customer's connection, and the deadline that follows from it.
//!
//! Stream, service and bodies of a connection share a [`ConnectionState`] and note in it
//! what happens; one lazily armed timer per connection reads it. So a request sets and
//! clears no timer of its own.

use crate::connection::asked::Asked;
use crate::connection::deadlines::RequestDeadlines;
use crate::connection::delivery::Delivery;
use crate::connection::upload::Upload;
use crate::framing::Fault;
use crate::telemetry::clock;
use crate::telemetry::counters::Counters;
use crate::telemetry::labels::{Class, End, Malformed, UpstreamFault};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;
use tidegate_trace::Phase;

/// Why a response was given up in the middle.
const STOPPED_SENDING: &str =
    "nothing more of the response within limits.body_progress_deadline (or stream_deadline)";

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// No request has begun.
    Idle,
    /// The head of a request is arriving.
    Head,
    /// The body of a request is on its way to the upstream.
    Upload,
    /// The request is with the upstream.
    Waiting,
    /// The response is on its way to the customer.
    Response,
}

/// What follows when a deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// The connection ends.
    Close(End),
    /// The gate answers in place of the upstream, which is late.
    Answer,
    /// Whether the customer still reads has to be looked up first.
    Look,
}

/// The state of one connection.
#[derive(Debug)]
pub struct ConnectionState {
    activity: Cell<Activity>,
    /// Last progress, or when the activity began.
    since: Cell<Instant>,
    deadlines: RequestDeadlines,
    /// A request has begun at any time.
    begun: Cell<bool>,
    /// The body of the last request.
    upload: Upload,
    /// Responses on their way to the customer.
    delivery: Delivery,
    /// The response is a stream of events.
    streams: Cell<bool>,
    /// It has just begun.
    new_stream: Cell<bool>,
    /// The response's body has been handed over in full.
    handed_over: Cell<bool>,
    /// The tick since which the customer is thinking, if they are.
    thinks_since: Cell<Option<u64>>,
    /// How the upstream failed, if it did not respond in time.
    upstream_late: Cell<Option<UpstreamFault>>,
    /// The customer has closed their side.
    closed_by_customer: Cell<bool>,
    /// The upstream cut its response.
    truncated: Cell<bool>,
    /// A request broke HTTP, and was answered with an error.
    malformed: Cell<bool>,
    /// Where the customer's bytes broke its grammar.
    fault: Cell<Option<Fault>>,
    /// The customer did not send a request's body to its end.
    upload_failed: Cell<bool>,
    /// The request under way.
    pub asked: Asked,
    /// The class of the connection.
    pub class: Class,
    /// The core's counters.
    pub counters: Arc<Counters>,
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
            activity: Cell::new(Activity::Idle),
            since: Cell::new(now),
            upload: Upload::new(now),
            delivery: Delivery::new(deadlines.delivery, now),
            streams: Cell::new(false),
            new_stream: Cell::new(false),
            deadlines,
            begun: Cell::new(false),
            handed_over: Cell::new(false),
            thinks_since: Cell::new(None),
            upstream_late: Cell::new(None),
            closed_by_customer: Cell::new(false),
            truncated: Cell::new(false),
            malformed: Cell::new(false),
            fault: Cell::new(None),
            upload_failed: Cell::new(false),
            asked: Asked::default(),
            class,
            counters,
        }
    }

    /// What the connection is doing.
    pub fn activity(&self) -> Activity {
        self.activity.get()
    }

    /// When the activity must have made progress.
    pub fn deadline(&self) -> Instant {
        let deadlines = &self.deadlines;
        let activity = self.activity.get();
        if let (Activity::Idle | Activity::Response, Some(look)) =
            (activity, self.delivery.next_look())
        {
            return look;
        }
        let progress = self.since.get()
            + match activity {
                // The first request has at least as long as any head.
                Activity::Idle if !self.begun.get() => deadlines.idle.max(deadlines.head),
                Activity::Idle => deadlines.idle,
                Activity::Head => deadlines.head,
                Activity::Response if self.streams.get() => deadlines.stream,
                Activity::Upload if !self.upload.awaits_customer() => {
                    self.upload.patience(deadlines)
                }
                Activity::Upload | Activity::Response => deadlines.body,
                Activity::Waiting => deadlines.response,
            };
        match activity {
            Activity::Upload => {
                let due = self.upload.rate_due(deadlines);
                due.map_or(progress, |due| due.min(progress))
            }
            _ => progress,
        }
    }

    /// The deadline has passed. `looked` tells whether it has just been looked up what the
    /// customer has not read.
    pub fn expire(&self, looked: bool) -> Expiry {
        let waits = self.delivery.waits();
        match self.activity.get() {
            // All was sent, and the customer may still be reading: they are not idle then.
            Activity::Idle if self.begun.get() && !self.deadlines.idle.is_zero() && !looked => {
                self.delivery.demand_look();
                Expiry::Look
            }
            Activity::Response if waits && !looked => {
                self.delivery.demand_look();
                Expiry::Look
            }
            Activity::Idle | Activity::Response if waits => Expiry::Close(End::BodyDeadline),
            Activity::Idle => Expiry::Close(End::Idle),
            Activity::Head => Expiry::Close(End::HeadDeadline),
            Activity::Upload if self.upload.awaits_customer() => Expiry::Close(End::BodyDeadline),
            Activity::Upload if self.upload.expire(looked) => self.give_up(UpstreamFault::Stalled),
            Activity::Upload => Expiry::Look,
            Activity::Waiting => {
                self.count_given_up();
                self.give_up(UpstreamFault::Timeout)
            }
            Activity::Response => {
                self.upstream_failed(UpstreamFault::Stalled, STOPPED_SENDING);
                Expiry::Close(End::Truncated)
            }
        }
    }

    fn enter(&self, activity: Activity, now: Instant) {
        let before = self.activity.replace(activity);
        self.since.set(now);
        self.count_waiting(before, activity);
        trace(before, activity);
        if let Some(since) = self.thinks_since.take() {
            self.counters.think_times.requests(since);
        }
        if activity == Activity::Idle {
            self.thinks_since.set(Some(self.counters.think_times.begins()));
        }
    }

    fn count_waiting(&self, before: Activity, after: Activity) {
        match (before == Activity::Waiting, after == Activity::Waiting) {
            (false, true) => self.counters.at_upstream.add(1),
            (true, false) => self.counters.at_upstream.sub(1),
            _ => {}
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
            self.response_progress();
        }
    }

    /// Whether no request is under way.
    pub fn awaits_request(&self) -> bool {
        matches!(self.activity.get(), Activity::Idle | Activity::Head)
    }

    /// Bytes of HTTP arrived from the customer.
    pub fn received(&self) {
        if self.activity.get() == Activity::Idle {
            self.enter(Activity::Head, clock::now());
        }
    }

    /// A request's head was read. Returns when.
    pub fn request(&self, has_body: bool) -> Instant {
        let now = clock::now();
        self.begun.set(true);
        self.upload.begin(has_body, now);
        self.upload_failed.set(false);
        self.handed_over.set(false);
        self.upstream_late.set(None);
        self.enter(if has_body { Activity::Upload } else { Activity::Waiting }, now);
        now
    }

    /// So many bytes of the request's body passed.
    pub fn upload_progress(&self, bytes: usize) {
        let now = clock::now();
        self.upload.pass(bytes, now);
        if self.activity.get() == Activity::Upload {
            self.since.set(now);
        }
    }

    /// The upstream is ready for more of the request's body than has arrived.
    pub fn upload_waits(&self) {
        let now = clock::now();
        if self.upload.await_customer(now) && self.activity.get() == Activity::Upload {
            self.since.set(now);
        }
    }

    /// Whether it has to be looked up what the upstream has not acknowledged of the
    /// request's body; then it no longer has.
    pub fn take_upload_look(&self) -> bool {
        self.upload.take_look()
    }

    /// The upstream has not acknowledged so many bytes of the request.
    pub fn upload_rest(&self, unacknowledged: u64) {
        if self.upload.rest(unacknowledged) && self.activity.get() == Activity::Upload {
            self.since.set(clock::now());
        }
    }

    /// Whether a part of the request's body is still to come.
    pub fn uploading(&self) -> bool {
        self.upload.is_open()
    }

    /// The request's body passed to its end.
    pub fn upload_end(&self) {
        self.upload.end();
        if self.activity.get() == Activity::Upload {
            self.enter(Activity::Waiting, clock::now());
        }
    }

    /// The customer did not send the request's body to its end, or broke HTTP in it.
    pub fn upload_fails(&self) {
        self.upload_failed.set(true);
    }

    /// Whether the customer did not send the request's body to its end.
    pub fn upload_failed(&self) -> bool {
        self.upload_failed.get()
    }

    /// The response's head arrived. `streams` tells whether it begins a stream of events.
    pub fn response(&self, streams: bool, now: Instant) {
        self.streams.set(streams);
        self.new_stream.set(streams);
        self.delivery.begin();
        self.enter(Activity::Response, now);
    }

    /// Whether a stream of events has begun since the last call.
    pub fn take_new_stream(&self) -> bool {
        self.new_stream.take()
    }

    /// A part of the response was sent to the customer.
    pub fn response_progress(&self) {
        if self.activity.get() == Activity::Response {
            self.since.set(clock::now());
        }
    }

    /// The response's body was handed over in full, or given up.
    pub fn response_end(&self) {
        self.handed_over.set(true);
        self.asked.forget();
    }

    /// The kernel accepts no more of the response. `unacknowledged` returns how much it has
    /// of what the customer has not acknowledged.
    pub fn send_waits(&self, unacknowledged: impl FnOnce() -> u64) {
        if self.activity.get() == Activity::Response {
            self.delivery.wait(clock::now(), unacknowledged);
        }
    }

    /// All that was handed over has been accepted by the kernel.
    pub fn flushed(&self) {
        if self.activity.get() == Activity::Response {
            if self.delivery.waits() {
                let now = clock::now();
                self.delivery.accepted(now);
                self.since.set(now);
            }
            if self.handed_over.get() {
                self.enter(Activity::Idle, clock::now());
            }
        }
    }

    /// Whether it has to be looked up what the customer has not acknowledged, although
    /// the kernel has accepted everything.
    pub fn look_due(&self) -> bool {
        self.activity.get() == Activity::Idle && self.delivery.is_look_due()
    }

    /// So many bytes of the last response are not acknowledged yet.
    pub fn rest(&self, unacknowledged: u64) {
        let (now, waited) = (clock::now(), self.delivery.waits());
        self.delivery.rest(now, unacknowledged);
        if waited && !self.delivery.waits() {
            // Only now the customer has all of it, and may begin to think.
            self.since.set(now);
        }
    }

    /// The upstream is late: the gate's own response begins.
    fn give_up(&self, fault: UpstreamFault) -> Expiry {
        self.upstream_late.set(Some(fault));
        self.enter(Activity::Response, clock::now());
        Expiry::Answer
    }

    fn count_given_up(&self) {
        self.counters.gave_up(clock::now().saturating_duration_since(self.since.get()));
    }

    /// Counts and notes that the upstream failed the request; `why` in a few words.
    pub fn upstream_failed(&self, fault: UpstreamFault, why: &str) {
        self.counters.upstream_faults[fault].add(1);
        self.counters.troubles.note_request(fault, why, || self.asked.text());
    }

    /// How the upstream failed, if it did not respond in time.
    pub fn upstream_late(&self) -> Option<UpstreamFault> {
        self.upstream_late.get()
    }

    /// The customer closed their side.
    pub fn note_close(&self) {
        self.closed_by_customer.set(true);
    }

    /// Whether the customer closed their side.
    pub fn closed_by_customer(&self) -> bool {
        self.closed_by_customer.get()
    }

    /// The upstream cut its response.
    pub fn truncate(&self) {
        self.truncated.set(true);
    }

    /// Whether the upstream cut its response.
    pub fn truncated(&self) -> bool {
        self.truncated.get()
    }

    /// A request broke HTTP, and is answered with an error.
    pub fn note_malformed(&self, part: Malformed) {
        if !self.malformed.replace(true) {
            self.counters.malformed_requests[part].add(1);
        }
    }

    /// The customer's bytes break the grammar of HTTP.
    pub fn note_fault(&self, fault: Fault) {
        self.note_malformed(Malformed::of(fault));
        self.fault.set(Some(fault));
    }

    /// Where the customer's bytes broke the grammar of HTTP.
    pub fn fault(&self) -> Option<Fault> {
        self.fault.get()
    }

    /// Whether a request broke HTTP.
    pub fn malformed(&self) -> bool {
        self.malformed.get()
    }
}

/// Records what a connection does from now on.
fn trace(before: Activity, activity: Activity) {
    match (before, activity) {
        (_, Activity::Idle) => {
            tidegate_trace::with_line(|line| line.finish_request(Phase::Idle));
        }
        (_, Activity::Head | Activity::Upload) => tidegate_trace::enter(Phase::ReadRequest),
        // The upstream has received the request up to its end.
        (Activity::Upload, Activity::Waiting) => tidegate_trace::enter(Phase::Upstream),
        (_, Activity::Waiting) => tidegate_trace::enter(Phase::Service),
        (_, Activity::Response) => tidegate_trace::enter(Phase::Respond),
    }
}

impl Drop for ConnectionState {
    fn drop(&mut self) {
        if self.activity.get() == Activity::Waiting {
            self.count_given_up();
        }
        self.count_waiting(self.activity.get(), Activity::Idle);
        if let Some(since) = self.thinks_since.take() {
            self.counters.think_times.ends(since);
        }
    }
}

#[cfg(test)]
mod tests;
