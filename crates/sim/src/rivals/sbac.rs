//! Session-based admission control: new sessions are refused while the predicted
//! utilization of the CPU is above a threshold.
//!
//! Source: Cherkasova and Phaal 2002, "Session-Based Admission Control: A
//! Mechanism for Peak Load Management of Commercial Web Sites", IEEE
//! Transactions on Computers 51(6): `f(i+1) = (1 − k) f(i) + k U(i)`, new
//! sessions are rejected in interval i+1 where `f(i+1) > 95 %`.
//! Deviation: an interval is a second at the customers' pace, but no shorter than
//! the time between two readings, a tenth of a second, which is relatively longer than
//! theirs where customers are fast. The busiest host counts. Their hybrid strategy,
//! which chooses k by what was aborted, is left out.
//! Swept: k of their responsive (1) and stable (0.1) strategies and 0.5; intervals
//! at the customers' pace and of a second; thresholds of 80 and 90 %; refused sessions
//! queued or refused at once. The responsive strategy, at their pace and threshold, with
//! refusal at once carries most (95 %; 60 % with queueing: then the whole queue is
//! admitted when the prediction falls below the threshold; their system has no queue
//! either). With an interval of a second it reacts too late (63 %).

use super::{NOT_NOW, Pace};
use crate::policy::{Policy, User};
use tidegate_control::{Decision, Moment, Reading, ResourceName, Time, Usage};

const THRESHOLD: f64 = 0.95;
const WEIGHT: f64 = 1.0;
const INTERVAL_S: f64 = 1.0;

/// The policy's state.
#[derive(Debug)]
pub(crate) struct Sbac {
    interval_s: f64,
    passed_s: f64,
    used: f64,
    capacity: f64,
    predicted: f64,
}

impl Sbac {
    pub(crate) fn new(pace: Pace) -> Self {
        // Below a tenth of a second there are no readings.
        let interval_s = pace.of(INTERVAL_S).max(0.1);
        Self { interval_s, passed_s: 0.0, used: 0.0, capacity: 0.0, predicted: 0.0 }
    }
}

impl Policy for Sbac {
    fn decide(&mut self, _: Time, _: User, _: Moment) -> Decision {
        if self.predicted > THRESHOLD { NOT_NOW } else { Decision::Admit }
    }

    fn refuses_one(&self) -> bool {
        true
    }

    fn observe(&mut self, _: Time, reading: &Reading) {
        let elapsed_s = reading.elapsed.as_secs_f64();
        let of = |usage: Usage| (usage.used_cpu_s.unwrap_or(0.0), usage.capacity_cpus);
        let gate = of(reading.gate());
        let upstream = reading.usage_of(ResourceName::Upstream).map_or((0.0, 1.0), of);
        let (used, cpus) = match reading.usage_of(ResourceName::Host) {
            Some(host) => of(host),
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
            "the utilization predicted for this interval is {:.0} %, the threshold 95 %",
            self.predicted * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tidegate_control::ByResource;

    fn reading(elapsed: Duration, gate: Usage) -> Reading {
        let usage = ByResource::default().with(ResourceName::Gate, gate);
        Reading { elapsed, usage, ..Reading::default() }
    }

    #[test]
    fn new_sessions_are_refused_above_95_percent_of_use_and_admitted_below() {
        let mut sbac = Sbac::new(Pace(0.1));
        let mut admits_after = |used_cpu_s| {
            let gate = Usage { capacity_cpus: 2.0, used_cpu_s: Some(used_cpu_s), idle: None };
            let elapsed = Duration::from_millis(50);
            for _ in 0..2 {
                sbac.observe(Time::ZERO, &reading(elapsed, gate));
            }
            sbac.decide(Time::ZERO, User(0), Moment::IDLE).is_admit()
        };
        // Of 0.1 CPU seconds in half an interval: 96, 94 and 100 %.
        assert_eq!([0.096, 0.094, 0.1].map(&mut admits_after), [false, true, false]);
    }

    #[test]
    fn an_interval_counts_when_it_is_over() {
        let mut sbac = Sbac::new(Pace(0.2));
        let gate = Usage { capacity_cpus: 1.0, used_cpu_s: Some(0.1), idle: None };
        let reading = reading(Duration::from_millis(100), gate);
        sbac.observe(Time::ZERO, &reading);
        assert!(sbac.decide(Time::ZERO, User(0), Moment::IDLE).is_admit());
        sbac.observe(Time::ZERO, &reading);
        assert!(!sbac.decide(Time::ZERO, User(0), Moment::IDLE).is_admit());
    }
}
