//! A result as its JSON has it: what the page shows. Fields that older versions of the same
//! format do not write are empty.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tidegate_load::result::LARGEST_FILE;
use tidegate_load::result::failure::RequestFailure;
use tidegate_load::{Percentiles, Summary};
use tidegate_stats::{CensoredHistogram, Histogram};

/// What `--json` wrote: one run, or those of `--repeat`.
pub struct SavedResult {
    pub(super) runs: Vec<Run>,
    /// The figures over several runs; empty for one.
    pub(super) figures: Vec<RepeatedFigure>,
}

/// One run.
#[derive(Deserialize)]
pub(super) struct Run {
    pub(super) scenario: String,
    pub(super) target: String,
    pub(super) arrivals: String,
    pub(super) seed: u64,
    #[serde(default)]
    pub(super) version: String,
    #[serde(default)]
    pub(super) command: String,
    pub(super) machine: Machine,
    pub(super) started_at_unix_ms: u64,
    pub(super) warm_up_s: f64,
    pub(super) measured_s: f64,
    pub(super) interrupted: bool,
    #[serde(default)]
    pub(super) http: String,
    pub(super) time_scale: f64,
    #[serde(default)]
    pub(super) patience_scale: f64,
    pub(super) patience_ms: f64,
    pub(super) session_length: SessionLength,
    #[serde(default)]
    pub(super) warnings: Vec<String>,
    pub(super) totals: Totals,
    pub(super) offered_per_s: f64,
    pub(super) completed_per_s: f64,
    pub(super) requests_per_s: f64,
    pub(super) full_share_asked: Option<f64>,
    pub(super) response: Percentiles,
    pub(super) response_uncorrected: Percentiles,
    pub(super) phases: Phases,
    #[serde(default)]
    pub(super) tls: Vec<Negotiated>,
    #[serde(default)]
    pub(super) pages: BTreeMap<String, PageFigures>,
    #[serde(default)]
    pub(super) classes: Vec<Cohort>,
    #[serde(default)]
    pub(super) models: Vec<Cohort>,
    #[serde(default, rename = "unmet")]
    pub(super) failed_checks: Vec<FailedCheck>,
    #[serde(default)]
    pub(super) failures: Vec<RequestFailure>,
    #[serde(default)]
    pub(super) responses_by_status: BTreeMap<u16, u64>,
    pub(super) driver: Driver,
    pub(super) series: Vec<Second>,
    pub(super) stretches: Vec<Stretch>,
    #[serde(default)]
    pub(super) thresholds: Vec<Threshold>,
    pub(super) aborted: Option<Aborted>,
    pub(super) raw_error: Option<String>,
    #[serde(default)]
    pub(super) incomplete: Vec<String>,
    #[serde(default)]
    pub(super) drivers: Vec<DriverShard>,
    pub(super) portion: Option<Portion>,
}

#[derive(Deserialize)]
pub(super) struct Machine {
    pub(super) cpu: String,
    pub(super) cpus: usize,
    pub(super) kernel: String,
}

#[derive(Deserialize)]
pub(super) struct SessionLength {
    pub(super) mean_requests: f64,
}

/// Counts of the window.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Totals {
    pub(super) offered: u64,
    pub(super) sessions_returned: u64,
    pub(super) started: u64,
    pub(super) not_started: u64,
    pub(super) admitted: u64,
    pub(super) refused: u64,
    pub(super) refused_by_kind: BTreeMap<String, u64>,
    pub(super) failed: u64,
    pub(super) failed_by_kind: BTreeMap<String, u64>,
    pub(super) abandoned: u64,
    pub(super) abandoned_by_stage: BTreeMap<String, u64>,
    pub(super) completed: u64,
    pub(super) cut_off: u64,
    pub(super) requests_ok: u64,
    pub(super) requests_failed: u64,
    pub(super) connection_errors: u64,
    pub(super) soft_checks_failed: u64,
    pub(super) responses_by_class: BTreeMap<String, u64>,
    pub(super) received_bytes: u64,
    pub(super) requests_reloaded: u64,
    pub(super) redirects: u64,
    pub(super) retries: u64,
    pub(super) full_attempted: u64,
    pub(super) full_ok: u64,
    pub(super) resumed_attempted: u64,
    pub(super) resumed_ok: u64,
    pub(super) resumption_declined: u64,
    pub(super) resumption_without_ticket: u64,
    pub(super) starts: u64,
    pub(super) missed_starts: u64,
}

#[derive(Deserialize)]
pub(super) struct Phases {
    pub(super) connect: Percentiles,
    pub(super) full_handshake: Percentiles,
    pub(super) resumed_handshake: Percentiles,
    pub(super) first_byte: Percentiles,
    pub(super) last_byte: Percentiles,
}

#[derive(Deserialize)]
pub(super) struct Negotiated {
    pub(super) version: String,
    pub(super) suite: String,
    pub(super) group: Option<String>,
    pub(super) full: u64,
    pub(super) resumed: u64,
}

#[derive(Deserialize)]
pub(super) struct PageFigures {
    pub(super) ok: u64,
    pub(super) failed: u64,
    pub(super) response: Percentiles,
}

/// A class of customers, or an entry of the arrivals.
#[derive(Deserialize)]
pub(super) struct Cohort {
    pub(super) name: String,
    pub(super) offered: u64,
    pub(super) completed: u64,
    pub(super) refused: u64,
    pub(super) abandoned: u64,
    pub(super) failed: u64,
    pub(super) requests_ok: u64,
    pub(super) requests_failed: u64,
    pub(super) response: Percentiles,
}

#[derive(Deserialize)]
pub(super) struct FailedCheck {
    pub(super) page: String,
    pub(super) kind: String,
    pub(super) expected: String,
    pub(super) example: String,
    pub(super) count: u64,
}

#[derive(Deserialize)]
pub(super) struct Driver {
    pub(super) threads: usize,
    pub(super) cpu_share: f64,
    pub(super) cpu_s: f64,
    pub(super) start_delay: Percentiles,
    pub(super) loop_delay: Percentiles,
    #[serde(default)]
    pub(super) stalled_share: f64,
    pub(super) missed_share: f64,
    #[serde(default)]
    pub(super) saturated_because: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct DriverShard {
    pub(super) part: String,
    pub(super) machine: Machine,
    #[serde(flatten)]
    pub(super) driver: Driver,
}

/// A second of the run; the last may be shorter.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct Second {
    /// Its end, since the start of the run.
    pub(super) at_s: f64,
    pub(super) length_s: f64,
    pub(super) offered_per_s: f64,
    pub(super) refused_per_s: f64,
    pub(super) completed_per_s: f64,
    pub(super) abandoned_per_s: f64,
    pub(super) failed_per_s: f64,
    pub(super) requests_per_s: f64,
    pub(super) full_handshakes_per_s: f64,
    pub(super) resumed_handshakes_per_s: f64,
    pub(super) in_flight: u64,
    pub(super) response: Percentiles,
    pub(super) driver_cpu_share: f64,
    pub(super) missed_starts: u64,
}

/// A part of the measured window.
#[derive(Deserialize)]
pub(super) struct Stretch {
    pub(super) length_s: f64,
    pub(super) requests_failed: u64,
    pub(super) response: Histogram,
    #[serde(default)]
    pub(super) unanswered: Option<Histogram>,
    #[serde(default)]
    pub(super) open: Option<Histogram>,
}

impl Stretch {
    /// Its response times.
    fn times(&self) -> CensoredHistogram {
        CensoredHistogram::of_parts(
            self.response.clone(),
            self.open.clone(),
            self.unanswered.clone(),
        )
    }
}

#[derive(Deserialize)]
pub(super) struct Threshold {
    pub(super) metric: String,
    pub(super) value: Option<f64>,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) met: bool,
    /// Too few answers for a percentile.
    pub(super) few: Option<Few>,
}

#[derive(Clone, Copy, Deserialize)]
pub(super) struct Few {
    pub(super) answers: u64,
    pub(super) needed: u64,
}

#[derive(Deserialize)]
pub(super) struct Aborted {
    #[serde(flatten)]
    pub(super) threshold: Threshold,
    pub(super) at_s: f64,
}

/// What a shard keeps for merging; only its number is shown.
#[derive(Deserialize)]
pub(super) struct Portion {
    pub(super) driver: Part,
}

#[derive(Deserialize)]
pub(super) struct Part {
    pub(super) part: String,
}

/// A figure over several runs.
#[derive(Deserialize)]
pub(super) struct RepeatedFigure {
    pub(super) figure: String,
    pub(super) unit: Unit,
    pub(super) values: Vec<Option<f64>>,
    pub(super) mean: Option<Mean>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unit {
    PerSecond,
    Share,
    Ms,
}

#[derive(Deserialize)]
pub(super) struct Mean {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

#[derive(Deserialize)]
struct Several {
    runs: Vec<Run>,
    figures: Vec<RepeatedFigure>,
}

/// Most seconds and stretches of a run: a day and a partial second, and what a run keeps.
const SECONDS: usize = 86_401;
const STRETCHES: usize = 32;
/// Most responses of a stretch: the sum of all fits into a u64.
const COUNTED: u64 = 1 << 53;

impl SavedResult {
    /// Reads a file that `--json` wrote.
    ///
    /// # Errors
    /// What is wrong with it, and the remedy.
    pub fn read(file: &Path) -> Result<Self, String> {
        let name = file.display();
        let bytes = tidegate_config::read_bytes(file, LARGEST_FILE)
            .map_err(|error| format!("{name}: {error}"))?;
        let value = serde_json::from_slice(&bytes).map_err(|error| {
            format!("{name}: {error}; give a file that `tidegate load --json` wrote")
        })?;
        Self::from_json(value).map_err(|why| format!("{name}: {why}"))
    }

    /// A result of this process, as a file of it would have it.
    ///
    /// # Errors
    /// None for a [`Summary`] or a [`Repeated`](tidegate_load::Repeated).
    pub fn of(result: &impl Serialize) -> Result<Self, String> {
        let value = serde_json::to_value(result).map_err(|error| error.to_string())?;
        Self::from_json(value)
    }

    fn from_json(value: Value) -> Result<Self, String> {
        match value.get("format").map(Value::as_u64) {
            Some(Some(format)) if format == u64::from(Summary::FORMAT) => {}
            Some(_) => {
                return Err(format!(
                    "has format {}, and this tidegate reads format {}; make the page with the \
                     version that wrote it, or run the test again",
                    value["format"],
                    Summary::FORMAT
                ));
            }
            None => {
                return Err(
                    "says no format: it is no result of a run; give a file that `tidegate \
                            load --json` wrote"
                        .to_owned(),
                );
            }
        }
        if value.get("rows").is_some() {
            return Err("is a comparison, not a result; give a file that `tidegate load --json` \
                        wrote"
                .to_owned());
        }
        let not_ours =
            |error| format!("{error}; give a file that `tidegate load --json` wrote, unchanged");
        let Several { runs, figures } = if value.get("runs").is_some() {
            serde_json::from_value(value).map_err(not_ours)?
        } else {
            let run = serde_json::from_value(value).map_err(not_ours)?;
            Several { runs: vec![run], figures: Vec::new() }
        };
        if runs.is_empty() {
            return Err("holds no run; run the test again".to_owned());
        }
        runs.iter().try_for_each(Run::check).map_err(|what| {
            format!("{what}; the file is damaged: give it as `tidegate load --json` wrote it")
        })?;
        Ok(Self { runs, figures })
    }
}

impl Run {
    /// Checks what the figures rely on: times in order, within a day.
    fn check(&self) -> Result<(), String> {
        if self.series.len() > SECONDS {
            return Err(format!("series: {}, at most {SECONDS}", self.series.len()));
        }
        if self.stretches.len() > STRETCHES {
            return Err(format!("stretches: {}, at most {STRETCHES}", self.stretches.len()));
        }
        let day = 0.0..=SECONDS as f64;
        let mut last = 0.0;
        for (index, second) in self.series.iter().enumerate() {
            let in_order = second.at_s >= last && day.contains(&second.at_s);
            if !in_order || !day.contains(&second.length_s) {
                return Err(format!("series[{index}].at_s = {}", second.at_s));
            }
            last = second.at_s;
        }
        if let Some(bad) = self.stretches.iter().position(|it| it.times().count() > COUNTED) {
            return Err(format!("stretches[{bad}].response counts too much"));
        }
        let stretch = self.stretches.iter().map(|stretch| stretch.length_s);
        let times = stretch.chain([self.warm_up_s, self.measured_s]);
        match times.into_iter().find(|time| !day.contains(time)) {
            Some(time) => Err(format!("a time is {time} s")),
            None => Ok(()),
        }
    }

    /// When the run ended, since its start.
    pub(super) fn end_s(&self) -> f64 {
        let planned = self.warm_up_s + self.measured_s;
        self.series.last().map_or(planned, |second| second.at_s).max(1e-3)
    }

    /// All response times of the window.
    pub(super) fn responses(&self) -> CensoredHistogram {
        let mut all = CensoredHistogram::new();
        self.stretches.iter().for_each(|stretch| all.merge(&stretch.times()));
        all
    }
}

impl Totals {
    /// Requests that were answered as the page allows, and all others.
    pub(super) fn requests(&self) -> u64 {
        self.requests_ok.saturating_add(self.requests_failed)
    }

    /// Requests without an answer that exceeded the patience.
    pub(super) fn timed_out(&self) -> u64 {
        let answered =
            self.responses_by_class.values().fold(0, |sum: u64, n| sum.saturating_add(*n));
        self.requests().saturating_sub(answered).saturating_sub(self.connection_errors)
    }
}
