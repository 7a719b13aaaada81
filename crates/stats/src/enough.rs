//! How many values stand behind a quantile.

/// Fewest values that are expected beyond a quantile, on its scarcer side.
const BEYOND: f64 = 10.0;

/// Fewest values of which the quantile `q` (above 0, below 1) is more than one of the last few
/// values: `n·min(q, 1 − q) ≥ 10`, so 20 for the median, 200 for the 95th percentile, 1000 for
/// the 99th, 10,000 for the 99.9th. `u64::MAX` for any other `q`.
///
/// Source: Jain 1991, "The Art of Computer Systems Performance Analysis", 13.8: the normal
/// approximation of a proportion holds for `np ≥ 10`. The interval of a quantile is that of the
/// share of values below it (Woodruff 1952).
pub fn fewest_for_quantile(q: f64) -> u64 {
    let beyond = q.min(1.0 - q);
    if beyond.is_nan() || beyond <= 0.0 {
        return u64::MAX;
    }
    // 10 / (1 − 0.95) is 200.00000000000017.
    (BEYOND / beyond - 1e-6).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::fewest_for_quantile;

    #[test]
    fn ten_values_are_expected_beyond_each_quantile() {
        let fewest = [0.5, 0.9, 0.95, 0.99, 0.999, 0.05, 0.75].map(fewest_for_quantile);
        assert_eq!(fewest, [20, 100, 200, 1000, 10_000, 200, 40]);
        // A third: 30 values, of which ten are beyond.
        assert_eq!(fewest_for_quantile(2.0 / 3.0), 30);
        assert_eq!(fewest_for_quantile(0.9999), 100_000);
    }

    #[test]
    fn the_ends_of_a_distribution_are_no_quantiles() {
        for q in [0.0, 1.0, -1.0, 2.0, f64::NAN] {
            assert_eq!(fewest_for_quantile(q), u64::MAX, "{q}");
        }
    }
}
