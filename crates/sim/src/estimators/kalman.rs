//! A Kalman filter whose state is the costs.
//!
//! Source: Zheng, Woodside and Litoiu 2008, "Performance Model Estimation and
//! Tracking Using Optimal Filters", IEEE Transactions on Software Engineering
//! 34(3). Deviations: the measurement is CPU time alone, which is linear in the
//! costs (the utilisation law), so that the filter need not be the extended one
//! and response times, which depend on queues as well, are left out; the noise of
//! a measurement follows from its counts instead of being estimated beforehand.

use super::blind::Regression;
use super::linear::{Matrix, diagonal, dot, less_outer, times};

/// How much a cost may change within a tick, as a share of it: the square root
/// of the drift's variance. A third of it is too slow to follow a step, and three
/// times as much follows one within a second and is off by half as much again
/// where nothing changes.
const DRIFT: f64 = 0.01;
/// Squared coefficient of variation of a unit's cost: that of an exponential.
const SCV: f64 = 1.0;

/// The size of a cost, for its drift and noise, is at least this share of its
/// prior's.
const LEAST: f64 = 0.1;

/// Costs as a random walk that is seen through noise.
#[derive(Clone, Debug)]
pub(super) struct Kalman<const N: usize> {
    costs: [f64; N],
    covariance: Matrix<N>,
    prior: [f64; N],
}

impl<const N: usize> Regression<N> for Kalman<N> {
    fn new(prior: [f64; N]) -> Self {
        Self { costs: prior, covariance: diagonal(prior.map(|cost| cost * cost)), prior }
    }

    fn add(&mut self, units: [f64; N], cpu_s: f64) {
        // A cost that came down to nothing could not be doubted any more.
        let sizes: [f64; N] =
            std::array::from_fn(|kind| self.costs[kind].max(LEAST * self.prior[kind]));
        for (kind, row) in self.covariance.iter_mut().enumerate() {
            let sure = self.prior[kind] * self.prior[kind];
            row[kind] = (row[kind] + (DRIFT * sizes[kind]).powi(2)).min(sure.max(row[kind]));
        }
        let spread = times(&self.covariance, &units);
        // Work that is begun in one tick and counted in the next is part of it:
        // a unit of each kind.
        let noise: f64 =
            units.iter().zip(sizes).map(|(units, cost)| (units + 1.0) * SCV * cost * cost).sum();
        let variance = dot(&units, &spread) + noise;
        if variance <= 0.0 {
            return;
        }
        let surprise = cpu_s - dot(&units, &self.costs);
        let gain = spread.map(|spread| spread / variance);
        self.costs =
            std::array::from_fn(|kind| (self.costs[kind] + gain[kind] * surprise).max(0.0));
        self.covariance = less_outer(&self.covariance, &gain, &spread);
    }

    fn costs(&self) -> [f64; N] {
        self.costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_by_hand() {
        // Costs 2 with variance 4 (drift is capped by the prior's); 3 units: spread
        // 12, variance 36 + 4 × 4 = 52; surprise 10 − 6.
        let mut filter = Kalman::new([2.0]);
        filter.add([3.0], 10.0);
        assert!((filter.costs()[0] - (2.0 + 12.0 / 52.0 * 4.0)).abs() < 1e-12);
        assert!((filter.covariance[0][0] - (4.0 - 12.0 / 52.0 * 12.0)).abs() < 1e-12);
    }

    #[test]
    fn a_cost_that_fell_to_nothing_is_learned_again() {
        let mut filter = Kalman::new([2.0, 1.0]);
        (0..1000).for_each(|_| filter.add([3.0, 1.0], 0.0));
        assert_eq!(filter.costs()[0], 0.0);
        (0..1000)
            .for_each(|tick| filter.add([3.0, f64::from(tick % 5)], 9.0 + f64::from(tick % 5)));
        // 3 units of the one and 2 of the other together.
        let both = 3.0 * filter.costs()[0] + 2.0 * filter.costs()[1];
        assert!((both / 11.0 - 1.0).abs() < 0.05, "{:?}", filter.costs());
    }
}
