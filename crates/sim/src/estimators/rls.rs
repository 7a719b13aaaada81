//! Recursive least squares with exponential forgetting.
//!
//! Source: Åström and Wittenmark 1995, "Adaptive Control", 2nd edition, section
//! 2.2, equation 2.21; the bounded covariance is from section 11.5: without it
//! a quiet hour would make it grow without end.

use super::blind::Regression;
use super::linear::{Matrix, diagonal, dot, less_outer, times};

/// What is left of a tick's weight a tick later: of a second's after five
/// seconds about a third.
const FORGET: f64 = 0.98;
/// The prior counts as much as one tick with so many units of each kind.
const PRIOR_UNITS: f64 = 5.0;

/// Costs that leave the least squared error, where the past counts less and less.
#[derive(Clone, Debug)]
pub(super) struct Recursive<const N: usize> {
    costs: [f64; N],
    /// `(XᵀX)⁻¹`.
    covariance: Matrix<N>,
}

impl<const N: usize> Regression<N> for Recursive<N> {
    fn new(prior: [f64; N]) -> Self {
        Self { costs: prior, covariance: diagonal([PRIOR_UNITS.powi(-2); N]) }
    }

    fn add(&mut self, units: [f64; N], cpu_s: f64) {
        let spread = times(&self.covariance, &units);
        let scale = FORGET + dot(&units, &spread);
        let gain = spread.map(|spread| spread / scale);
        let surprise = cpu_s - dot(&units, &self.costs);
        self.costs = std::array::from_fn(|kind| self.costs[kind] + gain[kind] * surprise);
        let surer = less_outer(&self.covariance, &gain, &spread);
        self.covariance = surer.map(|row| row.map(|value| value / FORGET));
        self.bound();
    }

    fn costs(&self) -> [f64; N] {
        self.costs
    }
}

impl<const N: usize> Recursive<N> {
    /// Never less sure than at the start.
    fn bound(&mut self) {
        let trace: f64 = (0..N).map(|kind| self.covariance[kind][kind]).sum();
        let most = N as f64 * PRIOR_UNITS.powi(-2);
        if trace > most {
            self.covariance = self.covariance.map(|row| row.map(|value| value * most / trace));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_by_hand() {
        // P = 1 ∕ 25; gain 5 ∕ 25 ∕ (0.98 + 1); 1 + gain × (15 − 5).
        let mut fit = Recursive::new([1.0]);
        fit.add([5.0], 15.0);
        assert!((fit.costs()[0] - (1.0 + 0.2 / 1.98 * 10.0)).abs() < 1e-12);
        // (0.04 − 0.2² ∕ 1.98) ∕ 0.98
        let expected = (0.04 - 0.04 / 1.98) / 0.98;
        assert!((fit.covariance[0][0] - expected).abs() < 1e-12);
    }

    #[test]
    fn quiet_hours_make_it_no_less_sure_than_it_was_at_first() {
        let mut fit = Recursive::new([1.0, 2.0]);
        (0..100_000).for_each(|_| fit.add([0.0, 0.0], 0.0));
        assert_eq!(fit.costs(), [1.0, 2.0]);
        assert!((fit.covariance[0][0] - 0.04).abs() < 1e-9);
    }
}
