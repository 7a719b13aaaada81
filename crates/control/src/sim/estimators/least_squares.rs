//! Ordinary least squares over a sliding window.
//!
//! Source: Draper and Smith 1998, "Applied Regression Analysis", 3rd edition,
//! chapter 5. Left out: the constant for background work, which takes from the
//! costs what it gets.

use super::blind::Regression;
use super::linear::solve;
use super::window::Window;

/// Costs that leave the least squared error, of either sign.
#[derive(Clone, Debug)]
pub(super) struct LeastSquares<const N: usize> {
    window: Window<N>,
    costs: [f64; N],
}

impl<const N: usize> Regression<N> for LeastSquares<N> {
    fn new(prior: [f64; N]) -> Self {
        Self { window: Window::default(), costs: prior }
    }

    fn add(&mut self, units: [f64; N], cpu_s: f64) {
        self.window.add(units, cpu_s);
        let (matrix, right) = self.window.normal_equations();
        // Where the ticks do not tell the kinds apart, it knows what it knew.
        self.costs = solve(matrix, right, [true; N]).unwrap_or(self.costs);
    }

    fn costs(&self) -> [f64; N] {
        self.costs
    }
}

#[cfg(test)]
mod tests {
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
