//! A figure with its confidence interval, as results and pages show it.

use serde::{Deserialize, Serialize};

use crate::Estimate;

/// Coverage of the intervals.
const CONFIDENCE: f64 = 0.95;

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The figure.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Of the mean of independent measurements, by Student's t. `None` for fewer than two values,
    /// or if one is not finite.
    pub fn of_mean(values: &[f64]) -> Option<Self> {
        Estimate::of_mean(values).map(Self::from)
    }

    /// One figure without an interval.
    pub fn point(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// Of a figure that is never below 0. Student's t does not know that.
    pub fn not_negative(self) -> Self {
        Self { low: self.low.max(0.0), ..self }
    }

    /// Its ends and the figure, each changed by a function that keeps their order.
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self { value: of(self.value), low: of(self.low), high: of(self.high) }
    }

    /// Both ends.
    pub fn ends(self) -> (f64, f64) {
        (self.low, self.high)
    }
}

impl From<Estimate> for Interval {
    fn from(estimate: Estimate) -> Self {
        let (low, high) = estimate.interval(CONFIDENCE);
        Self { value: estimate.value, low, high }
    }
}

/// The arithmetic mean; `None` without values.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.into_iter().fold((0u32, 0.0), |(n, sum), it| (n + 1, sum + it));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_worked_out_by_hand() {
        // Mean 12, s = 2: ± 4.3027 · 2/√3.
        let it = Interval::of_mean(&[10.0, 12.0, 14.0]).unwrap();
        assert_eq!(it.value, 12.0);
        assert!((it.low - 7.0317).abs() < 1e-3 && (it.high - 16.9683).abs() < 1e-3, "{it:?}");
        assert_eq!(Interval::of_mean(&[10.0]), None);
        assert_eq!(Interval::of_mean(&[10.0, f64::NAN]), None);
    }

    #[test]
    fn what_is_never_negative_is_cut_at_zero_and_its_upper_end_stays() {
        let it = Interval::of_mean(&[0.0, 10.0]).unwrap();
        let cut = it.not_negative();
        assert!(it.low < 0.0, "{it:?}");
        assert_eq!(cut.ends(), (0.0, it.high));
    }

    #[test]
    fn a_point_and_a_scale() {
        let it = Interval { value: 2.0, low: 1.0, high: 3.0 };
        assert_eq!(it.map(|value| 10.0 * value).ends(), (10.0, 30.0));
        assert_eq!(Interval::point(2.0).ends(), (2.0, 2.0));
        assert_eq!((mean([1.0, 2.0, 6.0]), mean([])), (Some(3.0), None));
    }
}
