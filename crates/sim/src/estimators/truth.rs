//! What a simulated connection really costs.

use super::ConnectionCosts;
use crate::Scenario;

impl Scenario {
    /// What a connection costs on average if everything stays as it is at a
    /// time and nobody loses patience: accepting it, its handshake, and its
    /// requests in gate and upstream. Work in a database is left out, which no
    /// gate sees.
    ///
    /// A customer makes another request on the same connection with the probability `p`
    /// that its customer thinks no longer than the connection is kept, so the first
    /// connection of a session of `n` requests has `(1 − pⁿ) ∕ (1 − p)` of them.
    pub fn connection_costs(&self, at_s: f64) -> ConnectionCosts {
        let (requests_factor, handshakes_factor) = self.factors(at_s);
        let (mut new, mut returning) = (Mean::default(), Mean::default());
        for class in &self.customers {
            let (tls, resumes) = (self.tls(class), class.resumes());
            let leaves = class.think.above(self.gate.keep_alive_s);
            let on_first = class.requests.discounted(1.0 - leaves);
            let returns = (class.requests.mean() - 1.0) * leaves;
            let on_others = (class.requests.mean() - on_first) / returns.max(1e-12);
            let share = self.share(class, at_s);
            let request = |first: bool| {
                let upstream = class.weight * requests_factor * self.request(class, first).mean();
                self.gate_request() + upstream
            };
            let open = |handshake: f64| self.work.accept + handshakes_factor * handshake;
            let later = request(false);
            let first_cpu_s = open(tls.full()) + request(true) + (on_first - 1.0) * later;
            new.add(share, first_cpu_s);
            // A customer without a ticket is new to the gate.
            let again = share * returns;
            new.add(again * (1.0 - resumes), open(tls.full()) + on_others * later);
            returning.add(again * resumes, open(tls.resumed()) + on_others * later);
        }
        ConnectionCosts { new_cpu_s: new.value(), returning_cpu_s: returning.value() }
    }
}

/// A weighted mean; 0 of nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    fn add(&mut self, weight: f64, value: f64) {
        self.sum += weight * value;
        self.weight += weight;
    }

    fn value(self) -> f64 {
        if self.weight > 1e-9 { self.sum / self.weight } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, Changed, Customers, SessionLength};

    fn near(actual: f64, expected: f64) {
        assert!((actual / expected - 1.0).abs() < 1e-4, "{actual} is not {expected}");
    }

    #[test]
    fn connections_of_even_sessions_worked_out_by_hand() {
        let customers =
            Customers { requests: SessionLength::power_law(3.0, 3.0), ..Customers::default() };
        let mut scenario = Scenario { customers: vec![customers], ..Scenario::default() };
        scenario.gate.keep_alive_s = 0.175 * 2.0_f64.ln();
        // p = 1 ∕ 2: 1.75 requests on the first connection, 2 × 1 ∕ 2 returns with the
        // other 1.25. A request: 83.33 + 90 µs.
        let costs = scenario.connection_costs(0.0);
        near(costs.new_cpu_s, 717e-6 + 1.75 * 173.333e-6);
        near(costs.returning_cpu_s, 177e-6 + 1.25 * 173.333e-6);
        scenario.work.first_request = scenario.work.first_request.with_mean(10e-6);
        near(scenario.connection_costs(0.0).new_cpu_s, 637e-6 + 1.75 * 173.333e-6);
        let what = Changed::Cost { requests: 2.0, handshakes: 3.0, over_s: 0.0 };
        scenario.changes = vec![Change { at_s: 5.0, what }];
        near(scenario.connection_costs(5.0).returning_cpu_s, 497e-6 + 1.25 * 263.333e-6);
    }

    #[test]
    fn who_brings_no_ticket_is_a_newcomer_worked_out_by_hand() {
        let customers = Customers {
            requests: SessionLength::power_law(3.0, 3.0),
            tickets: 0.5,
            ..Customers::default()
        };
        let mut scenario = Scenario { customers: vec![customers], ..Scenario::default() };
        scenario.gate.keep_alive_s = 0.175 * 2.0_f64.ln();
        // As above: a first connection with 1.75 requests and one other with 1.25, half of
        // them without a ticket. So a session has 1.5 connections that are new to the
        // gate, with 1.75 + 0.625 requests, and half a returning one.
        let costs = scenario.connection_costs(0.0);
        near(costs.new_cpu_s, 717e-6 + 2.375 / 1.5 * 173.333e-6);
        near(costs.returning_cpu_s, 177e-6 + 1.25 * 173.333e-6);
    }

    #[test]
    fn the_connections_of_a_session_cost_what_the_session_does() {
        let scenario = Scenario::default();
        let costs = scenario.connection_costs(0.0);
        let returns = 11.29475 * (-250.0_f64 / 175.0).exp();
        let session: f64 = scenario.demand(0.0)[..3].iter().sum();
        near(costs.new_cpu_s + returns * costs.returning_cpu_s, session);
    }

    #[test]
    fn where_nobody_returns_a_return_costs_nothing() {
        let mut scenario = Scenario::default();
        scenario.customers[0].requests = SessionLength::power_law(1.0, 1.0);
        let costs = scenario.connection_costs(0.0);
        near(costs.new_cpu_s, 717e-6 + 173.333e-6);
        assert_eq!(costs.returning_cpu_s, 0.0);
    }
}
