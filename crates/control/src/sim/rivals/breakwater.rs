//! Credits: the server gives out as many as its queueing delay allows.
//!
//! Source: Cho et al. 2020, "Overload Control for µs-scale RPCs with
//! Breakwater", OSDI: each round trip, with delay d and target t, the pool grows
//! by `max(0.001 × clients, 1)` where d < t, else it is multiplied by
//! `max(1 − 0.02 (d − t) ∕ t, 0.5)`.
//! Deviation: a customer has no credits to spend; a credit is a place for a
//! session inside, and a new one enters while there is a credit left. The pool
//! grows once per response time, as theirs does once per round trip, and
//! shrinks once per tick. The delay is that of the upstream's responses beyond
//! the shortest mean that was seen; its target is ten such means, as theirs is
//! about ten service times. Overcommitment and dropping at the
//! server are left out.

use super::{admit_if, mean_response_s};
use crate::sim::judge::{Judge, User};
use crate::{Decision, Reading, Time};

/// The policy's state.
#[derive(Debug)]
pub(in crate::sim) struct Breakwater {
    credits: f64,
    inside: f64,
    shortest_s: f64,
    delay_s: f64,
}

impl Breakwater {
    pub(in crate::sim) fn new() -> Self {
        Self { credits: 10.0, inside: 0.0, shortest_s: f64::INFINITY, delay_s: 0.0 }
    }
}

impl Judge for Breakwater {
    fn new_session(&mut self, _: Time, _: User) -> Decision {
        let may = self.inside < self.credits;
        self.inside += f64::from(u8::from(may));
        admit_if(may)
    }

    fn observe(&mut self, _: Time, reading: &Reading) {
        self.inside = f64::from(reading.sessions_active);
        let Some(mean_s) = mean_response_s(reading) else {
            self.credits += 1.0;
            return;
        };
        self.shortest_s = self.shortest_s.min(mean_s);
        self.delay_s = mean_s - self.shortest_s;
        let target_s = 10.0 * self.shortest_s;
        if self.delay_s < target_s {
            // A pool that nobody uses up says nothing about the server.
            if self.inside >= 0.5 * self.credits {
                let trips = (reading.elapsed.as_secs_f64() / mean_s).clamp(1.0, 100.0);
                self.credits += trips * (0.001 * self.inside).max(1.0);
            }
        } else {
            self.credits *= (1.0 - 0.02 * (self.delay_s - target_s) / target_s).max(0.5);
        }
        self.credits = self.credits.max(1.0);
    }

    fn why(&self, _: Time) -> String {
        format!(
            "{:.0} of {:.0} credits are in use; requests are delayed by {:.1} ms, {:.1} are allowed",
            self.inside,
            self.credits,
            self.delay_s * 1e3,
            self.shortest_s * 1e4
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(each_s: f64, sessions_active: u32) -> Reading {
        Reading {
            upstream_responses: 10,
            upstream_time_s: 10.0 * each_s,
            sessions_active,
            ..Reading::default()
        }
    }

    #[test]
    fn credits_by_hand() {
        let mut server = Breakwater::new();
        server.observe(Time::ZERO, &reading(0.001, 10));
        assert_eq!(server.credits, 11.0);
        server.observe(Time::ZERO, &reading(0.001, 2));
        assert_eq!(server.credits, 11.0);
        // Delay 29 ms, target 10 ms: times 1 − 0.02 × 1.9.
        server.observe(Time::ZERO, &reading(0.030, 11));
        assert!((server.credits - 11.0 * 0.962).abs() < 1e-9);
        server.observe(Time::ZERO, &reading(3.0, 11));
        assert!((server.credits - 11.0 * 0.962 * 0.5).abs() < 1e-9);
    }
}
