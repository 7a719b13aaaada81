//! Median, quartiles and spread of repeated measurements.

use serde::Serialize;

/// What repeated measurements of one quantity say, without assuming that their
/// errors are normal: on a shared machine they are not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Measurements used.
    pub count: usize,
    /// The least.
    pub min: f64,
    /// A quarter lie below.
    pub lower_quartile: f64,
    /// Half lie below.
    pub median: f64,
    /// Three quarters lie below.
    pub upper_quartile: f64,
    /// The greatest.
    pub max: f64,
    /// Median absolute deviation from the median (not scaled to a standard
    /// deviation; for a normal distribution that would be 1.4826 times it).
    pub mad: f64,
}

impl Summary {
    /// Summarises what is finite among `values`; `None` where nothing is.
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

    /// Distance of the quartiles as a share of the median; 0 where the median
    /// is 0. The usual "spread" beside a measured figure.
    pub fn relative_spread(&self) -> f64 {
        if self.median == 0.0 {
            0.0
        } else {
            (self.upper_quartile - self.lower_quartile) / self.median.abs()
        }
    }
}

/// The value below which a share `q` (0 to 1, clamped) of ascending values
/// lies, interpolated linearly between neighbours; `None` of no values.
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
        assert_eq!(summary.relative_spread(), 1.25);
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
    fn what_is_not_finite_is_left_out() {
        let summary = Summary::of(&[f64::NAN, 5.0, f64::INFINITY]).unwrap();
        assert_eq!((summary.count, summary.median, summary.mad), (1, 5.0, 0.0));
        assert_eq!(Summary::of(&[f64::NAN]), None);
    }
}
