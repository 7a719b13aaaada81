//! Least squares over a sliding window among costs that are not negative.
//!
//! Source, for CPU use over counts of requests: Zhang, Cherkasova and Smirni 2007, "A
//! Regression-Based Analytic Model for Dynamic Resource Provisioning of Multi-Tier
//! Applications".

use tidegate_stats::least_squares::{non_negative, solve};

use super::linear::Matrix;
use super::window::{Fit, Fitted};

/// Costs that leave the least squared error and are not negative.
pub(super) type NonNegative<const N: usize> = Fitted<NotNegative, N>;

/// The `x ≥ 0` with the least `‖Ax − b‖`, of `AᵀA` and `Aᵀb`.
#[derive(Clone, Debug)]
pub(super) struct NotNegative;

impl Fit for NotNegative {
    fn fit<const N: usize>(matrix: &Matrix<N>, right: &[f64; N]) -> Option<[f64; N]> {
        // Undetermined as a whole: a part of the kinds could be solved for, and the
        // rest would be free of charge.
        solve(matrix.as_flattened(), right, &[true; N])?;
        non_negative(matrix.as_flattened(), right)?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::blind::Regression;
    use super::*;

    #[test]
    fn what_would_be_negative_is_zero_and_the_rest_is_fitted_anew() {
        let mut fit = NonNegative::new([1.0, 1.0]);
        fit.add([1.0, 1.0], 1.0);
        fit.add([1.0, 2.0], 0.5);
        // Without b: the mean of 1 and 0.5. Without a: 2 ∕ 5, whose error is larger.
        assert_eq!(fit.costs(), [0.75, 0.0]);
    }

    #[test]
    fn what_is_positive_anyway_is_that_of_least_squares() {
        let mut fit = NonNegative::new([9.0, 9.0]);
        fit.add([2.0, 0.0], 3.0);
        assert_eq!(fit.costs(), [9.0, 9.0]);
        fit.add([1.0, 1.0], 4.0);
        fit.add([0.0, 2.0], 5.0);
        let [a, b] = fit.costs();
        assert!((a - 1.5).abs() < 1e-12 && (b - 2.5).abs() < 1e-12, "{a} {b}");
    }
}
