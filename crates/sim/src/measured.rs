//! The value of a measure in a run.

use super::measure::Measure;
use super::outcome::Outcome;
use super::scenario::Scenario;

/// The length of the stretches of which the worst counts.
const STRETCH_S: f64 = 10.0;

impl Measure {
    /// The value of a run; `calm_p95_ms` is the p95 of the same scenario at a
    /// steady load of 0.8. `None`: the run has no such value, as the response time
    /// without any answer.
    pub fn of(
        self,
        outcome: &Outcome,
        scenario: &Scenario,
        load: f64,
        calm_p95_ms: Option<f64>,
    ) -> Option<f64> {
        match self {
            Self::Goodput => outcome.goodput(),
            Self::P50 => outcome.response_ms(0.5),
            Self::P95 => outcome.response_ms(0.95),
            Self::P99 => outcome.response_ms(0.99),
            Self::AdmissionWait => outcome.admission_wait_ms(0.95),
            Self::HungUp => outcome.hung_up(),
            Self::LeastGoodput => outcome.least_goodput(STRETCH_S),
            Self::P95Ratio => {
                outcome.response_ms(0.95).zip(calm_p95_ms).map(|(p95, calm)| p95 / calm)
            }
            Self::Standing => Some(outcome.standing_ms()),
            Self::Overshoot => Some(outcome.overshoot_ms()),
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
                    outcome.settled_after(step_s, until_s, queue_s)
                })
                .reduce(f64::max),
            Self::Reopen => steps(scenario, load, |before, after| before > 1.0 && after <= 0.9)
                .map(|(step_s, until_s)| outcome.open_after(step_s, until_s))
                .reduce(f64::max),
            Self::FairLengths => outcome.fair_lengths(),
            Self::FairPrefixes => outcome.fair_prefixes(),
            Self::HighAnswered => outcome.high_answered(),
            Self::GoodputNet => {
                let goodput = outcome.goodput()?;
                room_cpu(outcome, scenario).map(|room| goodput / (1.0 - room))
            }
            Self::RoomCpu => room_cpu(outcome, scenario),
            Self::RoomDisorder => outcome.room.disorder(),
            Self::EstimatesKept => outcome.room.estimates_kept(),
        }
    }
}

/// The room's share of the gate's cores; `None`: there is no room.
fn room_cpu(outcome: &Outcome, scenario: &Scenario) -> Option<f64> {
    scenario.gate.room?;
    Some(outcome.room.cpu_s / (outcome.seconds * scenario.gate.cores))
}

/// The steps of the schedule that are of a kind, given the loads before and
/// after: when each comes, and when something else happens. Waves, bursts and
/// ramps are no steps: there is no level to settle at.
pub(super) fn steps(
    scenario: &Scenario,
    load: f64,
    is: impl Fn(f64, f64) -> bool,
) -> impl Iterator<Item = (f64, f64)> {
    let arrivals = &scenario.arrivals;
    let mut levels = Vec::new();
    if arrivals.wave.is_none() && arrivals.bursts.is_none() && arrivals.closed.is_none() {
        let mut before = 0.0;
        for segment in &arrivals.segments {
            if segment.level == segment.to_level {
                levels.push((segment.from_s, before * load, segment.level * load));
            }
            before = segment.to_level;
        }
        if arrivals.segments.is_empty() {
            levels.push((0.0, 0.0, load));
        }
    }
    let of_kind = levels.into_iter().filter(move |(_, before, after)| is(*before, *after));
    of_kind.map(|(from_s, ..)| (from_s, undisturbed_until(scenario, from_s)))
}

/// When the next thing after a time begins or ends.
fn undisturbed_until(scenario: &Scenario, from_s: f64) -> f64 {
    let segments = scenario.arrivals.segments.iter().map(|segment| segment.from_s);
    let changes = scenario.changes.iter().map(|change| change.at_s);
    let attacks = scenario.attacks.iter().flat_map(|attack| [attack.from_s, attack.until_s]);
    let blind =
        scenario.telemetry.blind.into_iter().flat_map(|(from_s, until_s)| [from_s, until_s]);
    let others = segments.chain(changes).chain(attacks).chain(blind);
    others.filter(|at_s| *at_s > from_s).fold(scenario.duration_s, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::{Arrivals, Bursts, Segment, Wave};
    use crate::expectation::Expectation;
    use crate::scenario::{Change, Changed, Resource};

    #[test]
    fn no_bound_is_met_where_there_is_no_value() {
        let at_most = Expectation {
            policy: "tide".to_owned(),
            loads: Vec::new(),
            measure: Measure::P95Ratio,
            range: (f64::NEG_INFINITY, 2.0),
        };
        assert!(at_most.is_met_by(Some(2.0)) && !at_most.is_met_by(Some(2.1)));
        assert!(!at_most.is_met_by(None));
        let value = |calm| {
            let outcome = Outcome { waits_s: vec![0.01], answered: 1, ..Outcome::default() };
            Measure::P95Ratio.of(&outcome, &Scenario::default(), 2.0, calm)
        };
        assert_eq!((value(Some(4.0)), value(None)), (Some(2.5), None));
    }

    #[test]
    fn a_crowd_steps_up_and_down_again() {
        let segment = |from_s, level| Segment { from_s, level, to_level: level };
        let segments = vec![segment(0.0, 0.05), segment(2.0, 1.0), segment(8.0, 0.05)];
        let arrivals = Arrivals { segments, ..Arrivals::default() };
        let scenario = Scenario { arrivals, duration_s: 12.0, ..Scenario::default() };
        let up: Vec<_> = steps(&scenario, 10.0, |a, b| a <= 1.0 && b > 1.0).collect();
        let down: Vec<_> = steps(&scenario, 10.0, |a, b| a > 1.0 && b <= 0.9).collect();
        assert_eq!((up, down), (vec![(2.0, 8.0)], vec![(8.0, 12.0)]));
    }

    #[test]
    fn a_step_is_watched_until_something_else_happens() {
        let ups = |scenario: &Scenario| -> Vec<_> {
            steps(scenario, 2.0, |a, b| a <= 1.0 && b > 1.0).collect()
        };
        // A steady load above the capacity is a step from nothing.
        let steady = Scenario { duration_s: 12.0, ..Scenario::default() };
        assert_eq!(ups(&steady), [(0.0, 12.0)]);
        let cores = Changed::Cores { resource: Resource::Gate, cores: 0.5, seen: true };
        let changes = vec![Change { at_s: 5.0, what: cores }];
        let mut disturbed = Scenario { changes, ..steady.clone() };
        assert_eq!(ups(&disturbed), [(0.0, 5.0)]);
        disturbed.telemetry.blind = Some((3.0, 8.0));
        assert_eq!(ups(&disturbed), [(0.0, 3.0)]);
    }

    #[test]
    fn waves_bursts_and_ramps_are_no_steps() {
        let is_up = |a: f64, b: f64| a <= 1.0 && b > 1.0;
        let wave = Some(Wave { period_s: 9.0, amplitude: 0.5 });
        let bursts = Some(Bursts { factor: 2.0, lasts_s: 1.0, share: 0.1 });
        let ramp = vec![Segment { from_s: 0.0, level: 1.0, to_level: 0.5 }];
        for arrivals in [
            Arrivals { wave, ..Arrivals::default() },
            Arrivals { bursts, ..Arrivals::default() },
            Arrivals { segments: ramp, ..Arrivals::default() },
        ] {
            let scenario = Scenario { arrivals, ..Scenario::default() };
            assert_eq!(steps(&scenario, 2.0, is_up).count(), 0);
            let settle = Measure::Settle.of(&Outcome::default(), &scenario, 2.0, None);
            assert_eq!(settle, None);
        }
    }
}
