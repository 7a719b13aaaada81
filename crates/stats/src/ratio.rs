//! The ratio of two interleaved series of measurements, with its uncertainty.

use serde::Serialize;

use crate::summary::{quantile, sorted_finite};

/// The ratio of two series of measurements: the first divided by the second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Median of the pairs' ratios.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Lower bound of the probability that the interval covers the true median: at
    /// least 0.95 from 6 pairs on; with fewer pairs, that of their whole range.
    pub coverage: f64,
    /// Pairs used.
    pub pairs: usize,
}

/// Compares two interleaved series: `ours[i]` was measured next to `theirs[i]`. Drift
/// of the machine's speed affects both values of a pair and cancels in their ratio.
/// Pairs with a value that is not finite and above 0 are ignored; `None` if no pair
/// remains.
///
/// The interval is that of the sign test: between order statistics, exact for
/// any distribution, the narrowest that covers at least 95 %.
///
/// Source: Conover, "Practical Nonparametric Statistics", confidence interval
/// for a quantile.
pub fn ratio_of_pairs(ours: &[f64], theirs: &[f64]) -> Option<Ratio> {
    let usable = |value: f64| value.is_finite() && value > 0.0;
    let ratios: Vec<f64> = ours
        .iter()
        .zip(theirs)
        .filter(|(a, b)| usable(**a) && usable(**b))
        .map(|(a, b)| a / b)
        .collect();
    let sorted = sorted_finite(&ratios);
    let median = quantile(&sorted, 0.5)?;
    let pairs = sorted.len();
    let (cut, coverage) = sign_interval(pairs);
    Some(Ratio { median, low: sorted[cut], high: sorted[pairs - 1 - cut], coverage, pairs })
}

/// Number of values to cut off at each end, and the coverage of the rest:
/// `1 − 2 × P(Binomial(count, ½) ≤ cut)`.
fn sign_interval(count: usize) -> (usize, f64) {
    if count > 1000 {
        // 2^-count leaves the range of f64; the normal approximation is exact
        // to a rank or two here.
        let half_width = 0.98 * (count as f64).sqrt();
        return ((count as f64 / 2.0 - half_width) as usize - 1, 0.95);
    }
    let mut term = 0.5f64.powf(count as f64);
    let (mut cut, mut tail) = (0, term);
    while 2 * (cut + 1) < count {
        let next = term * (count - cut) as f64 / (cut + 1) as f64;
        if 2.0 * (tail + next) > 0.05 {
            break;
        }
        (term, tail, cut) = (next, tail + next, cut + 1);
    }
    (cut, 1.0 - 2.0 * tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_common_to_both_cancels() {
        let drift = [1.0, 1.5, 0.7, 2.0, 1.1, 0.9];
        let ours: Vec<f64> = drift.iter().map(|d| 40.0 * d).collect();
        let theirs: Vec<f64> = drift.iter().map(|d| 100.0 * d).collect();
        let ratio = ratio_of_pairs(&ours, &theirs).unwrap();
        assert!((ratio.median - 0.4).abs() < 1e-12);
        assert!(ratio.high - ratio.low < 1e-12);
    }

    #[test]
    fn the_interval_of_few_pairs_is_their_range_with_its_coverage() {
        // Five pairs: 1 − 2/32. Six: 1 − 2/64.
        let ratio = ratio_of_pairs(&[1.0, 2.0, 3.0, 4.0, 5.0], &[1.0; 5]).unwrap();
        assert_eq!((ratio.low, ratio.median, ratio.high), (1.0, 3.0, 5.0));
        assert_eq!(ratio.coverage, 0.9375);
        assert_eq!(sign_interval(6), (0, 0.96875));
    }

    #[test]
    fn nine_pairs_cut_one_at_each_end() {
        // P(Binomial(9, ½) ≤ 1) = 10/512; with 2 it would be 46/512.
        assert_eq!(sign_interval(9), (1, 1.0 - 20.0 / 512.0));
        let ours: Vec<f64> = (1..=9).map(f64::from).collect();
        let ratio = ratio_of_pairs(&ours, &[1.0; 9]).unwrap();
        assert_eq!((ratio.low, ratio.median, ratio.high), (2.0, 5.0, 8.0));
    }

    #[test]
    fn unusable_pairs_are_ignored() {
        let ratio = ratio_of_pairs(&[1.0, f64::NAN, 3.0, 0.0], &[2.0, 1.0, 0.0, 1.0]).unwrap();
        assert_eq!((ratio.pairs, ratio.median), (1, 0.5));
        assert_eq!((ratio.low, ratio.high, ratio.coverage), (0.5, 0.5, 0.0));
        assert_eq!(ratio_of_pairs(&[], &[]), None);
    }

    #[test]
    fn very_many_pairs_do_not_underflow() {
        // 50 000 − 0.98 × 316.2 = 49 690.1
        assert_eq!(sign_interval(100_000), (49_689, 0.95));
        // Where both methods apply they agree: 500 − 0.98 × 31.6 = 469.0
        assert!(sign_interval(1000).0.abs_diff(468) <= 1);
    }
}
