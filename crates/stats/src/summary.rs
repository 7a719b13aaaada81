//! Median, quartiles and spread of repeated measurements.

use serde::Serialize;

/// Order statistics of repeated measurements of one quantity. They do not assume normal
/// errors, which measurements on a shared machine do not have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Measurements used.
    pub count: usize,
    /// Minimum.
    pub min: f64,
    /// First quartile.
    pub lower_quartile: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub upper_quartile: f64,
    /// Maximum.
    pub max: f64,
    /// Median absolute deviation from the median (not scaled to a standard
    /// deviation; for a normal distribution that would be 1.4826 times it).
    pub mad: f64,
}

impl Summary {
    /// Summarises the finite values; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted_finite(values);
        let median = quantile(&sorted, 0.5)?;
        let deviations: Vec<f64> = sorted.iter().map(|value| (value - median).abs()).collect();
        Some(Self {
            count: sorted.len(),
            min: sorted[0],
            lower_quartile: quantile(&sorted, 0.25)?,
            median,
            upper_quartile: quantile(&sorted, 0.75)?,
            max: sorted[sorted.len() - 1],
            mad: quantile(&sorted_finite(&deviations), 0.5)?,
        })
    }
}

/// The quantile `q` (0 to 1, clamped) of values in ascending order, interpolated linearly
/// between neighbours; `None` without values.
///
/// Source: Hyndman and Fan 1996, "Sample Quantiles in Statistical Packages",
/// definition 7: rank `q × (count − 1)`, counted from 0.
pub fn quantile(ascending: &[f64], q: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let rank = q.clamp(0.0, 1.0) * last as f64;
    let below = rank as usize;
    let above = (below + 1).min(last);
    let share = rank - below as f64;
    Some(ascending[below] + (ascending[above] - ascending[below]) * share)
}

pub(crate) fn sorted_finite(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_worked_out_by_hand() {
        // Sorted: 1 2 4 7 11. Quartile ranks 1 and 3. Deviations from 4,
        // sorted: 0 2 3 3 7.
        let summary = Summary::of(&[7.0, 1.0, 11.0, 2.0, 4.0]).unwrap();
        assert_eq!((summary.min, summary.median, summary.max), (1.0, 4.0, 11.0));
        assert_eq!((summary.lower_quartile, summary.upper_quartile), (2.0, 7.0));
        assert_eq!((summary.mad, summary.count), (3.0, 5));
    }

    #[test]
    fn an_even_count_interpolates() {
        // Ranks 0.75, 1.5 and 2.25 of 10 20 30 40.
        let summary = Summary::of(&[40.0, 10.0, 30.0, 20.0]).unwrap();
        assert_eq!(summary.lower_quartile, 17.5);
        assert_eq!(summary.median, 25.0);
        assert_eq!(summary.upper_quartile, 32.5);
    }

    #[test]
    fn values_that_are_not_finite_are_ignored() {
        let summary = Summary::of(&[f64::NAN, 5.0, f64::INFINITY]).unwrap();
        assert_eq!((summary.count, summary.median, summary.mad), (1, 5.0, 0.0));
        assert_eq!(Summary::of(&[f64::NAN]), None);
    }
}
