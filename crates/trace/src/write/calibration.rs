//! What recording costs on this machine, measured at the start: the threads that are traced do
//! not read a clock to learn it.

use crate::format::record::{Line, Step};
use crate::phase::{Outcome, Phase};
use std::time::Duration;
use tidegate_host::clock::monotonic_ns;
use tidegate_host::cpu_clock;

/// Costs of the two things that recording does.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Of a phase, with its part of the record.
    step: Duration,
    /// Of a reading of the thread's CPU clock, at both ends of a task's turn.
    reading: Duration,
}

/// How often each is measured.
const TIMES: u32 = 500;

impl Costs {
    /// Measures, for less than a millisecond.
    pub fn measure() -> Self {
        let mut out = Vec::with_capacity(64 << 10);
        let mut line = Line {
            connection: 1_000_000,
            request: 3,
            start_ns: monotonic_ns(),
            measured: false,
            outcome: Outcome::Open,
            status: 200,
            context: None,
            steps: (),
        };
        let step = |()| {
            let took_ns = monotonic_ns() & 0xff_ffff;
            Step { phase: Phase::Service, took_ns, cpu_ns: 0 }
        };
        let begun = cpu_clock::of_this_thread();
        for _ in 0..TIMES / 4 {
            out.clear();
            // The context of each request is drawn and written.
            line.context = Some(crate::Context::begin());
            line.with_steps([(); 4].map(step)).write(&mut out, 0);
        }
        let steps = cpu_clock::of_this_thread();
        for _ in 0..TIMES {
            std::hint::black_box((cpu_clock::of_this_thread(), monotonic_ns()));
        }
        let readings = cpu_clock::of_this_thread();
        std::hint::black_box(&out);
        Self { step: (steps - begun) / TIMES, reading: 2 * (readings - steps) / TIMES }
    }

    /// The cost of so many steps and readings.
    pub fn of(self, steps: u64, readings: u64) -> Duration {
        let times =
            |cost: Duration, count: u64| Duration::from_secs_f64(cost.as_secs_f64() * count as f64);
        times(self.step, steps) + times(self.reading, readings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_add_up() {
        let (step, reading) = (Duration::from_nanos(50), Duration::from_nanos(600));
        let costs = Costs { step, reading };
        assert_eq!(costs.of(100, 10), Duration::from_nanos(11_000));
        assert!(Costs::measure().of(1_000_000, 0) > Duration::ZERO);
    }
}
