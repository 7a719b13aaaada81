//! How many requests a site answers at a time at most, from its throughput beyond the limit. Pure.
//!
//! Source: Little 1961, "A proof for the queuing formula L = λW", of the requests in service: the
//! throughput at its ceiling times the time that a request takes alone.

use crate::site::step::Step;

/// Steps beyond the limit that a ceiling needs, the factor between the lowest and the highest of
/// their rates, and the factor within which their throughput is the same.
const STEPS: usize = 3;
const APART: f64 = 1.3;
const LEVEL: f64 = 1.2;
/// Up to this it is one at a time.
const ONE: f64 = 1.25;

/// Requests that are answered at a time at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AtATime {
    /// Their number.
    pub(super) count: f64,
    /// Requests answered per second, however many more come.
    pub(super) ceiling_per_s: f64,
    /// Time that a request takes alone, in milliseconds.
    pub(super) alone_ms: f64,
}

impl AtATime {
    /// From steps of a staircase and the time that a request takes alone. `None` unless throughput
    /// is the same beyond the carried rate, whatever the load.
    pub(super) fn of(steps: &[Step], carried: f64, alone_ms: f64) -> Option<Self> {
        let beyond = |step: &&Step| step.is_beyond() && step.rate_per_s >= carried;
        let beyond: Vec<&Step> = steps.iter().filter(beyond).collect();
        let ends = |of: fn(&Step) -> f64| {
            let values = beyond.iter().map(|step| of(step));
            values.fold((f64::INFINITY, 0.0_f64), |(low, high), it| (low.min(it), high.max(it)))
        };
        let (slowest, fastest) = ends(|step| step.rate_per_s);
        let (least, most) = ends(|step| step.requests_per_s);
        let is_level = least > 0.0 && most <= LEVEL * least;
        if beyond.len() < STEPS || fastest < APART * slowest || !is_level || alone_ms <= 0.0 {
            return None;
        }
        let sum: f64 = beyond.iter().map(|step| step.requests_per_s).sum();
        let ceiling_per_s = sum / beyond.len() as f64;
        Some(Self { count: ceiling_per_s * alone_ms / 1000.0, ceiling_per_s, alone_ms })
    }

    pub(super) fn is_one(&self) -> bool {
        self.count <= ONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::step::tests::step;

    /// Steps beyond the limit at these rates, with ten requests for each session that completes.
    fn beyond(of: &[(f64, f64)]) -> Vec<Step> {
        of.iter().map(|&(rate, completed)| step(rate, completed, 900.0)).collect()
    }

    #[test]
    fn the_ceiling_times_the_time_of_one_request_is_how_many_are_answered_at_a_time() {
        let steps = beyond(&[(90.0, 90.0), (110.0, 80.0), (130.0, 81.0), (160.0, 79.0)]);
        // 800 requests a second, of 20 ms each.
        let found = AtATime::of(&steps, 100.0, 20.0).unwrap();
        assert!((found.count - 16.0).abs() < 1e-9 && !found.is_one(), "{found:?}");
        assert!(AtATime::of(&steps, 100.0, 1.25).unwrap().is_one());
    }

    #[test]
    fn without_a_level_ceiling_there_is_no_such_number() {
        let collapse = beyond(&[(110.0, 80.0), (130.0, 50.0), (160.0, 20.0)]);
        let near = beyond(&[(101.0, 80.0), (105.0, 80.0), (110.0, 80.0)]);
        let few = beyond(&[(110.0, 80.0), (160.0, 80.0)]);
        for steps in [collapse, near, few, Vec::new()] {
            assert_eq!(AtATime::of(&steps, 100.0, 20.0), None);
        }
        let level = beyond(&[(110.0, 80.0), (130.0, 81.0), (160.0, 79.0)]);
        assert_eq!(AtATime::of(&level, 100.0, 0.0), None);
    }
}
