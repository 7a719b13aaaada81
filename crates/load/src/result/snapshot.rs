//! The state of a run while it goes on.

use serde::{Deserialize, Serialize};
use tidegate_stats::{CensoredHistogram, Percentiles};

use super::buckets::Buckets;
use super::series::Point;
use super::threshold_check::Evaluated;
use crate::totals::Totals;

/// The state of a run, sent to the observer about four times a second.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// Start of the run, milliseconds since 1970.
    pub started_at_unix_ms: u64,
    /// Time since the start of the run, seconds.
    pub elapsed_s: f64,
    /// Length of the whole run, seconds.
    pub planned_s: f64,
    /// Stage of the run.
    pub stage: RunStage,
    /// Counts of the warm-up, once it is over.
    pub before: Totals,
    /// Counts since the current stage began.
    pub totals: Totals,
    /// Response time since the current stage began.
    pub response: Percentiles,
    /// Response times since the start of the run, by bucket.
    pub buckets: Buckets,
    /// Sessions in flight.
    pub in_flight: u64,
    /// The last quarter of a second.
    pub last: Point,
    /// The figures of a second that was completed since the last snapshot, as in
    /// [`Summary::series`](crate::Summary::series).
    pub second: Option<Point>,
    /// Reasons why the load generator counts as saturated so far; empty if it does not.
    pub driver_warnings: Vec<String>,
    /// Each driver that an agent runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drivers: Vec<DriverNow>,
    /// For a shard: its response times, for [`LiveMerge`](crate::LiveMerge).
    #[serde(rename = "spread")]
    pub histograms: Option<Box<SnapshotHistograms>>,
}

/// One of several drivers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriverNow {
    /// Its name.
    pub name: String,
    /// Its last quarter of a second; `None` before the first.
    pub last: Option<Point>,
    /// It sends nothing any more, with or without a result.
    pub ended: bool,
    /// It counts as saturated.
    pub saturated: bool,
}

/// Histograms of response times.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SnapshotHistograms {
    /// Of [`Snapshot::response`].
    pub(crate) stage: CensoredHistogram,
    /// Of [`Snapshot::last`].
    pub(crate) last: CensoredHistogram,
    /// Of [`Snapshot::second`].
    pub(crate) second: Option<CensoredHistogram>,
    /// For the thresholds that can end the run, in the scenario's order.
    pub(crate) evaluated: Vec<Evaluated<'static>>,
}

/// Stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStage {
    /// Warm-up, not counted.
    WarmUp,
    /// The measured window.
    Measure,
    /// Ended; the last snapshot of a run.
    Done,
}
