//! What one customer's connection is doing, and by when it must have done it.
//!
//! Stream, service and bodies of a connection share a [`Watch`] and note what
//! happens in it; one lazily armed timer per connection looks at it. So a
//! request sets and clears no timer of its own.

use crate::config::Config;
use crate::telemetry::clock;
use crate::telemetry::counters::{Class, Counters};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing: no request has begun.
    Idle,
    /// The head of a request is arriving.
    Head,
    /// The body of a request is on its way to the upstream.
    Upload,
    /// The request is with the upstream.
    Waiting,
    /// The response is on its way to the customer.
    Reply,
}

/// How long each phase may last without progress.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    idle: Duration,
    head: Duration,
    body: Duration,
    /// Bytes per second; 0 asks for none.
    upload_rate: u64,
    response: Duration,
}

impl Patience {
    /// The configured deadlines.
    pub fn of(config: &Config) -> Self {
        Self {
            idle: config.limits.idle_deadline,
            head: config.limits.head_deadline,
            body: config.limits.body_progress_deadline,
            upload_rate: config.limits.upload_rate.into(),
            response: config.upstream.response_timeout,
        }
    }
}

/// The state of one connection.
#[derive(Debug)]
pub struct Watch {
    phase: Cell<Phase>,
    /// Last progress, or when the phase began.
    since: Cell<Instant>,
    patience: Patience,
    /// A request has begun at any time.
    begun: Cell<bool>,
    /// When the last request's head was read.
    asked: Cell<Instant>,
    /// Bytes of its body that have passed.
    uploaded: Cell<u64>,
    /// The request's body has not passed to its end.
    uploading: Cell<bool>,
    /// The response's body has been handed over in full.
    handed_over: Cell<bool>,
    /// The tick since which the customer thinks, if she does.
    thinks_since: Cell<Option<u64>>,
    /// The upstream took too long; the service answers for it.
    upstream_late: Cell<bool>,
    /// The customer has closed her side.
    hung_up: Cell<bool>,
    /// The upstream cut its response.
    truncated: Cell<bool>,
    /// The customer broke HTTP, and was told.
    offended: Cell<bool>,
    /// Whose connection it is.
    pub class: Class,
    /// The core's counters.
    pub counters: Arc<Counters>,
}

impl Watch {
    /// A connection on which nothing has happened yet.
    pub fn new(class: Class, patience: Patience, counters: Arc<Counters>, now: Instant) -> Self {
        Self {
            phase: Cell::new(Phase::Idle),
            since: Cell::new(now),
            patience,
            begun: Cell::new(false),
            asked: Cell::new(now),
            uploaded: Cell::new(0),
            uploading: Cell::new(false),
            handed_over: Cell::new(false),
            thinks_since: Cell::new(None),
            upstream_late: Cell::new(false),
            hung_up: Cell::new(false),
            truncated: Cell::new(false),
            offended: Cell::new(false),
            class,
            counters,
        }
    }

    /// What it is doing.
    pub fn phase(&self) -> Phase {
        self.phase.get()
    }

    /// When the phase's patience ends.
    pub fn deadline(&self) -> Instant {
        let patience = &self.patience;
        let progress = self.since.get()
            + match self.phase.get() {
                // The first request has at least as long as any head.
                Phase::Idle if !self.begun.get() => patience.idle.max(patience.head),
                Phase::Idle => patience.idle,
                Phase::Head => patience.head,
                Phase::Upload | Phase::Reply => patience.body,
                Phase::Waiting => patience.response,
            };
        match self.phase.get() {
            Phase::Upload => self.upload_due().map_or(progress, |due| due.min(progress)),
            _ => progress,
        }
    }

    /// By when more of the request's body must have passed to keep up with the
    /// least rate, averaged from the request's head on: else who sends a byte per
    /// deadline would hold her place, and one at the upstream, for ever. None
    /// where no rate is asked for.
    fn upload_due(&self) -> Option<Instant> {
        let rate = self.patience.upload_rate;
        let paid_for =
            Duration::from_millis(self.uploaded.get().saturating_mul(1_000).checked_div(rate)?);
        self.asked.get().checked_add(self.patience.body)?.checked_add(paid_for)
    }

    fn go(&self, phase: Phase, now: Instant) {
        let before = self.phase.replace(phase);
        self.since.set(now);
        self.count_waiting(before, phase);
        if let Some(since) = self.thinks_since.take() {
            self.counters.thinking.asks(since);
        }
        if phase == Phase::Idle {
            self.thinks_since.set(Some(self.counters.thinking.begins()));
        }
    }

    fn count_waiting(&self, before: Phase, after: Phase) {
        match (before == Phase::Waiting, after == Phase::Waiting) {
            (false, true) => self.counters.waiting[0].add(1),
            (true, false) => self.counters.waiting[0].sub(1),
            _ => {}
        }
    }

    /// The customer sent something.
    pub fn received(&self) {
        if self.phase.get() == Phase::Idle {
            self.go(Phase::Head, clock::now());
        }
    }

    /// A request's head was read. Returns when.
    pub fn request(&self, has_body: bool) -> Instant {
        let now = clock::now();
        self.begun.set(true);
        self.asked.set(now);
        self.uploaded.set(0);
        self.uploading.set(has_body);
        self.handed_over.set(false);
        self.upstream_late.set(false);
        self.go(if has_body { Phase::Upload } else { Phase::Waiting }, now);
        now
    }

    /// So many bytes of the request's body passed.
    pub fn upload_progress(&self, bytes: usize) {
        self.uploaded.set(self.uploaded.get().saturating_add(bytes as u64));
        if self.phase.get() == Phase::Upload {
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
        if self.phase.get() == Phase::Upload {
            self.go(Phase::Waiting, clock::now());
        }
    }

    /// The response's head is there.
    pub fn reply(&self, now: Instant) {
        self.go(Phase::Reply, now);
    }

    /// A part of the response went to the customer.
    pub fn reply_progress(&self) {
        if self.phase.get() == Phase::Reply {
            self.since.set(clock::now());
        }
    }

    /// The response's body was handed over in full, or given up.
    pub fn reply_end(&self) {
        self.handed_over.set(true);
    }

    /// All that was handed over has been sent.
    pub fn flushed(&self) {
        if self.phase.get() == Phase::Reply && self.handed_over.get() {
            self.go(Phase::Idle, clock::now());
        }
    }

    /// The upstream took too long: gives the reply its own time.
    pub fn give_up_waiting(&self) {
        self.upstream_late.set(true);
        self.gave_up();
        self.go(Phase::Reply, clock::now());
    }

    fn gave_up(&self) {
        self.counters.gave_up(clock::now().saturating_duration_since(self.since.get()));
    }

    /// Whether the upstream took too long.
    pub fn upstream_late(&self) -> bool {
        self.upstream_late.get()
    }

    /// The customer closed her side.
    pub fn hang_up(&self) {
        self.hung_up.set(true);
    }

    /// Whether the customer closed her side.
    pub fn hung_up(&self) -> bool {
        self.hung_up.get()
    }

    /// The upstream cut its response.
    pub fn truncate(&self) {
        self.truncated.set(true);
    }

    /// Whether the upstream cut its response.
    pub fn truncated(&self) -> bool {
        self.truncated.get()
    }

    /// The customer broke HTTP, and is told.
    pub fn offend(&self) {
        self.offended.set(true);
    }

    /// Whether the customer broke HTTP.
    pub fn offended(&self) -> bool {
        self.offended.get()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.phase.get() == Phase::Waiting {
            self.gave_up();
        }
        self.count_waiting(self.phase.get(), Phase::Idle);
        if let Some(since) = self.thinks_since.take() {
            self.counters.thinking.ends(since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_control::CensusCounts;

    const SECOND: Duration = Duration::from_secs(1);

    fn patience(upload_rate: u64) -> Patience {
        Patience {
            idle: SECOND,
            head: SECOND,
            body: 10 * SECOND,
            upload_rate,
            response: 30 * SECOND,
        }
    }

    /// When patience ends with a body of which so many bytes have passed, the last
    /// of them so long after the head; since the head.
    fn ends(upload_rate: u64, bytes: usize, last: Duration) -> Duration {
        let now = Instant::now();
        let watch = Watch::new(Class::New, patience(upload_rate), Arc::default(), now);
        let asked = watch.request(true);
        watch.upload_progress(bytes);
        watch.since.set(asked + last);
        watch.deadline() - asked
    }

    #[test]
    fn a_customer_thinks_from_her_answer_to_her_next_request_or_her_end() {
        let counters = Arc::<Counters>::default();
        let known = || {
            let mut thoughts = CensusCounts::default();
            counters.thinking.add_to(&mut thoughts);
            (thoughts.thinking.iter().sum::<u64>(), thoughts.asked[..2].to_vec())
        };
        let now = Instant::now();
        let watch = Watch::new(Class::New, patience(0), counters.clone(), now);
        let answer = || {
            watch.received();
            watch.request(false);
            watch.reply(now);
            watch.reply_end();
            watch.flushed();
        };
        // Who has just come in has not thought.
        assert_eq!(known(), (0, vec![0, 0]));
        answer();
        assert_eq!(known(), (1, vec![0, 0]));
        answer();
        assert_eq!(known(), (1, vec![1, 0]));
        counters.thinking.tick();
        watch.received();
        assert_eq!(known(), (0, vec![1, 1]));
        watch.request(false);
        watch.reply(now);
        watch.reply_end();
        watch.flushed();
        drop(watch);
        assert_eq!(known(), (0, vec![1, 1]));
    }

    #[test]
    fn who_leaves_or_is_left_without_a_response_has_waited_for_as_long() {
        let counters = Arc::<Counters>::default();
        let begin = || {
            let now = Instant::now();
            let watch = Watch::new(Class::New, patience(0), counters.clone(), now);
            watch.request(false);
            watch.since.set(clock::now() - SECOND);
            watch
        };
        let answered = begin();
        answered.reply(clock::now());
        drop(answered);
        assert_eq!(counters.given_up[0].get(), 0);
        drop(begin());
        let late = begin();
        late.give_up_waiting();
        drop(late);
        assert_eq!(counters.given_up[0].get(), 2);
        let mean = counters.given_up_ln_micros[0].get() as f64 / 2.0 * 1e-6;
        assert!((mean - 1e9_f64.ln()).abs() < 0.5, "{mean}");
    }

    #[test]
    fn a_body_lasts_no_longer_than_its_bytes_pay_for_after_the_grace() {
        assert_eq!(ends(64, 0, Duration::ZERO), 10 * SECOND);
        assert_eq!(ends(64, 2, 18 * SECOND), 10 * SECOND + Duration::from_millis(31));
        assert_eq!(ends(64, 640, 15 * SECOND), 20 * SECOND);
    }

    #[test]
    fn a_body_that_came_fast_may_pause_for_the_whole_deadline() {
        assert_eq!(ends(64, 6_400, 15 * SECOND), 25 * SECOND);
    }

    #[test]
    fn without_a_rate_any_progress_will_do() {
        assert_eq!(ends(0, 1, 1_000 * SECOND), 1_010 * SECOND);
    }

    #[test]
    fn each_request_pays_for_itself() {
        let watch = Watch::new(Class::New, patience(64), Arc::default(), Instant::now());
        watch.request(true);
        watch.upload_progress(1_000_000);
        let asked = watch.request(true);
        watch.since.set(asked + 9 * SECOND);
        assert_eq!(watch.deadline() - asked, 10 * SECOND);
    }
}
