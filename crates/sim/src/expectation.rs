//! What a scenario expects of a policy.

use super::measure::Measure;

/// What must come out of a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Of which policy.
    pub policy: String,
    /// At which loads; none: at all.
    pub loads: Vec<f64>,
    /// What.
    pub measure: Measure,
    /// At least and at most.
    pub range: (f64, f64),
}

impl Expectation {
    /// Whether it is about this policy at this load.
    pub fn concerns(&self, policy: &str, load: f64) -> bool {
        self.policy == policy && (self.loads.is_empty() || self.loads.contains(&load))
    }

    /// Whether a value is as expected: where there is none, it is not.
    pub fn is_met_by(&self, value: Option<f64>) -> bool {
        value.is_some_and(|value| (self.range.0..=self.range.1).contains(&value))
    }
}
