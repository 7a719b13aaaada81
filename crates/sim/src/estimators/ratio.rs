//! All CPU time over all connections: the least that a gate can know.

use super::blind::{Sums, sums};
use super::window::Window;
use super::{ConnectionCosts, Estimator};
use tidegate_control::{Priors, Reading};

/// The mean cost of a connection, whosoever it is.
#[derive(Clone, Debug)]
pub(super) struct Ratio {
    window: Window<1>,
    prior_cpu_s: f64,
}

impl Ratio {
    pub(super) fn new(priors: &Priors) -> Self {
        let request = priors.gate_request_cpu_s + priors.upstream_request_cpu_s;
        let prior_cpu_s = priors.full_handshake_cpu_s + priors.requests_per_connection * request;
        Self { window: Window::default(), prior_cpu_s }
    }
}

impl Estimator for Ratio {
    fn observe(&mut self, reading: &Reading, refused: u64) {
        if let Some(Sums { connections, gate_cpu_s, upstream_cpu_s, .. }) = sums(reading, refused) {
            self.window.add([connections[0] + connections[1]], gate_cpu_s + upstream_cpu_s);
        }
    }

    fn costs(&self) -> ConnectionCosts {
        let ([connections], cpu_s) = self.window.sums();
        let cost = if connections > 0.0 { cpu_s / connections } else { self.prior_cpu_s };
        ConnectionCosts { new_cpu_s: cost, returning_cpu_s: cost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_control::{ByResource, ClassWork, ResourceName, Usage};

    #[test]
    fn all_that_was_used_by_all_who_came() {
        let usage = |cpu_s| Usage { capacity_cpus: 1.0, used_cpu_s: Some(cpu_s), idle: None };
        let came = |connections| ClassWork { connections, ..ClassWork::default() };
        let reading = Reading {
            usage: ByResource::default()
                .with(ResourceName::Gate, usage(0.030))
                .with(ResourceName::Upstream, usage(0.060)),
            new: came(10),
            returning: came(20),
            ..Reading::default()
        };
        let mut ratio = Ratio::new(&Priors::default());
        // 500 µs + 5 × 525 µs.
        assert!((ratio.costs().new_cpu_s - 3125e-6).abs() < 1e-12);
        ratio.observe(&reading, 0);
        assert!((ratio.costs().new_cpu_s - 0.003).abs() < 1e-12);
        assert_eq!(ratio.costs().new_cpu_s, ratio.costs().returning_cpu_s);
    }
}
