//! Many comparisons at once: one of twenty differs at 5 % by chance alone.

/// Raises each p-value such that calling those below `α` significant is wrong
/// about any of them with probability `α` at most, however they depend on each
/// other: with the values in ascending order, `p(i) × (m − i)` for `i` from 0,
/// never less than the one before, at most 1. In the order given.
///
/// Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut least: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        least = least.max(p_values[index] * (p_values.len() - rank) as f64).min(1.0);
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_values_worked_out_by_hand() {
        // Ascending 0.005×4, 0.01×3, 0.03×2, 0.04×1 (raised to the one before).
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
    }

    #[test]
    fn none_exceeds_one_and_none_is_nothing() {
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
