//! What was used since the start of the gate, and what the requests were that used it: counts and
//! CPU time of the same moment, so that costs can be told from their differences.

use crate::telemetry::route_counts::RouteTotals;
use std::time::Duration;
use tidegate_control::{ByResource, Usage};

/// The sums up to a tick of the control loop.
#[derive(Clone, Debug, Default)]
pub struct Used {
    /// When that was, since the gate's start.
    pub at: Duration,
    /// CPU seconds of each resource, as far as they are known.
    pub cpu_s: ByResource<f64>,
    /// What the requests of each route were and cost.
    pub routes: Vec<RouteTotals>,
}

impl Used {
    /// Adds what a sample says was used since the one before.
    pub fn add(
        &mut self,
        at: Duration,
        sample: &ByResource<Usage>,
        routes: impl FnOnce() -> Vec<RouteTotals>,
    ) {
        for (name, usage) in sample.iter() {
            if let Some(cpu_s) = usage.used_cpu_s {
                *self.cpu_s.entry(name) += cpu_s;
            }
        }
        (self.at, self.routes) = (at, routes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_control::ResourceName::{Gate, Upstream};

    #[test]
    fn what_is_not_known_adds_nothing_and_does_not_end_the_sum() {
        let sample = |gate, upstream: Option<f64>| {
            let usage = |used_cpu_s| Usage { capacity_cpus: 1.0, used_cpu_s, idle: None };
            ByResource::default().with(Gate, usage(Some(gate))).with(Upstream, usage(upstream))
        };
        let mut used = Used::default();
        let second = Duration::from_secs(1);
        used.add(second, &ByResource::default().with(Gate, Usage::default()), Vec::new);
        assert_eq!(used.cpu_s, ByResource::default(), "nothing is known yet");
        for upstream in [Some(0.25), None, Some(0.5)] {
            used.add(2 * second, &sample(0.125, upstream), || vec![RouteTotals::default()]);
        }
        assert_eq!(used.cpu_s, ByResource::default().with(Gate, 0.375).with(Upstream, 0.75));
        assert_eq!((used.at, used.routes.len()), (2 * second, 1));
    }
}
