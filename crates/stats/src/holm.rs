//! Holm's correction for several comparisons: at a level of 5 %, one of twenty is
//! significant by chance.

/// Adjusted p-values, in the order of the input. If those below `α` are called
/// significant, the probability of any false positive is at most `α`, for any dependence
/// between the tests. For the values in ascending order it is `p(i) × (m − i)` for `i`
/// from 0, at least the previous one and at most 1.
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
    fn adjusted_values_are_at_most_one_and_an_empty_input_gives_none() {
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
