//! A figure with its interval.

use serde::Serialize;
use tidegate_stats::Estimate;

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The figure.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Of the mean of values; `None` of fewer than two.
    pub(crate) fn of_mean(values: &[f64]) -> Option<Self> {
        Estimate::of_mean(values).map(Self::from)
    }

    /// One figure without an interval.
    pub(crate) fn point(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// Of a figure that is never below 0.
    pub(crate) fn not_negative(self) -> Self {
        Self { low: self.low.max(0.0), ..self }
    }

    /// Its ends and the figure, each changed by a function that keeps their order.
    pub(crate) fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self { value: of(self.value), low: of(self.low), high: of(self.high) }
    }
}

impl From<Estimate> for Interval {
    fn from(estimate: Estimate) -> Self {
        let (low, high) = estimate.interval(CONFIDENCE);
        Self { value: estimate.value, low, high }
    }
}
