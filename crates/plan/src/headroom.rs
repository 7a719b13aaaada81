//! How many cores a load needs beyond those that it keeps busy.

use serde::{Deserialize, Serialize};
use statrs::function::erf::erf;

/// What decides how many cores a load gets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Headroom {
    /// The largest share of requests that may wait for a core, 0 to 1 exclusive.
    Wait(f64),
    /// The share of their time that cores may be busy, above 0 and at most 1.
    Use(f64),
}

impl Headroom {
    /// The cores for a load that keeps `busy` of them busy on average, not rounded.
    ///
    /// For a chance of waiting this is square-root staffing: `busy + β·√busy`, where β solves
    /// `wait = 1 / (1 + β·Φ(β)/φ(β))`. Larger groups need a smaller share of spare cores.
    ///
    /// Source: Halfin and Whitt 1981, "Heavy-Traffic Limits for Queues with Many Exponential
    /// Servers".
    pub fn cores(self, busy: f64) -> f64 {
        match self {
            Self::Use(share) => busy / share,
            Self::Wait(wait) => busy + beta(wait) * busy.sqrt(),
        }
    }
}

/// The β of [`Headroom::cores`], by bisection; at most 8, where hardly a request waits.
fn beta(wait: f64) -> f64 {
    let waits = |beta: f64| {
        let below = 0.5 * (1.0 + erf(beta / std::f64::consts::SQRT_2));
        let density = (-beta * beta / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        1.0 / (1.0 + beta * below / density)
    };
    let (mut low, mut high) = (0.0, 8.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        *(if waits(middle) > wait { &mut low } else { &mut high }) = middle;
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chance of waiting for one of `cores` cores of which `busy` are busy on average.
    /// Source: Erlang's formula C, by the recursion of his formula B.
    fn erlang_c(cores: u32, busy: f64) -> f64 {
        let lost = (1..=cores).fold(1.0, |lost, n| busy * lost / (f64::from(n) + busy * lost));
        let used = busy / f64::from(cores);
        if used >= 1.0 { 1.0 } else { lost / (1.0 - used + used * lost) }
    }

    #[test]
    fn the_square_root_rule_is_within_a_core_of_the_exact_formula() {
        for wait in [0.01, 0.05, 0.2, 0.5] {
            for busy in [0.5, 2.0, 10.0, 100.0, 1000.0] {
                let least = (1..).find(|&cores| erlang_c(cores, busy) <= wait).unwrap();
                let by_rule = Headroom::Wait(wait).cores(busy);
                let off = by_rule.ceil() - f64::from(least);
                assert!(off.abs() <= 1.0, "{wait} {busy}: {by_rule} and {least}");
            }
        }
    }

    #[test]
    fn half_of_the_requests_wait_with_half_a_square_root_more() {
        // β = 0.506: Φ(β)/φ(β) = 0.6936/0.3510, times β is 1.0.
        let cores = Headroom::Wait(0.5).cores(100.0);
        assert!((cores - 105.06).abs() < 0.01, "{cores}");
        assert_eq!(Headroom::Use(0.5).cores(100.0), 200.0);
    }
}
