//! The state of one customer's connection, and the deadline that follows from it.
//!
//! Stream, service and bodies of a connection share a [`ConnectionState`] and note in it
//! what happens; one lazily armed timer per connection reads it. So a request sets and
//! clears no timer of its own.

use crate::connection::deadlines::RequestDeadlines;
use crate::framing::Fault;
use crate::telemetry::clock;
use crate::telemetry::counters::Counters;
use crate::telemetry::labels::{Class, Malformed};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

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

/// The state of one connection.
#[derive(Debug)]
pub struct ConnectionState {
    activity: Cell<Activity>,
    /// Last progress, or when the activity began.
    since: Cell<Instant>,
    deadlines: RequestDeadlines,
    /// A request has begun at any time.
    begun: Cell<bool>,
    /// When the last request's head was read.
    requested: Cell<Instant>,
    /// Bytes of its body that have passed.
    uploaded: Cell<u64>,
    /// The request's body has not passed to its end.
    uploading: Cell<bool>,
    /// The response's body has been handed over in full.
    handed_over: Cell<bool>,
    /// The tick since which the customer is thinking, if they are.
    thinks_since: Cell<Option<u64>>,
    /// The upstream did not respond in time.
    upstream_late: Cell<bool>,
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
            deadlines,
            begun: Cell::new(false),
            requested: Cell::new(now),
            uploaded: Cell::new(0),
            uploading: Cell::new(false),
            handed_over: Cell::new(false),
            thinks_since: Cell::new(None),
            upstream_late: Cell::new(false),
            closed_by_customer: Cell::new(false),
            truncated: Cell::new(false),
            malformed: Cell::new(false),
            fault: Cell::new(None),
            upload_failed: Cell::new(false),
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
        let progress = self.since.get()
            + match self.activity.get() {
                // The first request has at least as long as any head.
                Activity::Idle if !self.begun.get() => deadlines.idle.max(deadlines.head),
                Activity::Idle => deadlines.idle,
                Activity::Head => deadlines.head,
                Activity::Upload | Activity::Response => deadlines.body,
                Activity::Waiting => deadlines.response,
            };
        match self.activity.get() {
            Activity::Upload => {
                let due = deadlines.upload_due(self.requested.get(), self.uploaded.get());
                due.map_or(progress, |due| due.min(progress))
            }
            _ => progress,
        }
    }

    fn enter(&self, activity: Activity, now: Instant) {
        let before = self.activity.replace(activity);
        self.since.set(now);
        self.count_waiting(before, activity);
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
        self.requested.set(now);
        self.uploaded.set(0);
        self.uploading.set(has_body);
        self.upload_failed.set(false);
        self.handed_over.set(false);
        self.upstream_late.set(false);
        self.enter(if has_body { Activity::Upload } else { Activity::Waiting }, now);
        now
    }

    /// So many bytes of the request's body passed.
    pub fn upload_progress(&self, bytes: usize) {
        self.uploaded.set(self.uploaded.get().saturating_add(bytes as u64));
        if self.activity.get() == Activity::Upload {
            self.since.set(clock::now());
        }
    }

    /// Whether a part of the request's body is still to come.
    pub fn uploading(&self) -> bool {
        self.uploading.get()
    }

    /// The request's body passed to its end.
    pub fn upload_end(&self) {
        self.uploading.set(false);
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

    /// The response's head arrived.
    pub fn response(&self, now: Instant) {
        self.enter(Activity::Response, now);
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
    }

    /// All that was handed over has been sent.
    pub fn flushed(&self) {
        if self.activity.get() == Activity::Response && self.handed_over.get() {
            self.enter(Activity::Idle, clock::now());
        }
    }

    /// The upstream did not respond in time: the gate's own response begins.
    pub fn give_up_waiting(&self) {
        self.upstream_late.set(true);
        self.count_given_up();
        self.enter(Activity::Response, clock::now());
    }

    fn count_given_up(&self) {
        self.counters.gave_up(clock::now().saturating_duration_since(self.since.get()));
    }

    /// Whether the upstream did not respond in time.
    pub fn upstream_late(&self) -> bool {
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
mod tests {
    use super::*;
    use std::time::Duration;
    use tidegate_control::CensusCounts;

    const SECOND: Duration = Duration::from_secs(1);

    fn deadlines(upload_rate: u64) -> RequestDeadlines {
        RequestDeadlines {
            idle: SECOND,
            head: SECOND,
            body: 10 * SECOND,
            upload_rate,
            response: 30 * SECOND,
        }
    }

    /// The deadline with a body of which so many bytes have passed, the last of them so
    /// long after the head; from the head on.
    fn ends(upload_rate: u64, bytes: usize, last: Duration) -> Duration {
        let now = Instant::now();
        let state = ConnectionState::new(Class::New, deadlines(upload_rate), Arc::default(), now);
        let requested = state.request(true);
        state.upload_progress(bytes);
        state.since.set(requested + last);
        state.deadline() - requested
    }

    #[test]
    fn a_customer_is_thinking_from_a_response_to_the_next_request_or_the_end() {
        let counters = Arc::<Counters>::default();
        let known = || {
            let mut counts = CensusCounts::default();
            counters.think_times.add_to(&mut counts);
            (counts.thinking.iter().sum::<u64>(), counts.requests_by_age[..2].to_vec())
        };
        let now = Instant::now();
        let state = ConnectionState::new(Class::New, deadlines(0), counters.clone(), now);
        let answer = || {
            state.received();
            state.request(false);
            state.response(now);
            state.response_end();
            state.flushed();
        };
        // Before the first response there is no think time.
        assert_eq!(known(), (0, vec![0, 0]));
        answer();
        assert_eq!(known(), (1, vec![0, 0]));
        answer();
        assert_eq!(known(), (1, vec![1, 0]));
        counters.think_times.tick();
        state.received();
        assert_eq!(known(), (0, vec![1, 1]));
        state.request(false);
        state.response(now);
        state.response_end();
        state.flushed();
        drop(state);
        assert_eq!(known(), (0, vec![1, 1]));
    }

    #[test]
    fn a_request_without_a_response_counts_as_given_up_with_its_wait() {
        let counters = Arc::<Counters>::default();
        let begin = || {
            let now = Instant::now();
            let state = ConnectionState::new(Class::New, deadlines(0), counters.clone(), now);
            state.request(false);
            state.since.set(clock::now() - SECOND);
            state
        };
        let answered = begin();
        answered.response(clock::now());
        drop(answered);
        assert_eq!(counters.given_up.get(), 0);
        drop(begin());
        let late = begin();
        late.give_up_waiting();
        drop(late);
        assert_eq!(counters.given_up.get(), 2);
        let mean = counters.given_up_ln_micros.get() as f64 / 2.0 * 1e-6;
        assert!((mean - 1e9_f64.ln()).abs() < 0.5, "{mean}");
    }

    #[test]
    fn a_body_must_keep_up_with_the_least_rate_after_the_first_deadline() {
        assert_eq!(ends(64, 0, Duration::ZERO), 10 * SECOND);
        assert_eq!(ends(64, 2, 18 * SECOND), 10 * SECOND + Duration::from_millis(31));
        assert_eq!(ends(64, 640, 15 * SECOND), 20 * SECOND);
    }

    #[test]
    fn a_body_that_arrived_fast_may_pause_for_the_whole_deadline() {
        assert_eq!(ends(64, 6_400, 15 * SECOND), 25 * SECOND);
    }

    #[test]
    fn without_a_rate_any_progress_suffices() {
        assert_eq!(ends(0, 1, 1_000 * SECOND), 1_010 * SECOND);
    }

    #[test]
    fn the_rate_holds_for_each_request_alone() {
        let state = ConnectionState::new(Class::New, deadlines(64), Arc::default(), Instant::now());
        state.request(true);
        state.upload_progress(1_000_000);
        let requested = state.request(true);
        state.since.set(requested + 9 * SECOND);
        assert_eq!(state.deadline() - requested, 10 * SECOND);
    }
}
