//! Limits on a run's figures, set in the scenario, that decide the exit code.

use serde::Serialize;

use crate::summary::Summary;

/// One limit on one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
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
    read: fn(&Summary) -> Option<f64>,
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every figure that thresholds can name.
pub const METRICS: &[Metric] = &[
    Metric { name: "response_mean_ms", read: |s| timed(s, s.response.mean_ms) },
    Metric { name: "response_p50_ms", read: |s| timed(s, s.response.p50_ms) },
    Metric { name: "response_p90_ms", read: |s| timed(s, s.response.p90_ms) },
    Metric { name: "response_p95_ms", read: |s| timed(s, s.response.p95_ms) },
    Metric { name: "response_p99_ms", read: |s| timed(s, s.response.p99_ms) },
    Metric { name: "response_max_ms", read: |s| timed(s, s.response.max_ms) },
    Metric { name: "requests_per_s", read: |s| Some(s.requests_per_s) },
    Metric { name: "offered_per_s", read: |s| Some(s.offered_per_s) },
    Metric { name: "admitted_per_s", read: |s| Some(s.admitted_per_s) },
    Metric { name: "completed_per_s", read: |s| Some(s.completed_per_s) },
    Metric { name: "refused_per_s", read: |s| Some(s.refused_per_s) },
    Metric { name: "completed_ratio", read: |s| Some(s.completed_ratio) },
    Metric { name: "refused_ratio", read: |s| Some(s.refused_ratio) },
    Metric { name: "abandoned_ratio", read: |s| Some(s.abandoned_ratio) },
    Metric { name: "failed_ratio", read: |s| Some(s.failed_ratio) },
    Metric { name: "returning_refused", read: |s| Some(s.totals.returning_refused as f64) },
    Metric { name: "full_handshake_share", read: |s| Some(s.full_handshake_share) },
];

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
