//! Limits on a run's figures, set in the scenario, that decide the exit code.

use serde::{Deserialize, Serialize};

/// One limit on one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    #[serde(serialize_with = "name", deserialize_with = "by_name")]
    pub(crate) metric: &'static Metric,
    /// Smallest allowed value.
    pub(crate) min: Option<f64>,
    /// Largest allowed value.
    pub(crate) max: Option<f64>,
}

/// A figure of a run that thresholds can refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    ResponseMeanMs,
    ResponseP50Ms,
    ResponseP90Ms,
    ResponseP95Ms,
    ResponseP99Ms,
    ResponseMaxMs,
    RequestsPerS,
    OfferedPerS,
    AdmittedPerS,
    CompletedPerS,
    RefusedPerS,
    CompletedRatio,
    RefusedRatio,
    AbandonedRatio,
    FailedRatio,
    ReturningRefused,
    FullHandshakeShare,
}

/// A figure with its name.
#[derive(Debug)]
pub struct Metric {
    /// Key in `[thresholds]`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub meaning: &'static str,
    pub(crate) figure: Figure,
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every figure that thresholds can name.
pub const METRICS: &[Metric] = &[
    metric(
        "response_mean_ms",
        "Mean response time, from intended start to last byte.",
        Figure::ResponseMeanMs,
    ),
    metric("response_p50_ms", "Its median.", Figure::ResponseP50Ms),
    metric("response_p90_ms", "Its 90th percentile.", Figure::ResponseP90Ms),
    metric("response_p95_ms", "Its 95th percentile.", Figure::ResponseP95Ms),
    metric("response_p99_ms", "Its 99th percentile.", Figure::ResponseP99Ms),
    metric("response_max_ms", "The longest.", Figure::ResponseMaxMs),
    metric("requests_per_s", "Requests answered.", Figure::RequestsPerS),
    metric("offered_per_s", "Sessions asked for by the schedule.", Figure::OfferedPerS),
    metric("admitted_per_s", "Sessions whose first handshake completed.", Figure::AdmittedPerS),
    metric("completed_per_s", "Sessions that reached their end.", Figure::CompletedPerS),
    metric("refused_per_s", "Sessions turned away.", Figure::RefusedPerS),
    metric(
        "completed_ratio",
        "Of the sessions admitted that ended, the share that completed.",
        Figure::CompletedRatio,
    ),
    metric(
        "refused_ratio",
        "Of the sessions that ended, the share that was turned away.",
        Figure::RefusedRatio,
    ),
    metric(
        "abandoned_ratio",
        "Of the sessions that ended, the share whose customer lost patience.",
        Figure::AbandonedRatio,
    ),
    metric(
        "failed_ratio",
        "Of the sessions that ended, the share that failed.",
        Figure::FailedRatio,
    ),
    metric(
        "returning_refused",
        "Sessions already admitted whose later connection was turned away.",
        Figure::ReturningRefused,
    ),
    metric(
        "full_handshake_share",
        "Of the handshakes completed, the share that was full.",
        Figure::FullHandshakeShare,
    ),
];

const fn metric(name: &'static str, meaning: &'static str, figure: Figure) -> Metric {
    Metric { name, meaning, figure }
}

fn name<S: serde::Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(metric.name)
}

fn by_name<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<&'static Metric, D::Error> {
    let name = String::deserialize(deserializer)?;
    let unknown = || serde::de::Error::custom(format!("{name:?} is no figure that has limits"));
    METRICS.iter().find(|known| known.name == name).ok_or_else(unknown)
}

impl Threshold {
    /// A limit by the figure's name; `None` for an unknown name.
    pub fn new(metric: &str, min: Option<f64>, max: Option<f64>) -> Option<Self> {
        let metric = METRICS.iter().find(|known| known.name == metric)?;
        Some(Self { metric, min, max })
    }

    /// Name of the figure.
    pub fn metric(&self) -> &'static str {
        self.metric.name
    }
}
