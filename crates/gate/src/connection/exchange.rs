//! One exchange: a request, its response, and the deadlines of both.
//!
//! HTTP/1.1 has one exchange at a time on a connection, so its connection keeps one and
//! begins it anew with each request: no allocation per request. With HTTP/2 each stream has
//! one of its own.

use crate::access_log::ExchangeLog;
use crate::connection::asked::Asked;
use crate::connection::deadlines::{RequestDeadlines, UpstreamTimes};
use crate::connection::interim::Interim;
use crate::connection::upload::Upload;
use crate::framing::Fault;
use crate::telemetry::clock;
use crate::telemetry::counters::Counters;
use crate::telemetry::cpu;
use crate::telemetry::labels::{Class, End, Malformed, Tier, UpstreamFault};
use crate::telemetry::route_counts::RouteCounts;
use crate::telemetry::troubles::Subject;
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_trace::Phase;

mod queue;

/// Why a response was given up in the middle.
const STOPPED_SENDING: &str =
    "nothing more of the response within response_pause (of events: stream_deadline)";
const STOPPED_READING: &str = "the disk gave nothing within limits.body_progress_deadline";

/// How long the search for a file may take; after that the request is for the upstream.
const LOOKUP: Duration = Duration::from_secs(1);

/// What an exchange is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// No request has begun.
    Idle,
    /// The head of a request is arriving.
    Head,
    /// The request waits for the admission of its session.
    Queue,
    /// A file is searched for that answers the request.
    Lookup,
    /// The body of a request is on its way to the upstream.
    Upload,
    /// The request is with the upstream.
    Waiting,
    /// The response is on its way to the customer.
    Response,
    /// The connection has changed to a WebSocket.
    Tunnel,
}

/// What follows when a deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// The connection ends.
    Close(End),
    /// The gate answers in place of the upstream, which is late.
    Answer,
    /// Whether the peer still reads has to be measured first.
    Measure,
}

/// One request and its response.
#[derive(Debug)]
pub struct Exchange {
    activity: Cell<Activity>,
    /// When the request's head was read.
    begun: Cell<Instant>,
    /// Last progress, or when the activity began.
    since: Cell<Instant>,
    deadlines: RequestDeadlines,
    /// How long the upstream may take, by the route.
    times: Cell<UpstreamTimes>,
    /// The body of the request.
    upload: Upload,
    /// The response is a stream of events.
    streams: Cell<bool>,
    /// It has just begun.
    new_stream: Cell<bool>,
    /// The search for a file took too long.
    lookup_late: Cell<bool>,
    /// What answers the request.
    tier: Cell<Tier>,
    /// What the request counts to, where routes are configured.
    route: RefCell<Option<Arc<RouteCounts>>>,
    /// The URL of the upstream, if it is that of a route.
    routed_to: RefCell<Option<Arc<str>>>,
    /// The response's body has been handed over in full.
    handed_over: Cell<bool>,
    /// How the upstream failed, if it did not respond in time.
    upstream_late: Cell<Option<UpstreamFault>>,
    /// The upstream cut its response.
    pub truncated: Cell<bool>,
    /// The request broke HTTP, and was answered with an error.
    malformed: Cell<bool>,
    /// Where the customer's bytes broke its grammar.
    fault: Cell<Option<Fault>>,
    /// Bytes follow a request for a WebSocket before its answer.
    pub early: Cell<bool>,
    /// The customer did not send the request's body to its end, or broke HTTP in it.
    pub upload_failed: Cell<bool>,
    /// What was asked for.
    pub asked: Asked,
    /// What the access log will say, if there is one.
    log: OnceCell<Box<ExchangeLog>>,
    /// Interim responses (1xx) of the upstream for the customer.
    pub interim: Interim,
    /// The request is answered by the waiting room: it is the work of no session.
    pub in_room: Cell<bool>,
    /// The class of the connection.
    pub class: Class,
    /// The core's counters.
    pub counters: Arc<Counters>,
}

impl Exchange {
    /// No request has begun.
    pub fn new(
        class: Class,
        deadlines: RequestDeadlines,
        counters: Arc<Counters>,
        now: Instant,
    ) -> Self {
        Self {
            activity: Cell::new(Activity::Idle),
            begun: Cell::new(now),
            since: Cell::new(now),
            times: Cell::new(deadlines.upstream),
            deadlines,
            upload: Upload::new(now),
            streams: Cell::new(false),
            new_stream: Cell::new(false),
            lookup_late: Cell::new(false),
            tier: Cell::new(Tier::Upstream),
            route: RefCell::default(),
            routed_to: RefCell::default(),
            handed_over: Cell::new(false),
            upstream_late: Cell::new(None),
            truncated: Cell::new(false),
            malformed: Cell::new(false),
            fault: Cell::new(None),
            early: Cell::new(false),
            upload_failed: Cell::new(false),
            asked: Asked::default(),
            log: OnceCell::new(),
            interim: Interim::default(),
            in_room: Cell::new(false),
            class,
            counters,
        }
    }

    /// Logs from now on.
    pub fn log_to(&self, log: ExchangeLog) {
        // It is told once for each connection.
        let _ = self.log.set(Box::new(log));
    }

    /// The access log, if there is one.
    pub fn log(&self) -> Option<&ExchangeLog> {
        self.log.get().map(Box::as_ref)
    }

    /// What it is doing.
    pub fn activity(&self) -> Activity {
        self.activity.get()
    }

    /// When the request's head was read.
    pub fn begun(&self) -> Instant {
        self.begun.get()
    }

    /// Whether no request is under way whose answer the customer waits for.
    pub fn awaits_request(&self) -> bool {
        matches!(self.activity.get(), Activity::Idle | Activity::Head | Activity::Tunnel)
    }

    /// Whether the response is on its way to the customer.
    pub fn is_responding(&self) -> bool {
        self.activity.get() == Activity::Response
    }

    /// When it must have made progress; `None` where no request has begun.
    pub fn deadline(&self) -> Option<Instant> {
        let deadlines = &self.deadlines;
        let allowed = match self.activity.get() {
            Activity::Idle => return None,
            Activity::Head => deadlines.head,
            Activity::Response if self.streams.get() => self.times.get().stream,
            Activity::Upload if !self.upload.awaits_customer() => self.upload.patience(deadlines),
            Activity::Response if self.tier.get() == Tier::Upstream => self.times.get().pause,
            Activity::Upload | Activity::Response | Activity::Tunnel => deadlines.body,
            Activity::Waiting => self.times.get().response,
            Activity::Queue => queue::DEADLINE,
            Activity::Lookup => LOOKUP,
        };
        let progress = self.since.get() + allowed;
        let rate_due = match self.activity.get() {
            Activity::Upload => self.upload.rate_due(deadlines),
            _ => None,
        };
        [rate_due, self.over_at()].into_iter().flatten().chain([progress]).min()
    }

    /// The deadline has passed. `measured` tells whether it has just been measured what the
    /// upstream has not read.
    pub fn expire(&self, measured: bool) -> Expiry {
        if self.is_over_time() {
            return self.expire_whole();
        }
        match self.activity.get() {
            Activity::Idle => Expiry::Close(End::Idle),
            Activity::Head => Expiry::Close(End::HeadDeadline),
            Activity::Upload if self.upload.awaits_customer() => Expiry::Close(End::BodyDeadline),
            Activity::Tunnel => Expiry::Close(End::BodyDeadline),
            Activity::Upload if self.upload.expire(measured) => {
                self.give_up(UpstreamFault::Stalled)
            }
            Activity::Upload => Expiry::Measure,
            Activity::Waiting => {
                self.count_given_up();
                self.give_up(UpstreamFault::Timeout)
            }
            Activity::Queue => Expiry::Close(End::HoldExpired),
            Activity::Lookup => {
                self.lookup_late.set(true);
                self.enter(Activity::Waiting, clock::now());
                Expiry::Answer
            }
            Activity::Response => {
                match self.tier.get() {
                    Tier::Upstream => self.upstream_failed(UpstreamFault::Stalled, STOPPED_SENDING),
                    Tier::Static => self.file_failed(STOPPED_READING),
                }
                Expiry::Close(End::Truncated)
            }
        }
    }

    fn enter(&self, activity: Activity, now: Instant) {
        let before = self.activity.replace(activity);
        self.since.set(now);
        self.count_waiting(before, activity);
        trace(before, activity);
    }

    fn count_waiting(&self, before: Activity, after: Activity) {
        match (before == Activity::Waiting, after == Activity::Waiting) {
            (false, true) => self.counters.at_upstream.add(1),
            (true, false) => self.counters.at_upstream.sub(1),
            _ => {}
        }
    }

    /// An activity made progress, if it is the one under way.
    fn progress(&self, activity: Activity, now: Instant) {
        if self.activity.get() == activity {
            self.since.set(now);
        }
    }

    /// The first bytes of a request's head arrived.
    pub(super) fn head_begins(&self, now: Instant) {
        if self.route.take().is_some() {
            cpu::enter_route(None);
        }
        self.enter(Activity::Head, now);
    }

    /// A request's head was read.
    pub fn request(&self, has_body: bool, now: Instant) {
        self.begun.set(now);
        self.upload.begin(has_body, now);
        self.upload_failed.set(false);
        self.in_room.set(false);
        self.tier.set(Tier::Upstream);
        self.handed_over.set(false);
        self.upstream_late.set(None);
        self.enter(if has_body { Activity::Upload } else { Activity::Waiting }, now);
    }

    /// A file is searched for that answers the request. The upstream has none of it.
    pub fn lookup_begins(&self) {
        self.lookup_late.set(false);
        self.enter(Activity::Lookup, clock::now());
    }

    /// Whether the search takes too long.
    pub fn lookup_is_late(&self) -> bool {
        self.lookup_late.get()
    }

    /// A file answers the request.
    pub fn answered_by_file(&self) {
        self.tier.set(Tier::Static);
        self.counters.tiers[Tier::Static].add(1);
        self.log().inspect(|log| log.passed_to(Tier::Static));
    }

    /// The request goes to an upstream, which has this URL if it is that of a route.
    pub fn passed_to(&self, routed_to: Option<&Arc<str>>) {
        self.counters.tiers[Tier::Upstream].add(1);
        self.log().inspect(|log| log.passed_to(Tier::Upstream));
        let differs = self.routed_to.borrow().as_ref() != routed_to;
        if differs {
            self.routed_to.replace(routed_to.cloned());
        }
        if self.activity.get() == Activity::Lookup {
            self.enter(Activity::Waiting, clock::now());
        }
    }

    /// So many bytes of the request's body passed.
    pub fn upload_progress(&self, bytes: usize) {
        let now = clock::now();
        self.upload.pass(bytes, now);
        self.log().inspect(|log| log.received(bytes));
        self.progress(Activity::Upload, now);
    }

    /// The upstream is ready for more of the request's body than has arrived.
    pub fn upload_waits(&self) {
        let now = clock::now();
        if self.upload.await_customer(now) {
            self.progress(Activity::Upload, now);
        }
    }

    /// Whether it has to be measured what the upstream has not acknowledged of the
    /// request's body; then it no longer has.
    pub fn take_upload_measurement(&self) -> bool {
        self.upload.take_measurement()
    }

    /// The upstream has not acknowledged so many bytes of the request.
    pub fn upload_measured(&self, unacknowledged: u64) {
        if self.upload.measured(unacknowledged) {
            self.progress(Activity::Upload, clock::now());
        }
    }

    /// Whether a part of the request's body is still to come.
    pub fn uploading(&self) -> bool {
        self.upload.is_open()
    }

    /// The request's body passed to its end.
    pub fn upload_end(&self) {
        self.upload.end();
        self.log().inspect(|log| log.uploaded());
        if self.activity.get() == Activity::Upload {
            self.enter(Activity::Waiting, clock::now());
        }
    }

    /// The response's head arrived. `streams` tells whether it begins a stream of events.
    pub fn response(&self, streams: bool, now: Instant) {
        self.streams.set(streams);
        self.new_stream.set(streams);
        self.enter(Activity::Response, now);
    }

    /// Whether a stream of events has begun since the last call.
    pub fn take_new_stream(&self) -> bool {
        self.new_stream.take()
    }

    /// A part of the response was sent to the customer.
    pub fn response_progress(&self) {
        // The clock is read only where it counts.
        if self.is_responding() {
            self.since.set(clock::now());
        }
    }

    /// The response's body was handed over in full, or given up.
    pub fn response_end(&self) {
        self.handed_over.set(true);
        self.asked.forget();
    }

    /// The kernel has accepted all that was handed over of the response. Returns whether
    /// that was all of it: then the exchange is over.
    pub fn flushed(&self, now: Instant) -> bool {
        let over = self.handed_over.get();
        if over {
            self.enter(Activity::Idle, now);
            self.log().inspect(|log| log.end(!self.truncated.get()));
        }
        over
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
        self.log().inspect(|log| log.upstream_failed(fault));
        let of = Subject::Upstream(self.routed_to.borrow().clone());
        self.counters.troubles.note_request(of, fault, why, || self.asked.text());
    }

    /// Counts and notes that a file could not be read; `why` in a few words.
    pub fn file_failed(&self, why: &str) {
        self.counters.file_errors.add(1);
        let of = Subject::Static;
        self.counters.troubles.note_request(of, UpstreamFault::Broken, why, || self.asked.text());
    }

    /// How the upstream failed, if it did not respond in time.
    pub fn upstream_late(&self) -> Option<UpstreamFault> {
        self.upstream_late.get()
    }

    /// The request broke HTTP, and is answered with an error.
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

    /// Whether the request broke HTTP.
    pub fn malformed(&self) -> bool {
        self.malformed.get()
    }
}

mod by_route;
mod tunnel;

/// Records what the connection does from now on.
fn trace(before: Activity, activity: Activity) {
    match (before, activity) {
        (_, Activity::Idle) => {
            tidegate_trace::with_line(|line| line.finish_request(Phase::Idle));
        }
        (_, Activity::Head | Activity::Upload) => tidegate_trace::enter(Phase::ReadRequest),
        (_, Activity::Queue) => tidegate_trace::enter(Phase::Queue),
        (_, Activity::Lookup) => {}
        // The upstream has received the request up to its end.
        (Activity::Upload, Activity::Waiting) => tidegate_trace::enter(Phase::Upstream),
        (_, Activity::Waiting) => tidegate_trace::enter(Phase::Service),
        (_, Activity::Response | Activity::Tunnel) => tidegate_trace::enter(Phase::Respond),
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if self.activity.get() == Activity::Waiting {
            self.count_given_up();
        }
        self.count_waiting(self.activity.get(), Activity::Idle);
        self.log().inspect(|log| log.end(false));
    }
}

#[cfg(test)]
impl Exchange {
    /// Sets when the last progress was made.
    pub(super) fn set_progress(&self, at: Instant) {
        self.since.set(at);
    }

    /// The body of the request.
    pub(super) fn upload(&self) -> &Upload {
        &self.upload
    }
}
