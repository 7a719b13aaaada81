//! What a simulated connection really costs.

use super::ConnectionCosts;
use crate::sim::Scenario;

impl Scenario {
    /// What a connection costs on average if everything stays as it is at a
    /// time and nobody loses patience: accepting it, its handshake, and its
    /// requests in gate and upstream. Work in a database is left out, which no
    /// gate sees.
    ///
    /// A customer asks again on the same connection with the probability `p`
    /// that she thinks no longer than the connection is kept, so the first
    /// connection of a session of `n` requests has `(1 − pⁿ) ∕ (1 − p)` of them.
    pub fn connection_costs(&self, at_s: f64) -> ConnectionCosts {
        let (requests_factor, handshakes_factor) = self.factors(at_s);
        let work = &self.work;
        let (mut new_cpu_s, mut returning_cpu_s, mut returning) = (0.0, 0.0, 0.0);
        for class in &self.customers {
            let leaves = (-self.gate.keep_alive_s / class.think_s.max(1e-9)).exp();
            let (mut all, mut on_first) = (0.0, 0.0);
            // The share of sessions that have a request number n, and the chance
            // that it is on the first connection.
            let (mut left, mut stays) = (1.0, 1.0);
            for share_up_to in class.lengths().into_iter().chain([1.0]) {
                all += left;
                on_first += left * stays;
                (left, stays) = (1.0 - share_up_to, stays * (1.0 - leaves));
            }
            let returns = (all - 1.0) * leaves;
            let upstream = class.weight * requests_factor;
            let later = self.gate_request() + upstream * work.later_request;
            let first = self.gate_request() + upstream * work.first_request;
            let open = |handshake: f64| work.accept + handshakes_factor * handshake;
            new_cpu_s +=
                class.share * (open(work.full_handshake) + first + (on_first - 1.0) * later);
            returning += class.share * returns;
            returning_cpu_s +=
                class.share * (returns * open(work.resumed_handshake) + (all - on_first) * later);
        }
        let returning_cpu_s = if returning > 1e-9 { returning_cpu_s / returning } else { 0.0 };
        ConnectionCosts { new_cpu_s, returning_cpu_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Change, Changed, Customers};

    fn near(actual: f64, expected: f64) {
        assert!((actual / expected - 1.0).abs() < 1e-4, "{actual} is not {expected}");
    }

    #[test]
    fn connections_of_even_sessions_worked_out_by_hand() {
        let customers = Customers { requests: 3.0, requests_max: 3.0, ..Customers::default() };
        let mut scenario = Scenario { customers: vec![customers], ..Scenario::default() };
        scenario.gate.keep_alive_s = 0.175 * 2.0_f64.ln();
        // p = 1 ∕ 2: 1.75 requests on the first connection, 2 × 1 ∕ 2 returns with the
        // other 1.25. A request: 83.33 + 90 µs.
        let costs = scenario.connection_costs(0.0);
        near(costs.new_cpu_s, 717e-6 + 1.75 * 173.333e-6);
        near(costs.returning_cpu_s, 177e-6 + 1.25 * 173.333e-6);
        scenario.work.first_request = 10e-6;
        near(scenario.connection_costs(0.0).new_cpu_s, 637e-6 + 1.75 * 173.333e-6);
        let what = Changed::Cost { requests: 2.0, handshakes: 3.0, over_s: 0.0 };
        scenario.changes = vec![Change { at_s: 5.0, what }];
        near(scenario.connection_costs(5.0).returning_cpu_s, 497e-6 + 1.25 * 263.333e-6);
    }

    #[test]
    fn the_connections_of_a_session_cost_what_the_session_does() {
        let scenario = Scenario::default();
        let costs = scenario.connection_costs(0.0);
        let returns = 11.0 * (-250.0_f64 / 175.0).exp();
        let session: f64 = scenario.demand(0.0).iter().sum();
        near(costs.new_cpu_s + returns * costs.returning_cpu_s, session);
    }

    #[test]
    fn where_nobody_returns_a_return_costs_nothing() {
        let mut scenario = Scenario::default();
        scenario.customers[0].requests = 1.0;
        scenario.customers[0].requests_max = 1.0;
        let costs = scenario.connection_costs(0.0);
        near(costs.new_cpu_s, 717e-6 + 173.333e-6);
        assert_eq!(costs.returning_cpu_s, 0.0);
    }
}
