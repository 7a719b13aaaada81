//! What a policy is judged by, and what a scenario expects of it.

use super::outcome::Outcome;
use super::scenario::Scenario;

/// What runs of one scenario, policy and load came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Completed sessions, as a share of the best possible.
    Goodput,
    /// Median response time, in milliseconds.
    P50,
    /// 95th percentile of it.
    P95,
    /// 99th percentile of it.
    P99,
    /// 95th percentile, in those of the same scenario at a steady 0.8.
    P95Ratio,
    /// Queue that stands a second or longer, in milliseconds.
    Standing,
    /// Longest queue, in milliseconds.
    Overshoot,
    /// Refused, of those offered.
    Refused,
    /// Refused although there was time, of those offered.
    RefusedIdle,
    /// Not completed, of those admitted.
    Lost,
    /// Refused in the middle of their visit, of those admitted.
    CutOff,
    /// CPU time that came to nothing, of that spent.
    Wasted,
    /// Seconds until settled after the load rose above the capacity.
    Settle,
    /// Seconds until nobody is refused after it fell below.
    Reopen,
    /// Jain's index between short and long sessions.
    FairLengths,
    /// Jain's index between address prefixes.
    FairPrefixes,
}

impl Measure {
    /// All of them, in the order of a table.
    pub const ALL: [Self; 16] = [
        Self::Goodput,
        Self::P50,
        Self::P95,
        Self::P99,
        Self::P95Ratio,
        Self::Standing,
        Self::Overshoot,
        Self::Refused,
        Self::RefusedIdle,
        Self::Lost,
        Self::CutOff,
        Self::Wasted,
        Self::Settle,
        Self::Reopen,
        Self::FairLengths,
        Self::FairPrefixes,
    ];

    /// Its name in files and results, with its unit at the end.
    pub fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::P50 => "p50_ms",
            Self::P95 => "p95_ms",
            Self::P99 => "p99_ms",
            Self::P95Ratio => "p95_ratio",
            Self::Standing => "standing_ms",
            Self::Overshoot => "overshoot_ms",
            Self::Refused => "refused",
            Self::RefusedIdle => "refused_idle",
            Self::Lost => "lost",
            Self::CutOff => "cut_off",
            Self::Wasted => "wasted",
            Self::Settle => "settle_s",
            Self::Reopen => "reopen_s",
            Self::FairLengths => "fair_lengths",
            Self::FairPrefixes => "fair_prefixes",
        }
    }

    /// What a run came to; `calm_p95_ms` is that of the same scenario at a
    /// steady load of 0.8.
    pub fn of(self, outcome: &Outcome, scenario: &Scenario, load: f64, calm_p95_ms: f64) -> f64 {
        match self {
            Self::Goodput => outcome.goodput(),
            Self::P50 => outcome.response_ms(0.5),
            Self::P95 => outcome.response_ms(0.95),
            Self::P99 => outcome.response_ms(0.99),
            Self::P95Ratio if calm_p95_ms > 0.0 => outcome.response_ms(0.95) / calm_p95_ms,
            Self::P95Ratio => 0.0,
            Self::Standing => outcome.standing_ms(),
            Self::Overshoot => outcome.overshoot_ms(),
            Self::Refused => outcome.refused(),
            Self::RefusedIdle => outcome.refused_idle(),
            Self::Lost => outcome.lost(),
            Self::CutOff => outcome.cut_off(),
            Self::Wasted => outcome.wasted(),
            Self::Settle => steps(scenario, load, |before, after| before <= 1.0 && after > 1.0)
                .map(|(step_s, until_s)| {
                    // A queue is short against what customers would wait.
                    let patience = scenario.customers.iter().map(|class| class.patience.mean());
                    let queue_s = patience.fold(f64::INFINITY, f64::min) / 10.0;
                    outcome.settled_after(step_s, until_s, scenario.requests(), queue_s)
                })
                .fold(0.0, f64::max),
            Self::Reopen => steps(scenario, load, |before, after| before > 1.0 && after <= 0.9)
                .map(|(step_s, until_s)| outcome.open_after(step_s, until_s))
                .fold(0.0, f64::max),
            Self::FairLengths => outcome.fair_lengths(),
            Self::FairPrefixes => outcome.fair_prefixes(),
        }
    }
}

/// The steps of the schedule that are of a kind, told by the loads before and
/// after: when each comes, and when the next step does.
fn steps(
    scenario: &Scenario,
    load: f64,
    is: impl Fn(f64, f64) -> bool,
) -> impl Iterator<Item = (f64, f64)> {
    let segments = &scenario.arrivals.segments;
    let mut levels = vec![(0.0, 0.0, if segments.is_empty() { load } else { 0.0 })];
    let mut before = 0.0;
    for segment in segments {
        levels.push((segment.from_s, before * load, segment.level * load));
        before = segment.to_level;
    }
    let ends = levels.iter().skip(1).map(|(at, ..)| *at).chain([scenario.duration_s]);
    let spans: Vec<_> = levels.iter().copied().zip(ends).collect();
    let of_kind = spans.into_iter().filter(move |((_, before, after), _)| is(*before, *after));
    of_kind.map(|((from_s, ..), until_s)| (from_s, until_s))
}

/// What must come out of a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Of which policy.
    pub policy: String,
    /// At which loads; none: at all.
    pub loads: Vec<f64>,
    /// What.
    pub measure: Measure,
    /// At least and at most.
    pub range: (f64, f64),
}

impl Expectation {
    /// Whether it is about this policy at this load.
    pub fn concerns(&self, policy: &str, load: f64) -> bool {
        self.policy == policy && (self.loads.is_empty() || self.loads.contains(&load))
    }

    /// Whether a value is as expected.
    pub fn is_met_by(&self, value: f64) -> bool {
        (self.range.0..=self.range.1).contains(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::arrivals::{Arrivals, Segment};

    #[test]
    fn a_crowd_steps_up_and_down_again() {
        let segment = |from_s, level| Segment { from_s, level, to_level: level };
        let segments = vec![segment(0.0, 0.05), segment(2.0, 1.0), segment(8.0, 0.05)];
        let arrivals = Arrivals { segments, ..Arrivals::default() };
        let scenario = Scenario { arrivals, duration_s: 12.0, ..Scenario::default() };
        let up: Vec<_> = steps(&scenario, 10.0, |a, b| a <= 1.0 && b > 1.0).collect();
        let down: Vec<_> = steps(&scenario, 10.0, |a, b| a > 1.0 && b <= 0.9).collect();
        assert_eq!((up, down), (vec![(2.0, 8.0)], vec![(8.0, 12.0)]));
        // A steady load above the capacity is a step from nothing.
        let steady = Scenario { duration_s: 12.0, ..Scenario::default() };
        let up: Vec<_> = steps(&steady, 2.0, |a, b| a <= 1.0 && b > 1.0).collect();
        assert_eq!(up, [(0.0, 12.0)]);
    }
}
