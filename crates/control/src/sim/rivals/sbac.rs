//! Session-based admission control: new sessions are turned away while the
//! predicted use of the CPU is above a threshold.
//!
//! Source: Cherkasova and Phaal 2002, "Session-Based Admission Control: A
//! Mechanism for Peak Load Management of Commercial Web Sites", IEEE
//! Transactions on Computers 51(6): `f(i+1) = (1 − k) f(i) + k U(i)`, new
//! sessions are rejected in interval i+1 where `f(i+1) > 95 %`.
//! Deviation: of their responsive (k = 1), stable (k = 0.1) and hybrid
//! strategies the middle, k = 0.5; the busiest host counts.

use super::{NOT_NOW, Pace};
use crate::sim::judge::{Judge, User};
use crate::{Decision, Reading, Time, Usage};

const THRESHOLD: f64 = 0.95;
const WEIGHT: f64 = 0.5;
const INTERVAL_S: f64 = 1.0;

/// The policy's state.
#[derive(Debug)]
pub(in crate::sim) struct Sbac {
    interval_s: f64,
    passed_s: f64,
    used: f64,
    capacity: f64,
    predicted: f64,
}

impl Sbac {
    pub(in crate::sim) fn new(pace: Pace) -> Self {
        // Below a tenth of a second there are no readings.
        let interval_s = pace.of(INTERVAL_S).max(0.1);
        Self { interval_s, passed_s: 0.0, used: 0.0, capacity: 0.0, predicted: 0.0 }
    }
}

impl Judge for Sbac {
    fn new_session(&mut self, _: Time, _: User) -> Decision {
        if self.predicted > THRESHOLD { NOT_NOW } else { Decision::Admit }
    }

    fn observe(&mut self, _: Time, reading: &Reading) {
        let elapsed_s = reading.elapsed.as_secs_f64();
        let of = |usage: Usage| (usage.used_cpu_s.unwrap_or(0.0), usage.capacity_cpus);
        let gate = of(reading.gate);
        let upstream = reading.upstream.map_or((0.0, 1.0), of);
        let (used, cpus) = match reading.shared {
            Some(shared) => of(shared),
            None if upstream.0 / upstream.1 > gate.0 / gate.1 => upstream,
            None => gate,
        };
        self.passed_s += elapsed_s;
        self.used += used;
        self.capacity += cpus * elapsed_s;
        if self.passed_s >= self.interval_s - 1e-6 {
            let in_use = self.used / self.capacity.max(1e-9);
            self.predicted += WEIGHT * (in_use - self.predicted);
            (self.passed_s, self.used, self.capacity) = (0.0, 0.0, 0.0);
        }
    }

    fn why(&self, _: Time) -> String {
        format!(
            "the use predicted for this interval is {:.0} %, the threshold 95 %",
            self.predicted * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_prediction_moves_half_way_and_closes_above_the_threshold() {
        let mut sbac = Sbac::new(Pace(0.1));
        let full = Reading {
            elapsed: Duration::from_millis(100),
            gate: Usage { capacity_cpus: 2.0, used_cpu_s: Some(0.2), idle: None },
            ..Reading::default()
        };
        let mut open = Vec::new();
        for _ in 0..6 {
            sbac.observe(Time::ZERO, &full);
            open.push(sbac.new_session(Time::ZERO, User(0)).is_admit());
        }
        // 0.5, 0.75, 0.875, 0.9375, 0.969
        assert_eq!(open, [true, true, true, true, false, false]);
    }
}
