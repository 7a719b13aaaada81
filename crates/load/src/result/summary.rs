//! The result of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidegate_stats::Percentiles;

use super::arrival_entry::ArrivalEntry;
use super::driver::{Driver, DriverShard, Machine};
use super::failure::RequestFailure;
use super::figures::{
    AddressFigures, CheckFigures, FailedCheck, GroupFigures, Negotiated, PageFigures, Phases,
};
use super::series::{Point, Subwindow};
use super::shard::ShardResult;
use super::threshold_result::{Aborted, ThresholdResult};
use crate::scenario::SessionLength;
use crate::totals::Totals;

/// The result of a run. All figures except `series` are of the measured window: an event
/// counts if it happened in the window, an arrival by its intended time.
///
/// Fields that earlier versions of the same format did not write have defaults.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// [`Summary::FORMAT`].
    #[serde(default)]
    pub format: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Target as given.
    pub target: String,
    /// Model and schedule of the arrivals, in words.
    pub arrivals: String,
    /// The same by entry and in full, for comparisons.
    #[serde(default)]
    pub arrival_entries: Vec<ArrivalEntry>,
    /// Number of sessions after which the run was to stop; `None` for a run by time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sessions: Option<u64>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Version of the program.
    #[serde(default)]
    pub version: String,
    /// The command that ran it, without secrets; empty if it was no command.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// What was traced, and what it took, in words; `None` without a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Machine of the load generator.
    pub machine: Machine,
    /// Start of the run, milliseconds since 1970.
    pub started_at_unix_ms: u64,
    /// Warm-up, not counted.
    pub warm_up_s: f64,
    /// Length of the measured window; shorter than planned after a stop.
    pub measured_s: f64,
    /// The run was stopped early.
    pub interrupted: bool,
    /// HTTP version: `1.1` or `2`; empty in older results.
    #[serde(default)]
    pub http: String,
    /// Factor on think times and patience.
    pub time_scale: f64,
    /// Additional factor on patience.
    #[serde(default)]
    pub patience_scale: f64,
    /// Patience after all factors, from intended start to last byte.
    pub patience_ms: f64,
    /// Requests of an undisturbed session.
    pub session_length: SessionLength,
    /// Mean of all think times of an undisturbed session together, before the time scale.
    /// `None` in older results.
    #[serde(default)]
    pub session_think_ms: Option<f64>,
    /// What makes the figures hard to read, such as sessions longer than the run; empty if
    /// nothing does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Counts in the window.
    pub totals: Totals,
    /// Sessions offered by the schedule, per second.
    pub offered_per_s: f64,
    /// Sessions whose first handshake completed, per second.
    #[serde(default)]
    pub admitted_per_s: f64,
    /// Sessions refused, per second.
    #[serde(default)]
    pub refused_per_s: f64,
    /// Sessions completed, per second.
    pub completed_per_s: f64,
    /// Sessions abandoned by an impatient customer, per second.
    #[serde(default)]
    pub abandoned_per_s: f64,
    /// Sessions that failed, per second.
    #[serde(default)]
    pub failed_per_s: f64,
    /// Requests answered, per second.
    pub requests_per_s: f64,
    /// Share of the admitted sessions ended in the window that completed; 0 if none ended,
    /// so that an empty run meets no threshold.
    #[serde(default)]
    pub completed_ratio: f64,
    /// Share of the sessions ended in the window that were refused.
    #[serde(default)]
    pub refused_ratio: f64,
    /// Share of the sessions ended in the window that were abandoned.
    #[serde(default)]
    pub abandoned_ratio: f64,
    /// Share of the sessions ended in the window that failed.
    #[serde(default)]
    pub failed_ratio: f64,
    /// Requested share of full handshakes; `None` if customers resume whenever possible.
    #[serde(default)]
    pub full_share_asked: Option<f64>,
    /// Share of the completed handshakes that were full; 0 if none completed.
    #[serde(default)]
    pub full_handshake_share: f64,
    /// Response time from intended start to last byte.
    pub response: Percentiles,
    /// The percentiles of `response` that have too few answers behind them, by their fields, see
    /// [`fewest_for_quantile`](tidegate_stats::fewest_for_quantile). Everywhere else the `count`
    /// beside a percentile tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_few: Vec<String>,
    /// Response time from actual start to last byte, as shown by tools that leave their own
    /// delay out.
    pub response_uncorrected: Percentiles,
    /// Phases of requests and connections.
    pub phases: Phases,
    /// Results of TLS negotiation, the most frequent first.
    #[serde(default)]
    pub tls: Vec<Negotiated>,
    /// Connections by address of the target, in the order in which its name was resolved,
    /// those that could not be reached last.
    #[serde(default)]
    pub addresses: Vec<AddressFigures>,
    /// Figures by page.
    #[serde(default)]
    pub pages: BTreeMap<String, PageFigures>,
    /// Figures by class of customers, in the scenario's order; empty for a single class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<GroupFigures>,
    /// Figures by entry of the arrivals, named by model and schedule; empty for a single
    /// entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<GroupFigures>,
    /// Failed checks of responses, the most frequent first.
    #[serde(default, rename = "unmet")]
    pub failed_checks: Vec<FailedCheck>,
    /// Every check and extraction of the scenario, with its failures; empty if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckFigures>,
    /// Failed requests by page and cause, the most frequent first, with a sample of each.
    #[serde(default)]
    pub failures: Vec<RequestFailure>,
    /// Responses by status.
    #[serde(default)]
    pub responses_by_status: BTreeMap<u16, u64>,
    /// State of the load generator.
    pub driver: Driver,
    /// The load generator was saturated: the figures are not those of the target.
    #[serde(default)]
    pub driver_saturated: bool,
    /// The run second by second, warm-up included.
    pub series: Vec<Point>,
    /// The measured window in at most 32 equal stretches of at least a tenth of a second; the
    /// last may be shorter.
    pub stretches: Vec<Subwindow>,
    /// Outcomes of the scenario's thresholds.
    #[serde(default)]
    pub thresholds: Vec<ThresholdResult>,
    /// The threshold that ended the run early; `None` if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<Aborted>,
    /// Why a file of requests or seconds is incomplete; `None` if all are complete.
    #[serde(default)]
    pub raw_error: Option<String>,
    /// Why the figures are not those of the whole test: a shard was lost, or could not save
    /// all of its figures. Empty if they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
    /// Each load generator, if several shared the test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drivers: Vec<DriverShard>,
    /// For a shard: what merging with the other shards needs.
    #[serde(default, rename = "portion", skip_serializing_if = "Option::is_none")]
    pub shard_result: Option<Box<ShardResult>>,
}

impl Summary {
    /// Version of the meaning of the fields. Increased when readers of an older version
    /// would misinterpret a field, not when a field is added.
    pub const FORMAT: u32 = 1;

    /// Notes the threshold that ended the run. What was recorded afterwards does not make it met.
    pub fn abort(&mut self, aborted: Aborted) {
        let same = |verdict: &&mut ThresholdResult| verdict.metric == aborted.verdict.metric;
        for verdict in self.thresholds.iter_mut().filter(same) {
            if (verdict.min, verdict.max) == (aborted.verdict.min, aborted.verdict.max) {
                *verdict = aborted.verdict.clone();
            }
        }
        self.aborted = Some(aborted);
    }

    /// The exit code for this result: 3 if the load generator was saturated, a shard was
    /// lost, a file of requests or seconds could not be written, or no request succeeded;
    /// else 1 if a threshold was missed or ended the run; else 0.
    pub fn exit_code(&self) -> u8 {
        let failed = self.driver_saturated || self.raw_error.is_some();
        if failed || !self.incomplete.is_empty() || self.totals.requests_ok == 0 {
            3
        } else if self.aborted.is_some() || self.thresholds.iter().any(|verdict| !verdict.met) {
            1
        } else {
            0
        }
    }
}
