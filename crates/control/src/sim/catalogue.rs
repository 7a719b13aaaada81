//! Workloads that a policy must stand: the demo's, and others unlike it.

use super::scenario::Scenario;
use crate::policy::PolicyKind;

impl Scenario {
    /// The names of all workloads that [`Scenario::named`] knows.
    pub const NAMES: [&'static str; 16] = [
        "demo",
        "even-sessions",
        "lingering",
        "heavy-first",
        "heavy-later",
        "long-sessions",
        "short-sessions",
        "two-cores",
        "four-cores",
        "dear-refusals",
        "own-hosts",
        "gate-bound",
        "unseen",
        "unseen-slow",
        "real-life",
        "real-life-browsers",
    ];

    /// A workload by its name, without arrivals; `None`: no such name. All are
    /// the demo but for what their name says.
    pub fn named(name: &str, policy: PolicyKind) -> Option<Self> {
        let mut s = Self::demo(policy);
        match name {
            "demo" => {}
            "even-sessions" => s.customers.requests_max = s.customers.requests,
            "lingering" => {
                s.customers.close_when_done = false;
                s.customers.grace_s = 15.0;
            }
            "heavy-first" => {
                s.work.full_handshake = 2e-3;
                s.work.later_request = 200e-6;
            }
            "heavy-later" => {
                s.work.first_request = 100e-6;
                s.work.later_request = 1e-3;
            }
            "long-sessions" => {
                s.customers.requests = 40.0;
                s.customers.requests_max = 200.0;
            }
            "short-sessions" => {
                s.customers.requests = 2.0;
                s.customers.requests_max = 10.0;
            }
            "two-cores" => {
                s.machines.gate_cores = 2.0;
                s.machines.upstream_threads = 2;
            }
            "four-cores" => {
                s.machines.gate_cores = 4.0;
                s.machines.upstream_threads = 8;
            }
            "dear-refusals" => {
                s.work.gate_unattributed = 0.6;
                s.work.accept = 60e-6;
            }
            "own-hosts" => s = s.upstream_apart(1.0, 16, true),
            "gate-bound" => {
                s = s.upstream_apart(4.0, 16, true);
                s.work.first_request = 60e-6;
                s.work.later_request = 60e-6;
            }
            "unseen" => s = s.upstream_apart(1.0, 16, false),
            "unseen-slow" => {
                s = s.upstream_apart(4.0, 60, false);
                s.work.upstream_wait = 0.030;
                s.work.request_scv = 4.0;
                s.customers.patience_s = 1.0;
            }
            "real-life" | "real-life-browsers" => {
                s.customers.think_s = 7.0;
                s.customers.keep_alive_s = 10.0;
                s.customers.patience_s = 10.0;
                s.customers.grace_s = 10.0;
                s.hold_s = 3.0;
                s.customers.close_when_done = name == "real-life";
            }
            _ => return None,
        }
        Some(s)
    }

    fn upstream_apart(mut self, cores: f64, threads: usize, visible: bool) -> Self {
        self.machines.upstream_cores = Some(cores);
        self.machines.upstream_threads = threads;
        self.machines.upstream_visible = visible;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_workload_of_some_capacity() {
        for name in Scenario::NAMES {
            let scenario = Scenario::named(name, PolicyKind::Off).unwrap();
            assert!(scenario.capacity_per_s() > 1.0, "{name}");
        }
        assert!(Scenario::named("other", PolicyKind::Off).is_none());
    }

    #[test]
    fn the_demos_capacity_worked_out_by_hand() {
        // Gate: 517 µs; 11 × e^(−250/175) = 2.636 returns of 117 µs; 12 × 33.3 µs.
        // Upstream: 12 × 350 µs. Together 5425 µs.
        let capacity = Scenario::demo(PolicyKind::Off).capacity_per_s();
        assert!((capacity - 184.32).abs() < 0.05, "{capacity}");
    }
}
