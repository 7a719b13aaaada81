//! Outcome of a threshold.

use serde::{Deserialize, Serialize};

/// The outcome of a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThresholdResult {
    /// Name of the figure, behind that of its page or class: `page.Home.response_p95_ms`.
    pub metric: String,
    /// The figure; `None` without data.
    pub value: Option<f64>,
    /// Only a lower bound of the figure is known, because too many requests had no response.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lower_bound: bool,
    /// Smallest allowed value.
    pub min: Option<f64>,
    /// Largest allowed value.
    pub max: Option<f64>,
    /// The figure is within the limits. Without data it is not: an empty run proves nothing. Nor
    /// is a percentile of which only a lower bound is known below its largest value.
    pub met: bool,
    /// Of a percentile that has too few answers behind it: chance decides whether it is met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub few: Option<FewAnswers>,
}

impl ThresholdResult {
    /// The limits in words, each shown by `show`: `at most 50`.
    pub fn limits(&self, show: impl Fn(f64) -> String) -> String {
        match (self.min, self.max) {
            (Some(min), Some(max)) => format!("{} to {}", show(min), show(max)),
            (Some(min), None) => format!("at least {}", show(min)),
            (None, Some(max)) => format!("at most {}", show(max)),
            (None, None) => "without limit".to_owned(),
        }
    }
}

/// Answers that are too few for a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FewAnswers {
    /// How many there are; of several runs, in the one that has the fewest.
    pub answers: u64,
    /// How many it takes.
    pub needed: u64,
}

/// A threshold that ended a run early.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aborted {
    /// The figure at that time.
    #[serde(flatten)]
    pub verdict: ThresholdResult,
    /// When, since the start of the run.
    pub at_s: f64,
}
