//! What a run showed: plain data, serialisable, units last in every name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidegate_stats::Latency as Histogram;
pub use tidegate_stats::LatencyMs as Latency;

use crate::client::tls::algorithms::Agreed;
use crate::outcome::{Failure, Refusal, Stage, counts, status_counts};
use crate::output::metrics::Buckets;
use crate::plan::shard::Part;
use crate::result::shard::Portion;
use crate::scenario::SessionLength;
use crate::scenario::thresholds::Verdict;

/// The whole result of a run. Everything but `series` is about the measured
/// window: an event counts if it happened after the warm-up and before the
/// end; an arrival counts at its intended time.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// [`Summary::FORMAT`].
    pub format: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Target as given.
    pub target: String,
    /// Model and schedule of the arrivals, in words.
    pub arrivals: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Where the driver ran.
    pub machine: Machine,
    /// Beginning of the run, milliseconds since 1970.
    pub started_at_unix_ms: u64,
    /// Warm-up, not counted.
    pub warm_up_s: f64,
    /// Length of the window as it came out (shorter after a stop).
    pub measured_s: f64,
    /// The run was stopped before its time.
    pub interrupted: bool,
    /// Version of HTTP: `1.1` or `2`.
    pub http: &'static str,
    /// Factor on think times and patience.
    pub time_scale: f64,
    /// Further factor on patience.
    pub patience_scale: f64,
    /// Patience in force, from intended start to last byte.
    pub patience_ms: f64,
    /// Requests of a session that is left to run its course.
    pub session_length: SessionLength,
    /// Counts in the window.
    pub totals: Totals,
    /// Sessions asked for by the schedule, per second.
    pub offered_per_s: f64,
    /// Sessions whose first handshake completed, per second.
    pub admitted_per_s: f64,
    /// Sessions turned away, per second.
    pub refused_per_s: f64,
    /// Sessions that reached their end, per second.
    pub completed_per_s: f64,
    /// Sessions whose customer lost patience, per second.
    pub abandoned_per_s: f64,
    /// Sessions that failed, per second.
    pub failed_per_s: f64,
    /// Requests answered, per second.
    pub requests_per_s: f64,
    /// Of the sessions admitted that ended in the window, the share that
    /// completed; 0 if none ended, so that no threshold is met by nothing.
    pub completed_ratio: f64,
    /// Of the sessions that ended in the window, the share that was refused.
    pub refused_ratio: f64,
    /// Of the sessions that ended in the window, the share abandoned.
    pub abandoned_ratio: f64,
    /// Of the sessions that ended in the window, the share that failed.
    pub failed_ratio: f64,
    /// Of the handshakes, the share that was to be full; `None` if customers were
    /// to resume whenever they could.
    pub full_share_asked: Option<f64>,
    /// Of the completed handshakes, the share that was full; 0 if none.
    pub full_handshake_share: f64,
    /// From intended start to last byte.
    pub response: Latency,
    /// From the moment the driver really began, to last byte: what a tool shows
    /// that leaves its own delays out.
    pub response_uncorrected: Latency,
    /// Where the time goes.
    pub phases: Phases,
    /// What TLS handshakes agreed on, the most frequent first.
    pub tls: Vec<Negotiated>,
    /// Figures by page.
    pub pages: BTreeMap<String, PageFigures>,
    /// Figures by class of customers, in the scenario's order; none where all are
    /// of one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<GroupFigures>,
    /// Figures by entry of the arrivals, each under its model and schedule in words;
    /// none where there is one alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<GroupFigures>,
    /// What was expected of answers and did not come, the most frequent first.
    pub unmet: Vec<Unmet>,
    /// The driver's own condition.
    pub driver: Driver,
    /// The driver was the limit: the figures above are not the target's.
    pub driver_saturated: bool,
    /// The run second by second, warm-up included.
    pub series: Vec<Point>,
    /// The measured window in at most 32 equal stretches of a second or more,
    /// the last as short as the run left it.
    pub stretches: Vec<Stretch>,
    /// The scenario's thresholds and how they came out.
    pub thresholds: Vec<Verdict>,
    /// Why a file of requests or seconds is not whole; `None` if all are, or
    /// none was asked for.
    pub raw_error: Option<String>,
    /// Why the figures are not those of the whole test, or not all there: a driver of
    /// several was lost, or had no room to save more. Empty if they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
    /// Each driver, where several shared the test.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drivers: Vec<DriverPart>,
    /// Of a driver that had a part of the test: what it takes to merge it with the
    /// others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub portion: Option<Box<Portion>>,
}

impl Summary {
    /// Version of the fields' meaning. Goes up when a reader of an older version
    /// would be misled, not when a field is added.
    pub const FORMAT: u32 = 1;

    /// The exit code this result deserves: 3 if a driver was saturated or lost, the
    /// file of requests or seconds could not be written, or no request succeeded; else 1 if a
    /// threshold was missed; else 0.
    pub fn exit_code(&self) -> u8 {
        let failed = self.driver_saturated || self.raw_error.is_some();
        if failed || !self.incomplete.is_empty() || self.totals.requests_ok == 0 {
            3
        } else if self.thresholds.iter().any(|verdict| !verdict.met) {
            1
        } else {
            0
        }
    }
}

/// Counts of one stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Sessions asked for by the schedule.
    pub offered: u64,
    /// Sessions beyond those, of customers who came back after they had been
    /// disappointed.
    pub sessions_returned: u64,
    /// Sessions begun.
    pub started: u64,
    /// Offered or returned, but not begun: too many in flight.
    pub not_started: u64,
    /// Sessions whose first handshake completed.
    pub admitted: u64,
    /// Sessions turned away.
    pub refused: u64,
    /// The same by kind: `reset`, `alert`, `closed`.
    #[serde(deserialize_with = "counts::<_, Refusal>")]
    pub refused_by_kind: BTreeMap<&'static str, u64>,
    /// Sessions that failed.
    pub failed: u64,
    /// The same by kind, see [`Failure`].
    #[serde(deserialize_with = "counts::<_, Failure>")]
    pub failed_by_kind: BTreeMap<&'static str, u64>,
    /// Sessions whose customer lost patience.
    pub abandoned: u64,
    /// The same by what they were waiting for.
    #[serde(deserialize_with = "counts::<_, Stage>")]
    pub abandoned_by_stage: BTreeMap<&'static str, u64>,
    /// Abandoned ones among those admitted.
    pub abandoned_admitted: u64,
    /// Failed ones among those admitted.
    pub failed_admitted: u64,
    /// Sessions that reached their end.
    pub completed: u64,
    /// Sessions still running when the run stopped.
    pub cut_off: u64,
    /// Sessions already admitted whose later connection was turned away (also
    /// in `failed`).
    pub returning_refused: u64,
    /// Requests answered in full with an allowed status.
    pub requests_ok: u64,
    /// Requests answered with a status that the page does not allow, or not
    /// at all.
    pub requests_failed: u64,
    /// Answers by class of status: `2xx` and so on.
    #[serde(deserialize_with = "status_counts")]
    pub responses_by_class: BTreeMap<&'static str, u64>,
    /// Bytes of answers, heads included, TLS not; over HTTP/2 with its frames.
    pub received_bytes: u64,
    /// Times that a request which took too long was sent again (part of that
    /// request).
    pub requests_reloaded: u64,
    /// Redirects followed (part of their request).
    pub redirects: u64,
    /// Requests sent again because the server had just closed the connection.
    pub retries: u64,
    /// Steps for which the page offered nothing: the id used last was used.
    pub fallback_last_id: u64,
    /// Steps for which the page that leads there was visited instead.
    pub fallback_via: u64,
    /// Steps for which nothing of this served: one page back.
    pub fallback_back: u64,
    /// Full handshakes begun: no ticket at hand.
    pub full_attempted: u64,
    /// Full handshakes completed.
    pub full_ok: u64,
    /// Handshakes begun with a ticket.
    pub resumed_attempted: u64,
    /// Handshakes that resumed.
    pub resumed_ok: u64,
    /// Handshakes begun with a ticket that the server answered by a full one
    /// (also in `full_ok`).
    pub resumption_declined: u64,
    /// Handshakes that were to be resumed, where a share of full ones is set, and
    /// were begun full for want of a ticket (also in `full_attempted`).
    pub resumption_without_ticket: u64,
    /// Arrivals and requests that the driver began.
    pub starts: u64,
    /// Those begun later than [`MISSED`](crate::result::saturation::MISSED).
    pub missed_starts: u64,
}

impl Totals {
    /// Sessions that ended by themselves.
    pub fn ended(&self) -> u64 {
        self.completed + self.refused + self.failed + self.abandoned
    }

    /// Completed sessions among the admitted ones that ended; 0 if none did.
    pub fn completed_ratio(&self) -> f64 {
        share(self.completed, self.admitted_ended())
    }

    /// Sessions that ended by themselves, of those admitted.
    pub fn admitted_ended(&self) -> u64 {
        self.completed + self.abandoned_admitted + self.failed_admitted
    }

    /// Share of full handshakes among the completed ones; 0 if none.
    pub fn full_handshake_share(&self) -> f64 {
        share(self.full_ok, self.full_ok + self.resumed_ok)
    }
}

/// `part / whole`, 0 if the whole is 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Where the time of requests and connections goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Phases {
    /// TCP connection.
    pub connect: Latency,
    /// TLS handshake with certificate.
    pub full_handshake: Latency,
    /// TLS handshake from a ticket.
    pub resumed_handshake: Latency,
    /// From the request sent to the first byte of the answer.
    pub first_byte: Latency,
    /// From the first byte to the last.
    pub last_byte: Latency,
}

/// TLS handshakes that agreed on the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Negotiated {
    /// `1.2` or `1.3`.
    pub version: &'static str,
    /// Cipher suite, by IANA's name.
    pub suite: &'static str,
    /// Key exchange group, by IANA's name; `None` where TLS 1.2 resumed, which
    /// exchanges no key.
    pub group: Option<&'static str>,
    /// Full handshakes completed.
    pub full: u64,
    /// Handshakes that resumed.
    pub resumed: u64,
}

impl From<&(Agreed, [u64; 2])> for Negotiated {
    fn from((agreed, [full, resumed]): &(Agreed, [u64; 2])) -> Self {
        Self {
            version: agreed.version(),
            suite: agreed.suite(),
            group: agreed.group(),
            full: *full,
            resumed: *resumed,
        }
    }
}

/// Figures of one page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PageFigures {
    /// Requests answered as allowed.
    pub ok: u64,
    /// Requests that failed.
    pub failed: u64,
    /// From intended start to last byte.
    pub response: Latency,
}

/// Figures of a class of customers, or of an entry of the arrivals; see [`Totals`] for the counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "as in Totals")]
pub struct GroupFigures {
    pub name: String,
    pub offered: u64,
    pub sessions_returned: u64,
    pub not_started: u64,
    pub started: u64,
    pub admitted: u64,
    /// Of the sessions admitted that ended in the window, the share that
    /// completed.
    pub completed_ratio: f64,
    pub completed: u64,
    pub refused: u64,
    pub refused_by_kind: BTreeMap<&'static str, u64>,
    pub failed: u64,
    pub failed_by_kind: BTreeMap<&'static str, u64>,
    pub abandoned: u64,
    pub abandoned_by_stage: BTreeMap<&'static str, u64>,
    pub cut_off: u64,
    pub requests_ok: u64,
    pub requests_failed: u64,
    pub requests_reloaded: u64,
    /// From intended start to last byte.
    pub response: Latency,
}

/// The name of a kind; not borrowed from what is read.
type KindName = &'static str;

/// Something that was expected of an answer and did not come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unmet {
    /// The page whose answer, or request, it is about.
    pub page: String,
    /// `check`, `extraction`, `not_offered` or `unsendable`, as in
    /// [`Totals::failed_by_kind`].
    #[serde(deserialize_with = "crate::outcome::name::<_, Failure>")]
    pub kind: KindName,
    /// What was looked for, in the words of the scenario.
    pub expected: String,
    /// What came the first time: some hundred characters at most, in one line
    /// and without control characters.
    pub example: String,
    /// Sessions that failed by it in the window.
    pub count: u64,
}

/// The driver's own condition in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Driver {
    /// Driver threads.
    pub threads: usize,
    /// CPU time over time of the busiest driver thread; 1 is a whole
    /// processor.
    pub cpu_share: f64,
    /// CPU time of all driver threads.
    pub cpu_s: f64,
    /// CPU time of the thread that folds the figures, over the whole run.
    pub folding_cpu_s: f64,
    /// How late starts were: intended start to real start.
    pub start_delay: Latency,
    /// How late a 20 ms heartbeat of each thread's event loop was.
    pub loop_delay: Latency,
    /// Seconds for which the event loop of a thread was behind by more than
    /// [`MISSED`](crate::result::saturation::MISSED): of the thread that was for longest.
    #[serde(default)]
    pub stalled_s: f64,
    /// The same as a share of the time.
    #[serde(default)]
    pub stalled_share: f64,
    /// Share of starts later than [`MISSED`](crate::result::saturation::MISSED).
    pub missed_share: f64,
    /// Events that could not be kept: the figures are incomplete.
    pub events_lost: u64,
    /// Why the driver is called saturated; empty if it is not.
    pub saturated_because: Vec<String>,
}

/// One of several drivers that shared a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriverPart {
    /// Its part of the test.
    pub part: Part,
    /// Where it ran.
    pub machine: Machine,
    /// It was stopped before its time.
    pub interrupted: bool,
    /// Why a file of requests or seconds of its own is not whole.
    pub raw_error: Option<String>,
    /// Its condition in the window.
    #[serde(flatten)]
    pub driver: Driver,
}

/// Where the driver ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Processor model.
    pub cpu: String,
    /// Processors that this process may use.
    pub cpus: usize,
    /// Kernel release.
    pub kernel: String,
}

/// Figures of a short stretch of time, for plots and the live view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// End of the stretch since the start of the run.
    pub at_s: f64,
    /// Length of the stretch.
    pub length_s: f64,
    /// Inside the measured window.
    pub measured: bool,
    /// Sessions offered per second.
    pub offered_per_s: f64,
    /// Sessions admitted per second.
    pub admitted_per_s: f64,
    /// Sessions refused per second.
    pub refused_per_s: f64,
    /// Sessions completed per second.
    pub completed_per_s: f64,
    /// Sessions abandoned per second.
    pub abandoned_per_s: f64,
    /// Sessions failed per second.
    pub failed_per_s: f64,
    /// Requests answered per second.
    pub requests_per_s: f64,
    /// Full handshakes per second.
    pub full_handshakes_per_s: f64,
    /// Resumed handshakes per second.
    pub resumed_handshakes_per_s: f64,
    /// Sessions in flight at the end of the stretch.
    pub in_flight: u64,
    /// Response time from intended start.
    pub response: Latency,
    /// CPU share of the busiest driver thread.
    pub driver_cpu_share: f64,
    /// Starts that were missed.
    pub missed_starts: u64,
}

/// Counts of a stretch of the measured window, from which one tells how sure the
/// run's figures are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// Its length.
    pub length_s: f64,
    /// Sessions asked for by the schedule.
    pub offered: u64,
    /// Sessions that reached their end.
    pub completed: u64,
    /// Sessions turned away.
    pub refused: u64,
    /// Sessions whose customer lost patience.
    pub abandoned: u64,
    /// Sessions that failed.
    pub failed: u64,
    /// Sessions that ended by themselves, of those admitted.
    pub admitted_ended: u64,
    /// Requests answered in full with an allowed status.
    pub requests_ok: u64,
    /// Requests answered otherwise or not at all.
    pub requests_failed: u64,
    /// Full handshakes completed.
    pub full_handshakes: u64,
    /// Resumed handshakes.
    pub resumed_handshakes: u64,
    /// Response times from intended start, in microseconds: an HdrHistogram of
    /// version 2 in Base64.
    pub response: String,
}

impl Stretch {
    /// All its counts.
    pub(crate) fn counts(&self) -> [u64; 10] {
        [
            self.offered,
            self.completed,
            self.refused,
            self.abandoned,
            self.failed,
            self.admitted_ended,
            self.requests_ok,
            self.requests_failed,
            self.full_handshakes,
            self.resumed_handshakes,
        ]
    }
}

/// What the observer sees about four times a second.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// Beginning of the run, milliseconds since 1970.
    pub started_at_unix_ms: u64,
    /// Time since the start of the run, seconds.
    pub elapsed_s: f64,
    /// Length of the whole run, seconds.
    pub planned_s: f64,
    /// Which part of the run this is.
    pub stage: RunStage,
    /// Counts of the warm-up, once it is over.
    pub before: Totals,
    /// Counts since the present stage began.
    pub totals: Totals,
    /// Response time since the present stage began.
    pub response: Latency,
    /// Response times since the start of the run, by bucket.
    pub buckets: Buckets,
    /// Sessions in flight.
    pub in_flight: u64,
    /// The last quarter of a second, or so.
    pub last: Point,
    /// A second's figures, whenever one has been completed since the last
    /// snapshot: the same as will be in [`Summary::series`].
    pub second: Option<Point>,
    /// Why the driver would be called saturated by now; empty if it is well.
    pub driver_warnings: Vec<String>,
    /// Of a driver that has a part of the test: its response times, for
    /// [`Together`](crate::Together).
    pub spread: Option<Box<SnapshotSpread>>,
}

/// Response times as histograms.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SnapshotSpread {
    /// Of [`Snapshot::response`].
    pub(crate) stage: Histogram,
    /// Of [`Snapshot::last`].
    pub(crate) last: Histogram,
    /// Of [`Snapshot::second`].
    pub(crate) second: Option<Histogram>,
}

/// Part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStage {
    /// Nothing counts yet.
    WarmUp,
    /// The window.
    Measure,
    /// Over; the last snapshot of a run.
    Done,
}
