//! A staircase of offered rates, and the figures of each step.

use std::time::Duration;

use tidegate_load::Arrivals;
use tidegate_load::arrivals::{Process, Segment};
use tidegate_stats::{Capacity, Carried, Step};

use super::summary::RampStep;

/// The first step, as a share of the estimated capacity, and the factor between steps: the
/// resolution of the capacity.
const BEGIN: f64 = 0.85;
const FACTOR: f64 = 1.12;
/// Most steps: 0.85 × 1.12^11 is 3 times the estimate.
const STEPS: i32 = 12;
/// When a step counts as carried. Overload shows in customers who leave. The completed
/// sessions per second of a step are less exact: its arrivals are random, and sessions that
/// began in the step before end in it.
const CARRIED: Carried = Carried { completed_ratio: 0.98, completed_per_offered: 0.75 };

/// A staircase around an estimated capacity.
pub struct Ramp {
    rates: Vec<f64>,
    lasts: Duration,
    seconds: Vec<tidegate_load::Point>,
}

impl Ramp {
    /// Steps of this length, around an estimate in sessions per second.
    pub fn around(estimate: f64, lasts: Duration) -> Self {
        let rates = (0..STEPS).map(|i| estimate * BEGIN * FACTOR.powi(i)).collect();
        Self { rates, lasts, seconds: Vec::new() }
    }

    /// The arrivals: first the lowest rate for `fill`, until sessions complete, then the
    /// steps.
    pub fn arrivals(&self, fill: Duration) -> Arrivals {
        let segment = |lasts, rate: f64| Segment { lasts, from_per_s: rate, to_per_s: rate };
        let mut segments = vec![segment(fill, self.rates[0])];
        segments.extend(self.rates.iter().map(|rate| segment(self.lasts, *rate)));
        Arrivals::segments(Process::Poisson, segments)
    }

    /// The length of all steps.
    pub fn length(&self) -> Duration {
        self.lasts * self.rates.len() as u32
    }

    /// Adds a second after the fill.
    pub fn push(&mut self, second: tidegate_load::Point) {
        self.seconds.push(second);
    }

    /// Two steps in a row that were not carried end the ramp: one may be noise.
    pub fn is_broken(&self) -> bool {
        is_broken(&self.steps())
    }

    /// The finished steps.
    pub fn steps(&self) -> Vec<RampStep> {
        steps(&self.rates, self.lasts, &self.seconds)
    }

    /// The capacity by the finished steps; `None` without any.
    pub fn capacity(&self) -> Option<Capacity> {
        let stair = |step: &RampStep| Step {
            offered_per_s: step.offered_per_s,
            completed_per_s: step.completed_per_s,
            completed_ratio: step.completed_ratio,
        };
        let staircase: Vec<Step> = self.steps().iter().map(stair).collect();
        tidegate_stats::capacity(&staircase, CARRIED)
    }

    /// Every stretch of this length.
    pub fn stretches(&self, length: Duration) -> Vec<Stretch> {
        let seconds = (length.as_secs_f64().round() as usize).max(1);
        self.seconds.windows(seconds).map(Stretch::of).collect()
    }
}

/// Some seconds in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Completed sessions per second.
    pub completed_per_s: f64,
    /// Of the sessions that ended in it, the share that completed; 0 for none.
    pub completed_ratio: f64,
}

impl Stretch {
    fn of(seconds: &[tidegate_load::Point]) -> Self {
        let sum = |of: fn(&tidegate_load::Point) -> f64| seconds.iter().map(of).sum::<f64>();
        let completed = sum(|s| s.completed_per_s);
        let ended = completed + sum(|s| s.abandoned_per_s + s.failed_per_s);
        Self {
            completed_per_s: completed / seconds.len().max(1) as f64,
            completed_ratio: if ended > 0.0 { completed / ended } else { 0.0 },
        }
    }
}

fn is_broken(steps: &[RampStep]) -> bool {
    let lost = |step: &RampStep| step.completed_ratio < 0.9;
    matches!(steps, [.., a, b] if lost(a) && lost(b))
}

/// The finished steps of a ramp. The first third of each is left out: sessions of the step
/// before end in it.
fn steps(rates: &[f64], lasts: Duration, seconds: &[tidegate_load::Point]) -> Vec<RampStep> {
    let length = lasts.as_secs_f64();
    let begin = seconds.first().map_or(0.0, |first| first.at_s - first.length_s);
    let measured = |step: usize| {
        let (from, to) =
            (begin + (step as f64 + 1.0 / 3.0) * length, begin + (step as f64 + 1.0) * length);
        let within = move |second: &&tidegate_load::Point| {
            second.at_s > from + 0.5 && second.at_s <= to + 0.01
        };
        let within: Vec<_> = seconds.iter().filter(within).copied().collect();
        let complete = seconds.last().is_some_and(|last| last.at_s > to - 0.5);
        (complete && !within.is_empty()).then_some(within)
    };
    rates
        .iter()
        .enumerate()
        .map_while(|(i, rate)| measured(i).map(|within| step(*rate, &within)))
        .collect()
}

fn step(rate: f64, seconds: &[tidegate_load::Point]) -> RampStep {
    let Stretch { completed_per_s, completed_ratio, .. } = Stretch::of(seconds);
    let p95_ms: f64 = seconds.iter().map(|s| s.response.p95_ms).sum();
    RampStep {
        offered_per_s: rate,
        completed_per_s,
        completed_ratio,
        response_p95_ms: p95_ms / seconds.len().max(1) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second_at(at_s: f64, completed: f64, abandoned: f64) -> tidegate_load::Point {
        tidegate_load::Point {
            at_s,
            length_s: 1.0,
            completed_per_s: completed,
            abandoned_per_s: abandoned,
            ..Default::default()
        }
    }

    #[test]
    fn a_step_leaves_out_its_first_third_and_waits_for_its_end() {
        let seconds: Vec<_> = (1..=8).map(|i| second_at(f64::from(i), f64::from(i), 0.0)).collect();
        let steps = steps(&[10.0, 20.0], Duration::from_secs(6), &seconds);
        assert_eq!(steps.len(), 1);
        // Seconds 3 to 6 of the first step.
        assert_eq!(steps[0].completed_per_s, 4.5);
    }

    #[test]
    fn two_lost_steps_in_a_row_end_the_ramp_but_one_does_not() {
        let step = |ratio| RampStep {
            offered_per_s: 1.0,
            completed_per_s: 1.0,
            completed_ratio: ratio,
            response_p95_ms: 1.0,
        };
        assert!(!is_broken(&[step(1.0), step(0.5)]));
        assert!(!is_broken(&[step(0.5), step(1.0)]));
        assert!(is_broken(&[step(1.0), step(0.5), step(0.5)]));
    }

    #[test]
    fn stretches_are_means_over_their_length() {
        let mut ramp = Ramp::around(100.0, Duration::from_secs(5));
        (1..=4).for_each(|i| ramp.push(second_at(f64::from(i), f64::from(i), 0.0)));
        let stretches = ramp.stretches(Duration::from_secs(3));
        let figures: Vec<_> = stretches.iter().map(|s| s.completed_per_s).collect();
        assert_eq!(figures, [2.0, 3.0]);
    }

    #[test]
    fn a_stretch_has_the_share_that_completed() {
        let stretch = Stretch::of(&[second_at(1.0, 100.0, 0.0), second_at(2.0, 50.0, 50.0)]);
        assert_eq!((stretch.completed_per_s, stretch.completed_ratio), (75.0, 0.75));
    }

    #[test]
    fn a_step_without_completed_sessions_was_not_carried() {
        assert_eq!(step(5.0, &[second_at(1.0, 0.0, 0.0)]).completed_ratio, 0.0);
    }
}
