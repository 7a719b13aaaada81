//! What a request of each route costs the service.
//!
//! One clock measures the service as a whole. The costs of its routes follow from how its CPU time
//! changes with the mixture of responses: a Kalman filter whose state are the costs, each a random
//! walk. Where routes always come in the same proportion, what is measured does not tell them
//! apart; then their sum is right, and each is as far from the average as before.
//!
//! Source: Kalman 1960, "A New Approach to Linear Filtering and Prediction Problems"; the random
//! walk of the costs follows Zheng et al. 2005, "Tracking time-varying parameters in software
//! systems with extended Kalman filters", CASCON.

/// How fast costs may change, per second, as a share of the average cost.
const DRIFT: f64 = 0.05;
/// Uncertainty of a cost of which nothing is known, in average costs.
const UNKNOWN: f64 = 2.0;
/// Requests whose CPU time falls into another tick than their responses, about.
const STRAY: f64 = 4.0;
/// The least cost, as a share of the average: a route is never believed to be free.
const LEAST: f64 = 0.02;
/// Fewest responses in a tick that are evidence: with fewer, background work would be theirs.
const FEWEST: u64 = 5;

/// The costs of some routes, in CPU seconds of the service per request.
#[derive(Clone, Debug)]
pub(crate) struct RouteCosts {
    /// In average costs at first; `None` until there is an average.
    costs: Vec<f64>,
    /// Covariance of the errors, row by row.
    errors: Vec<f64>,
    known: bool,
}

impl RouteCosts {
    pub(crate) fn new(routes: usize) -> Self {
        Self { costs: vec![0.0; routes], errors: vec![0.0; routes * routes], known: false }
    }

    /// The cost of a request of this route; the average while nothing is known of it.
    pub(crate) fn of(&self, route: usize, average: f64) -> f64 {
        if self.known { self.costs[route] } else { average }
    }

    /// Learns from the CPU time of a tick; `responses` are those of each route in it.
    /// `average` is what a request costs on average over all.
    pub(crate) fn observe(
        &mut self,
        cpu_s: f64,
        responses: impl Iterator<Item = u64> + Clone,
        (average, interval_s): (f64, f64),
    ) {
        let all = responses.clone().fold(0, u64::saturating_add);
        let routes = self.costs.len();
        if all < FEWEST || average <= 0.0 || !average.is_finite() || !cpu_s.is_finite() {
            return;
        }
        let most = (UNKNOWN * average).powi(2);
        if !self.known {
            self.costs.fill(average);
            (0..routes).for_each(|route| self.errors[route * routes + route] = most);
            self.known = true;
        }
        for route in 0..routes {
            let own = &mut self.errors[route * routes + route];
            *own = (*own + (DRIFT * average).powi(2) * interval_s).min(most);
        }
        let counts: Vec<f64> = responses.map(|count| count as f64).collect();
        let row = |matrix: &[f64], route: usize| -> f64 {
            matrix[route * routes..][..routes]
                .iter()
                .zip(&counts)
                .map(|(it, count)| it * count)
                .sum()
        };
        let spread: Vec<f64> = (0..routes).map(|route| row(&self.errors, route)).collect();
        // The CPU time of single requests varies about as much as it is.
        let noise = average.powi(2) * (all as f64 + STRAY);
        let variance: f64 = spread.iter().zip(&counts).map(|(it, count)| it * count).sum();
        let expected: f64 = self.costs.iter().zip(&counts).map(|(cost, count)| cost * count).sum();
        if !(variance + noise + expected).is_finite() {
            return;
        }
        // CPU time far from what was expected is from a pause of the process, not from a cost.
        let off = (cpu_s - expected).clamp(-expected, 8.0 * expected.max(average));
        for route in 0..routes {
            let gain = spread[route] / (variance + noise);
            self.costs[route] = (self.costs[route] + gain * off).max(LEAST * average);
            let row = &mut self.errors[route * routes..][..routes];
            row.iter_mut().zip(&spread).for_each(|(error, spread)| *error -= gain * spread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After `ticks` in which route 0 has 20 responses of 2 ms and route 1 `second` of 10 ms.
    fn after(ticks: u64, second: impl Fn(u64) -> u64) -> RouteCosts {
        let mut costs = RouteCosts::new(2);
        for tick in 0..ticks {
            let counts = [20, second(tick)];
            let cpu_s = counts[0] as f64 * 0.002 + counts[1] as f64 * 0.010;
            let average = cpu_s / (counts[0] + counts[1]) as f64;
            costs.observe(cpu_s, counts.into_iter(), (average, 0.1));
        }
        costs
    }

    #[test]
    fn the_first_tick_by_hand() {
        // 20 responses of one route at 3 ms, believed to cost 2 ms with an error of 4 ms: variance
        // 400 × 16, noise 4 × 24; the gain is 320 ∕ 6496, and 20 ms are unexplained.
        let mut costs = RouteCosts::new(1);
        costs.observe(0.060, [20].into_iter(), (0.002, 0.0));
        let expected = 0.002 + 320.0 / 6496.0 * 0.020;
        assert!((costs.of(0, 1.0) - expected).abs() < 1e-9, "{costs:?}");
    }

    #[test]
    fn routes_whose_numbers_change_are_told_apart() {
        let costs = after(300, |tick| tick % 7);
        assert!((costs.of(0, 0.0) / 0.002 - 1.0).abs() < 0.1, "{costs:?}");
        assert!((costs.of(1, 0.0) / 0.010 - 1.0).abs() < 0.1, "{costs:?}");
    }

    #[test]
    fn routes_that_always_come_together_have_the_right_sum() {
        let costs = after(300, |_| 5);
        let sum = 20.0 * costs.of(0, 0.0) + 5.0 * costs.of(1, 0.0);
        assert!((sum / 0.090 - 1.0).abs() < 0.02, "{costs:?}");
    }

    #[test]
    fn until_something_is_measured_the_average_stands_for_each() {
        let mut costs = RouteCosts::new(2);
        costs.observe(0.010, [2, 2].into_iter(), (0.003, 0.1));
        assert_eq!((costs.of(0, 0.003), costs.of(1, 0.003)), (0.003, 0.003));
    }
}
