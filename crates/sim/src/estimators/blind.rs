//! A gate that knows how much CPU time it and the upstream used and what was
//! done meanwhile, but not what was used for what: costs by regression.
//!
//! Gate and upstream are fitted apart, as their use is known apart: the gate's
//! by full handshakes, resumed ones and requests; the upstream's by requests of
//! new and of returning connections. One system of four unknowns for the sum of
//! both knows less.

use super::{ConnectionCosts, Estimator};
use tidegate_control::Average;
use tidegate_control::{Priors, Reading, ResourceName};
use tidegate_control::{REFUSAL_CPU_S, sane};

/// Learns what a unit of each of `N` kinds of work costs from how many were done
/// and what they cost together.
pub(super) trait Regression<const N: usize> {
    /// Believes these costs until it knows better.
    fn new(prior: [f64; N]) -> Self;

    /// A tick: units done of each kind, and CPU seconds in all; finite and not
    /// negative.
    fn add(&mut self, units: [f64; N], cpu_s: f64);

    /// CPU seconds of a unit of each kind, finite.
    fn costs(&self) -> [f64; N];
}

/// What a gate sees that does not look at its threads' clocks. The first of two
/// is for new connections, the second for returning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sums {
    pub(super) connections: [f64; 2],
    pub(super) handshakes: [f64; 2],
    pub(super) requests: [f64; 2],
    /// Without refusals, whose cost is known.
    pub(super) gate_cpu_s: f64,
    pub(super) upstream_cpu_s: f64,
}

/// More than a tick can hold on any machine.
const MOST_CPU_S: f64 = 1e6;
const MOST_UNITS: u64 = 1_000_000_000;

/// A reading without its attributions; `None`: it cannot be true, or the gate's
/// use is not known.
pub(super) fn sums(reading: &Reading, refused: u64) -> Option<Sums> {
    let cpu_s = |used: f64| (0.0..=MOST_CPU_S).contains(&used).then_some(used);
    let (new, returning) = (&reading.new, &reading.returning);
    let pair =
        |a: u64, b: u64| (a <= MOST_UNITS && b <= MOST_UNITS).then_some([a as f64, b as f64]);
    let gate_cpu_s = cpu_s(reading.gate().used_cpu_s?)? - refused as f64 * REFUSAL_CPU_S;
    let upstream_cpu_s =
        reading.usage_of(ResourceName::Upstream).and_then(|upstream| upstream.used_cpu_s);
    Some(Sums {
        connections: pair(new.connections, returning.connections)?,
        handshakes: pair(new.handshakes, returning.handshakes)?,
        requests: pair(new.requests, returning.requests)?,
        gate_cpu_s: gate_cpu_s.max(0.0),
        upstream_cpu_s: upstream_cpu_s.map_or(Some(0.0), cpu_s)?,
    })
}

/// Costs by regression.
#[derive(Clone, Debug)]
pub(super) struct Blind<Gate, Upstream> {
    gate: Gate,
    upstream: Upstream,
    /// Per connection, as the production model counts them.
    requests: [Average; 2],
}

impl<Gate: Regression<3>, Upstream: Regression<2>> Blind<Gate, Upstream> {
    pub(super) fn new(priors: &Priors) -> Self {
        let requests = Average::new(priors.requests_per_connection, 10.0, 500.0);
        Self {
            gate: Gate::new([
                priors.full_handshake_cpu_s,
                priors.resumed_handshake_cpu_s,
                priors.gate_request_cpu_s,
            ]),
            upstream: Upstream::new([priors.upstream_request_cpu_s; 2]),
            requests: [requests.clone(), requests],
        }
    }
}

impl<Gate: Regression<3>, Upstream: Regression<2>> Estimator for Blind<Gate, Upstream> {
    fn observe(&mut self, reading: &Reading, refused: u64) {
        let Some(sums) = sums(reading, refused) else { return };
        let Sums { connections, handshakes: [full, resumed], requests, .. } = sums;
        self.gate.add([full, resumed, requests[0] + requests[1]], sums.gate_cpu_s);
        self.upstream.add(requests, sums.upstream_cpu_s);
        for class in 0..2 {
            self.requests[class].add(requests[class], connections[class]);
        }
    }

    fn costs(&self) -> ConnectionCosts {
        let ([full, resumed, gate], upstream) = (self.gate.costs(), self.upstream.costs());
        let cost = |handshake: f64, class: usize| {
            sane(handshake + self.requests[class].value() * (gate + upstream[class]))
        };
        ConnectionCosts { new_cpu_s: cost(full, 0), returning_cpu_s: cost(resumed, 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kalman, LeastSquares, NonNegative, Recursive};
    use super::*;
    use tidegate_control::{ByResource, ClassWork, Usage};

    /// A tick in which units cost 700, 160 and 80 µs of the gate, and 90 and
    /// 120 of the upstream.
    fn tick(full: u64, resumed: u64, requests: (u64, u64)) -> Reading {
        let class = |n, requests| ClassWork {
            connections: n,
            handshakes: n,
            requests,
            ..ClassWork::default()
        };
        let usage =
            |us: u64| Usage { capacity_cpus: 1.0, used_cpu_s: Some(us as f64 * 1e-6), idle: None };
        let gate = 700 * full + 160 * resumed + 80 * (requests.0 + requests.1);
        Reading {
            usage: ByResource::default()
                .with(ResourceName::Gate, usage(gate))
                .with(ResourceName::Upstream, usage(90 * requests.0 + 120 * requests.1)),
            new: class(full, requests.0),
            returning: class(resumed, requests.1),
            ..Reading::default()
        }
    }

    fn learned<Gate: Regression<3>, Upstream: Regression<2>>(ticks: u64) -> ConnectionCosts {
        let mut blind = Blind::<Gate, Upstream>::new(&Priors::default());
        for n in 0..ticks {
            // Mean: 10 new and 20 returning connections, 30 and 80 requests.
            let (a, b, c) = (n % 5, n % 7, n % 3);
            blind.observe(&tick(8 + a, 17 + b, (29 + c, 78 + (n + c) % 5)), 0);
        }
        blind.costs()
    }

    #[test]
    fn exact_costs_are_found_in_clean_readings_that_tell_kinds_apart() {
        // 700 + 3 × 170 and 160 + 4 × 200.
        let near = |costs: ConnectionCosts, within: f64, name: &str| {
            let errors = (costs.new_cpu_s / 1210e-6 - 1.0, costs.returning_cpu_s / 960e-6 - 1.0);
            assert!(errors.0.abs() < within && errors.1.abs() < within, "{name}: {errors:?}");
        };
        // The counts themselves come within 1 % of their means.
        near(learned::<LeastSquares<3>, LeastSquares<2>>(2100), 0.01, "least squares");
        near(learned::<NonNegative<3>, NonNegative<2>>(2100), 0.01, "nnls");
        near(learned::<Recursive<3>, Recursive<2>>(2100), 0.01, "rls");
        near(learned::<Kalman<3>, Kalman<2>>(2100), 0.02, "kalman");
    }

    #[test]
    fn a_reading_that_cannot_be_true_is_left_out() {
        let mut reading = tick(1, 1, (1, 1));
        // 700 + 160 + 2 × 80 µs, less ten refusals of 17 µs.
        assert!((sums(&reading, 10).unwrap().gate_cpu_s - 850e-6).abs() < 1e-12);
        reading.usage.entry(ResourceName::Gate).used_cpu_s = None;
        assert_eq!(sums(&reading, 0), None);
        reading.usage.entry(ResourceName::Gate).used_cpu_s = Some(f64::NAN);
        assert_eq!(sums(&reading, 0), None);
        reading.usage.entry(ResourceName::Gate).used_cpu_s = Some(0.1);
        reading.usage.set(ResourceName::Upstream, None);
        assert_eq!(sums(&reading, 0).unwrap().upstream_cpu_s, 0.0);
        reading.new.requests = u64::MAX;
        assert_eq!(sums(&reading, 0), None);
    }
}
