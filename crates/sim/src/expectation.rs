//! Ranges that a scenario expects of a policy.

use super::measure::Measure;

/// The range of a measure under a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The policy.
    pub policy: String,
    /// The loads; none: all.
    pub loads: Vec<f64>,
    /// The measure.
    pub measure: Measure,
    /// The least and the greatest value.
    pub range: (f64, f64),
}

impl Expectation {
    /// Whether it applies to this policy at this load.
    pub fn concerns(&self, policy: &str, load: f64) -> bool {
        self.policy == policy && (self.loads.is_empty() || self.loads.contains(&load))
    }

    /// Whether a value is in the range; no value is not.
    pub fn is_met_by(&self, value: Option<f64>) -> bool {
        value.is_some_and(|value| (self.range.0..=self.range.1).contains(&value))
    }
}
