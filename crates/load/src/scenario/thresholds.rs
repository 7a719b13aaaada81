//! Limits on a run's figures, set in the scenario, that decide the exit code.

use serde::{Deserialize, Serialize};

use crate::result::summary::Summary;

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

/// How a threshold came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Name of the figure.
    pub metric: &'static str,
    /// The figure.
    pub value: f64,
    /// Smallest allowed value.
    pub min: Option<f64>,
    /// Largest allowed value.
    pub max: Option<f64>,
    /// Within the limits. A figure of response time without any request is
    /// not.
    pub met: bool,
}

/// A figure that thresholds can name.
#[derive(Debug)]
pub struct Metric {
    /// Key in `[thresholds]`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub meaning: &'static str,
    read: fn(&Summary) -> Option<f64>,
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every figure that thresholds can name.
pub const METRICS: &[Metric] = &[
    metric("response_mean_ms", "Mean response time, from intended start to last byte.", |s| {
        timed(s, s.response.mean_ms)
    }),
    metric("response_p50_ms", "Its median.", |s| timed(s, s.response.p50_ms)),
    metric("response_p90_ms", "Its 90th percentile.", |s| timed(s, s.response.p90_ms)),
    metric("response_p95_ms", "Its 95th percentile.", |s| timed(s, s.response.p95_ms)),
    metric("response_p99_ms", "Its 99th percentile.", |s| timed(s, s.response.p99_ms)),
    metric("response_max_ms", "The longest.", |s| timed(s, s.response.max_ms)),
    metric("requests_per_s", "Requests answered.", |s| Some(s.requests_per_s)),
    metric("offered_per_s", "Sessions asked for by the schedule.", |s| Some(s.offered_per_s)),
    metric("admitted_per_s", "Sessions whose first handshake completed.", |s| {
        Some(s.admitted_per_s)
    }),
    metric("completed_per_s", "Sessions that reached their end.", |s| Some(s.completed_per_s)),
    metric("refused_per_s", "Sessions turned away.", |s| Some(s.refused_per_s)),
    metric(
        "completed_ratio",
        "Of the sessions admitted that ended, the share that completed.",
        |s| Some(s.completed_ratio),
    ),
    metric("refused_ratio", "Of the sessions that ended, the share that was turned away.", |s| {
        Some(s.refused_ratio)
    }),
    metric(
        "abandoned_ratio",
        "Of the sessions that ended, the share whose customer lost patience.",
        |s| Some(s.abandoned_ratio),
    ),
    metric("failed_ratio", "Of the sessions that ended, the share that failed.", |s| {
        Some(s.failed_ratio)
    }),
    metric(
        "returning_refused",
        "Sessions already admitted whose later connection was turned away.",
        |s| Some(s.totals.returning_refused as f64),
    ),
    metric("full_handshake_share", "Of the handshakes completed, the share that was full.", |s| {
        Some(s.full_handshake_share)
    }),
];

const fn metric(
    name: &'static str,
    meaning: &'static str,
    read: fn(&Summary) -> Option<f64>,
) -> Metric {
    Metric { name, meaning, read }
}

fn name<S: serde::Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(metric.name)
}

fn by_name<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<&'static Metric, D::Error> {
    let name = String::deserialize(deserializer)?;
    let unknown = || serde::de::Error::custom(format!("{name:?} is no figure that has limits"));
    METRICS.iter().find(|known| known.name == name).ok_or_else(unknown)
}

fn timed(summary: &Summary, value: f64) -> Option<f64> {
    (summary.response.count > 0).then_some(value)
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

    /// Holds a summary against the limit.
    pub fn judge(&self, summary: &Summary) -> Verdict {
        let value = (self.metric.read)(summary);
        let met = value.is_some_and(|value| {
            self.min.is_none_or(|min| value >= min) && self.max.is_none_or(|max| value <= max)
        });
        Verdict {
            metric: self.metric.name,
            value: value.unwrap_or(0.0),
            min: self.min,
            max: self.max,
            met,
        }
    }
}
