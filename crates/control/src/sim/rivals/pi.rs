//! A PI controller that sets the share of new sessions to be turned away.
//!
//! Source: Uber Engineering 2023, "PID Controller for Cinnamon": the error is
//! `(inflow − (outflow + free)) ∕ outflow`, free being the places left under a
//! limit of requests in flight, so that in balance it is what is in flight
//! beyond the limit; the share rejected is `Kp e + Ki Σe`, without a derivative
//! term.
//! Deviation: the error is relative to the limit, 1 at most either way, since a
//! tick answers many times more than the limit. The limit is eight times the
//! processors: their auto-tuner is left out. Gains are ours.

use super::admit_if;
use crate::sim::judge::{Judge, User};
use crate::{Decision, Reading, Time};

const KP: f64 = 0.05;
const KI: f64 = 0.01;
const IN_FLIGHT_PER_CPU: f64 = 8.0;

/// The policy's state.
#[derive(Debug)]
pub(in crate::sim) struct Pi {
    integral: f64,
    rejected: f64,
    random: u64,
}

impl Pi {
    pub(in crate::sim) fn new() -> Self {
        Self { integral: 0.0, rejected: 0.0, random: 1 }
    }
}

impl Judge for Pi {
    fn new_session(&mut self, _: Time, _: User) -> Decision {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let draw = (self.random >> 11) as f64 / (1u64 << 53) as f64;
        admit_if(draw >= self.rejected)
    }

    fn turns_away(&self) -> bool {
        true
    }

    fn observe(&mut self, _: Time, reading: &Reading) {
        let limit = (reading.capacity_cpus() * IN_FLIGHT_PER_CPU).max(1.0);
        let error = (f64::from(reading.in_flight_requests) / limit - 1.0).clamp(-1.0, 1.0);
        self.integral = (self.integral + KI * error).clamp(0.0, 1.0);
        self.rejected = (KP * error + self.integral).clamp(0.0, 0.999);
    }

    fn why(&self, _: Time) -> String {
        format!("{:.0} % of new sessions are turned away", self.rejected * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Usage;

    #[test]
    fn too_many_in_flight_close_the_door_and_few_open_it() {
        let mut pi = Pi::new();
        let reading = |in_flight_requests| Reading {
            gate: Usage { capacity_cpus: 1.0, used_cpu_s: None, idle: None },
            in_flight_requests,
            ..Reading::default()
        };
        for _ in 0..95 {
            pi.observe(Time::ZERO, &reading(80));
        }
        assert!(pi.rejected > 0.9, "{}", pi.rejected);
        for _ in 0..200 {
            pi.observe(Time::ZERO, &reading(0));
        }
        assert_eq!(pi.rejected, 0.0);
    }
}
