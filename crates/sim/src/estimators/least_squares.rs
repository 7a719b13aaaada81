//! Ordinary least squares over a sliding window.
//!
//! Source: Draper and Smith 1998, "Applied Regression Analysis", 3rd edition,
//! chapter 5. Left out: the constant for background work, which takes from the
//! costs what it gets.

use tidegate_stats::least_squares::solve;

use super::linear::Matrix;
use super::window::{Fit, Fitted};

/// Costs that leave the least squared error, of either sign.
pub(super) type LeastSquares<const N: usize> = Fitted<AnySign, N>;

/// A solution of the normal equations as it comes.
#[derive(Clone, Debug)]
pub(super) struct AnySign;

impl Fit for AnySign {
    fn fit<const N: usize>(matrix: &Matrix<N>, right: &[f64; N]) -> Option<[f64; N]> {
        solve(matrix.as_flattened(), right, &[true; N])?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::blind::Regression;
    use super::*;

    #[test]
    fn a_line_through_three_points_by_hand() {
        // Minimises (2a − 3)² + (a + b − 4)² + (2b − 5)²: 5a + b = 10, a + 5b = 14.
        let mut fit = LeastSquares::new([9.0, 9.0]);
        fit.add([2.0, 0.0], 3.0);
        assert_eq!(fit.costs(), [9.0, 9.0]);
        fit.add([1.0, 1.0], 4.0);
        fit.add([0.0, 2.0], 5.0);
        let [a, b] = fit.costs();
        assert!((a - 1.5).abs() < 1e-12 && (b - 2.5).abs() < 1e-12, "{a} {b}");
    }

    #[test]
    fn noise_can_make_a_cost_negative() {
        let mut fit = LeastSquares::new([1.0, 1.0]);
        fit.add([1.0, 1.0], 1.0);
        fit.add([1.0, 2.0], 0.5);
        // a + b = 1, a + 2b = 0.5.
        assert_eq!(fit.costs(), [1.5, -0.5]);
    }
}
