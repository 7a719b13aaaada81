//! What a service can carry at best: worked out, not simulated.

use super::scenario::{Change, Changed, Customers, Scenario};

/// CPU seconds on gate, upstream and database.
pub(crate) type Demand = [f64; 3];

impl Scenario {
    /// New sessions per second that the machines can carry to the end as they
    /// are at the start, by the work that a session brings to the tightest
    /// resource: what loads are multiples of.
    pub fn capacity_per_s(&self) -> f64 {
        self.carried_per_s(0.0, 0.0)
    }

    /// The same on machines so fast that they carry `per_s` new sessions per
    /// second: all work takes so much longer or shorter.
    #[must_use]
    pub fn at_capacity(&self, per_s: f64) -> Self {
        let factor = self.capacity_per_s() / per_s;
        let mut scenario = self.clone();
        let work = &mut scenario.work;
        for cpu in [
            &mut work.accept,
            &mut work.full_handshake,
            &mut work.resumed_handshake,
            &mut work.gate_request,
            &mut work.first_request,
            &mut work.later_request,
        ] {
            *cpu *= factor;
        }
        if let Some(database) = &mut scenario.database {
            database.request *= factor;
        }
        scenario
    }

    /// Sessions per second that could be completed at best at a time, of
    /// `offered` new ones per second among `connections` new ones per second in
    /// all: each has to be accepted before anybody knows that it is too many.
    pub fn best_per_s(&self, at_s: f64, offered: f64, connections: f64) -> f64 {
        offered.min(self.carried_per_s(at_s, connections))
    }

    /// What a mean session costs at a time, its first connection included.
    pub(crate) fn demand(&self, at_s: f64) -> Demand {
        let (requests_factor, handshakes_factor) = self.factors(at_s);
        let work = &self.work;
        let mut demand = [0.0; 3];
        for class in &self.customers {
            let later = class.requests - 1.0;
            let returns = later * (-self.gate.keep_alive_s / class.think_s.max(1e-9)).exp();
            let gate = work.accept * (1.0 + returns)
                + handshakes_factor * (work.full_handshake + returns * work.resumed_handshake)
                + class.requests * self.gate_request();
            let upstream =
                class.weight * requests_factor * (work.first_request + later * work.later_request);
            let database = self
                .database
                .as_ref()
                .map_or(0.0, |database| class.requests * database.request * requests_factor);
            for (sum, part) in demand.iter_mut().zip([gate, upstream, database]) {
                *sum += class.share * part;
            }
        }
        demand
    }

    /// Work of a request in the gate, all of it.
    pub(crate) fn gate_request(&self) -> f64 {
        self.work.gate_request / (1.0 - self.work.gate_unattributed)
    }

    /// What the work of requests and of handshakes is multiplied by at a time.
    pub(crate) fn factors(&self, at_s: f64) -> (f64, f64) {
        self.changes.iter().fold((1.0, 1.0), |(requests, handshakes), change| {
            let (r, h) = change.factors(at_s);
            (requests * r, handshakes * h)
        })
    }

    /// Mean number of requests in a session.
    pub(crate) fn requests(&self) -> f64 {
        self.customers.iter().map(|class| class.share * class.requests).sum()
    }

    /// Cores of gate, upstream and database at a time.
    pub(crate) fn cores(&self, at_s: f64) -> [f64; 3] {
        let database = self.database.as_ref().map_or(f64::INFINITY, |database| database.cores);
        let shared = self.upstream.cores.is_none();
        let mut cores = [self.gate.cores, self.upstream.cores.unwrap_or(self.gate.cores), database];
        for Change { at_s: from, what } in &self.changes {
            if let Changed::Cores { resource, cores: now, .. } = what
                && *from <= at_s
            {
                cores[*resource as usize] = *now;
                if shared && (*resource as usize) < 2 {
                    (cores[0], cores[1]) = (*now, *now);
                }
            }
        }
        cores
    }

    fn carried_per_s(&self, at_s: f64, connections: f64) -> f64 {
        let accept = self.work.accept;
        let ([gate, upstream, database], cores) = (self.demand(at_s), self.cores(at_s));
        // Accepting is spent on all of them, on those who get in too.
        let after_accepting = |cores: f64, work: f64| {
            let spare = (cores - connections * accept).max(0.0);
            (spare / (work - accept)).min(cores / work)
        };
        let by_cpu = match self.upstream.cores {
            None => after_accepting(cores[0], gate + upstream),
            Some(_) => after_accepting(cores[0], gate).min(cores[1] / upstream),
        };
        let mut carried = by_cpu.min(self.upstream.threads as f64 / self.thread_time(at_s));
        if database > 0.0 {
            carried = carried.min(cores[2] / database);
        }
        carried
    }

    /// How long a mean session holds a thread of the upstream, undisturbed.
    fn thread_time(&self, at_s: f64) -> f64 {
        let [_, upstream, database] = self.demand(at_s);
        match self.upstream.cores {
            // One that shares the gate's processors is limited by those.
            None if self.upstream.wait_s == 0.0 => 0.0,
            _ => upstream + database + self.requests() * self.upstream.wait_s,
        }
    }
}

impl Change {
    fn factors(&self, at_s: f64) -> (f64, f64) {
        let Changed::Cost { requests, handshakes, over_s } = self.what else { return (1.0, 1.0) };
        let passed = if at_s < self.at_s {
            0.0
        } else if over_s > 0.0 {
            ((at_s - self.at_s) / over_s).min(1.0)
        } else {
            1.0
        };
        (1.0 + (requests - 1.0) * passed, 1.0 + (handshakes - 1.0) * passed)
    }
}

impl Customers {
    /// Cumulative shares of the session lengths 1, 2, … as a power law whose
    /// exponent gives the mean asked for.
    pub(crate) fn lengths(&self) -> Vec<f64> {
        let max = self.requests_max.max(1.0) as u32;
        let mean = self.requests.clamp(1.0, f64::from(max));
        // Relative to the longest, so that no exponent in the bracket overflows.
        let weight = |k: u32, exponent: f64| (f64::from(k) / f64::from(max)).powf(-exponent);
        let mean_at = |exponent: f64| {
            let weights = (1..=max).map(|k| (f64::from(k), weight(k, exponent)));
            let (sum, total) = weights.fold((0.0, 0.0), |(s, t), (k, w)| (s + k * w, t + w));
            sum / total
        };
        let (mut low, mut high) = (-500.0, 60.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if mean_at(middle) > mean { low = middle } else { high = middle }
        }
        let weights: Vec<f64> = (1..=max).map(|k| weight(k, high)).collect();
        let total: f64 = weights.iter().sum();
        let shares = weights.iter().scan(0.0, |sum, weight| {
            *sum += weight / total;
            Some(*sum)
        });
        let mut shares: Vec<f64> = shares.collect();
        // Rounding must not leave a draw of 1 without a length.
        shares.pop();
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::scenario::{Database, Resource};

    #[test]
    fn the_demos_capacity_worked_out_by_hand() {
        // Gate: 717 µs; 11 × e^(−250/175) = 2.636 returns of 177 µs; 12 × 83.3 µs.
        // Upstream: 12 × 90 µs. Together 3263.6 µs.
        let capacity = Scenario::default().capacity_per_s();
        assert!((capacity - 306.41).abs() < 0.05, "{capacity}");
    }

    #[test]
    fn a_faster_machine_carries_what_is_asked_of_it() {
        let faster = Scenario::default().at_capacity(500.0);
        assert!((faster.capacity_per_s() - 500.0).abs() < 1e-6);
        assert!((faster.work.full_handshake / 700e-6 - 306.41 / 500.0).abs() < 1e-4);
    }

    #[test]
    fn who_is_refused_costs_the_best_as_well() {
        // 3064.1 connections of 17 µs take 52.09 ms of each second; 947.91 ms
        // over 3246.6 µs are 292 sessions.
        let best = Scenario::default().best_per_s(0.0, 3064.1, 3064.1);
        assert!((best - 291.97).abs() < 0.05, "{best}");
        assert_eq!(Scenario::default().best_per_s(0.0, 50.0, 50.0), 50.0);
    }

    #[test]
    fn the_tightest_resource_rules_and_changes_change_it() {
        let mut scenario = Scenario::default();
        scenario.upstream.cores = Some(4.0);
        scenario.upstream.threads = 64;
        scenario.database = Some(Database { cores: 0.5, request: 1e-3 });
        // 12 ms a session on half a core.
        assert!((scenario.capacity_per_s() - 0.5 / 0.012).abs() < 1e-6);
        let cores = Changed::Cores { resource: Resource::Database, cores: 0.25, seen: false };
        let cost = Changed::Cost { requests: 3.0, handshakes: 1.0, over_s: 2.0 };
        scenario.changes =
            vec![Change { at_s: 1.0, what: cores }, Change { at_s: 2.0, what: cost }];
        assert!((scenario.best_per_s(1.5, 100.0, 0.0) - 0.25 / 0.012).abs() < 1e-6);
        assert!((scenario.best_per_s(3.0, 100.0, 0.0) - 0.25 / 0.024).abs() < 1e-6);
        assert!((scenario.best_per_s(9.0, 100.0, 0.0) - 0.25 / 0.036).abs() < 1e-6);
    }

    #[test]
    fn session_lengths_have_the_mean_asked_for() {
        for (requests, requests_max) in [(12.0, 60.0), (12.0, 12.0), (3.0, 40.0), (1.0, 1.0)] {
            let class = Customers { requests, requests_max, ..Customers::default() };
            let shares = class.lengths();
            let expected = 1.0 + shares.iter().map(|share| 1.0 - share).sum::<f64>();
            assert!((expected - requests).abs() < 1e-6, "{requests}: {expected}");
        }
    }
}
