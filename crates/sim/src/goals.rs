//! Goals of an admission policy in every scenario. The expectations of a scenario file, in
//! contrast, hold for one policy in that scenario.
//!
//! A goal is assessed run by run, where [`Goal::applies`]. Goals that compare take all other
//! policies under the same scenario at the same load as rivals.

use super::evaluated::Evaluated;
use super::measure::Measure;
use super::measured::steps;
use super::scenario::Scenario;
use tidegate_stats::Verdict;

/// The least load at which goodput is assessed.
const OVERLOAD: f64 = 2.0;
/// Up to this load no session needs to be refused.
const ROOM: f64 = 0.9;
/// A step is one to this load or more.
const STEP: f64 = 10.0;
/// Goodput that differs by less is equal.
const EQUAL: f64 = 0.02;
/// A difference of fewer standard deviations counts as chance.
const CHANCE: f64 = 2.0;
/// A response time counts as shorter below this share of the other.
const SHORTER: f64 = 0.95;

/// What a policy should reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Goal {
    /// Goodput of 95 % of the best possible, from twice the capacity on.
    Goodput,
    /// p95 at most twice that at a steady load of 0.8.
    Response,
    /// No session is refused up to 0.9 of the capacity.
    Open,
    /// 99 % of the admitted sessions complete.
    Kept,
    /// At most 5 % of the CPU time comes to nothing.
    Wasted,
    /// Settled within 2 s of a step to ten times the capacity.
    Settled,
    /// No session is refused from 1 s after the crowd's end on.
    Reopened,
    /// No rival has 2 % more goodput.
    Unbeaten,
    /// No rival has a shorter p95 at equal goodput.
    Fastest,
}

/// A goal in a run, and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// The goal.
    pub goal: Goal,
    /// The run's value, in the goal's unit; NaN: it has none.
    pub value: f64,
    /// Whether the value is within the goal's range, by its interval where chance has a part in
    /// it.
    pub verdict: Verdict,
    /// Of the goals that compare, the rival that was best.
    pub rival: Option<String>,
}

impl Assessment {
    /// Whether the goal is met, as far as chance allows to tell.
    pub fn met(&self) -> bool {
        self.verdict != Verdict::DoesNotHold
    }
}

/// How a goal's figure reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share: 0.95 is 95 %.
    Share,
    /// A multiple: 2 is twice as much.
    Times,
    /// Seconds.
    Seconds,
}

impl Goal {
    /// All of them, in the order of a table.
    pub const ALL: [Self; 9] = [
        Self::Goodput,
        Self::Response,
        Self::Open,
        Self::Kept,
        Self::Wasted,
        Self::Settled,
        Self::Reopened,
        Self::Unbeaten,
        Self::Fastest,
    ];

    /// Its name in results and at the head of a column.
    pub fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::Response => "p95",
            Self::Open => "open",
            Self::Kept => "kept",
            Self::Wasted => "wasted",
            Self::Settled => "settled",
            Self::Reopened => "reopened",
            Self::Unbeaten => "unbeaten",
            Self::Fastest => "fastest",
        }
    }

    /// What it requires, in a few words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Goodput => "goodput at least 95 % of the best",
            Self::Response => "p95 at most twice that at 80 % load",
            Self::Open => "no session refused up to 90 % load",
            Self::Kept => "99 % of admitted sessions complete",
            Self::Wasted => "at most 5 % of CPU time wasted",
            Self::Settled => "settled within 2 s of a step to 10×",
            Self::Reopened => "no refusals 1 s after the crowd's end",
            Self::Unbeaten => "no rival has 2 % more goodput",
            Self::Fastest => "no rival as good has a shorter p95",
        }
    }

    /// The least and the most that meets it.
    pub fn range(self) -> (f64, f64) {
        const ANY: f64 = f64::INFINITY;
        match self {
            Self::Goodput => (0.95, ANY),
            Self::Response => (0.0, 2.0),
            Self::Open => (0.0, 0.0),
            Self::Kept => (0.99, ANY),
            Self::Wasted => (0.0, 0.05),
            Self::Settled => (0.0, 2.0),
            Self::Reopened => (0.0, 1.0),
            Self::Unbeaten => (-ANY, EQUAL),
            Self::Fastest => (SHORTER, ANY),
        }
    }

    /// The unit of its figure.
    pub fn unit(self) -> Unit {
        match self {
            Self::Response | Self::Fastest => Unit::Times,
            Self::Settled | Self::Reopened => Unit::Seconds,
            _ => Unit::Share,
        }
    }

    /// Whether it needs others to be compared with.
    pub fn compares(self) -> bool {
        matches!(self, Self::Unbeaten | Self::Fastest)
    }

    /// Whether it applies to a scenario at a load.
    ///
    /// Attackers take places and processors, and the best possible does not count them:
    /// goodput, waste and settling are assessed only without attacks. The goals that concern
    /// active sessions, and those that compare, apply under attack as well.
    pub fn applies(self, scenario: &Scenario, load: f64) -> bool {
        let unattacked = scenario.attacks.is_empty();
        match self {
            Self::Goodput => unattacked && load >= OVERLOAD,
            Self::Wasted => unattacked,
            Self::Open => has_room(scenario, load),
            Self::Response | Self::Kept | Self::Unbeaten | Self::Fastest => true,
            Self::Settled => {
                let to_heavy = |before: f64, after: f64| before <= 1.0 && after >= STEP;
                unattacked
                    && is_stepped(scenario)
                    && steps(scenario, load, to_heavy).next().is_some()
            }
            Self::Reopened => {
                let to_light = |before: f64, after: f64| before > 1.0 && after <= ROOM;
                unattacked
                    && is_stepped(scenario)
                    && steps(scenario, load, to_light).next().is_some()
            }
        }
    }

    /// How bad a value is: the higher, the worse; no value is the worst.
    pub fn badness(self, value: f64) -> f64 {
        match self.range() {
            _ if value.is_nan() => f64::INFINITY,
            (_, max) if max.is_finite() => value,
            _ => -value,
        }
    }

    /// The value of a run and, for goals that compare, the best rival.
    fn value<'r>(self, run: &Evaluated, others: &[&'r Evaluated]) -> (f64, Option<&'r Evaluated>) {
        let value = match self {
            Self::Goodput => goodput(run),
            Self::Response => of(run, Measure::P95Ratio),
            Self::Open => of(run, Measure::Refused),
            Self::Kept => 1.0 - of(run, Measure::Lost),
            Self::Wasted => of(run, Measure::Wasted),
            Self::Settled => of(run, Measure::Settle),
            Self::Reopened => of(run, Measure::Reopen),
            Self::Unbeaten => {
                let ahead = |other: &Evaluated| goodput(other) - goodput(run);
                let best = others.iter().max_by(|a, b| ahead(a).total_cmp(&ahead(b)));
                return best.map_or((f64::NAN, None), |best| (ahead(best), Some(best)));
            }
            Self::Fastest if of(run, Measure::P95).is_nan() => f64::NAN,
            Self::Fastest => {
                // A rival that refuses more is faster for that reason.
                let as_good = others.iter().filter(|o| goodput(o) >= goodput(run) - EQUAL);
                let times = |other: &Evaluated| of(other, Measure::P95) / of(run, Measure::P95);
                let shortest = as_good
                    .filter(|other| !times(other).is_nan())
                    .min_by(|a, b| times(a).total_cmp(&times(b)));
                return shortest.map_or((f64::INFINITY, None), |best| (times(best), Some(best)));
            }
        };
        (value, None)
    }
}

/// Assesses a run, the mean over `seeds` seeds, by every goal that applies to it;
/// `others` are the runs of other policies under the same scenario at the same load.
pub fn assess(
    scenario: &Scenario,
    run: &Evaluated,
    others: &[&Evaluated],
    seeds: u64,
) -> Vec<Assessment> {
    Goal::ALL
        .into_iter()
        .filter(|goal| goal.applies(scenario, run.load))
        .filter(|goal| !goal.compares() || !others.is_empty())
        .map(|goal| {
            let (value, best) = goal.value(run, others);
            let (min, max) = goal.range();
            let chance = match (goal, best) {
                (Goal::Unbeaten, Some(best)) => CHANCE * deviation(run, best, seeds),
                _ => 0.0,
            };
            let rival = best.map(|best| best.policy.clone());
            let bound = |bound: f64| Some(bound).filter(|bound| bound.is_finite());
            let verdict = match value.is_nan() {
                true => Verdict::DoesNotHold,
                false => Verdict::within(bound(min), bound(max), (value - chance, value + chance)),
            };
            Assessment { goal, value, verdict, rival }
        })
        .collect()
}

/// Standard deviation of the difference between two goodputs, for arrivals and
/// session lengths are drawn: that of counts in a Poisson process, `g ∕ √n`, for
/// `n` completed sessions, both together.
fn deviation(one: &Evaluated, other: &Evaluated, seeds: u64) -> f64 {
    let variance = |run: &Evaluated| {
        let completed = (run.first.completed.max(1) * seeds) as f64;
        goodput(run).powi(2) / completed
    };
    (variance(one) + variance(other)).sqrt()
}

fn goodput(run: &Evaluated) -> f64 {
    of(run, Measure::Goodput)
}

/// A figure; NaN where there is none, as of response times without any answer.
fn of(run: &Evaluated, measure: Measure) -> f64 {
    run.value(measure).unwrap_or(f64::NAN)
}

/// Whether the load changes by steps only, so that their times are known.
fn is_stepped(scenario: &Scenario) -> bool {
    let arrivals = &scenario.arrivals;
    arrivals.wave.is_none() && arrivals.bursts.is_none() && arrivals.closed.is_none()
}

/// Whether arrivals, attackers included, never exceed [`ROOM`] of what the machines carry
/// at the time.
fn has_room(scenario: &Scenario, load: f64) -> bool {
    // A closed loop uses the whole capacity.
    if scenario.arrivals.closed.is_some() {
        return false;
    }
    let capacity = scenario.capacity_per_s();
    let attacks: f64 = scenario.attacks.iter().map(|attack| attack.load).sum();
    let comes = (load * scenario.arrivals.highest() + attacks) * capacity;
    let tenths = 0..=(scenario.duration_s * 10.0) as u32;
    let carried = tenths.map(|tenth| scenario.worth(f64::from(tenth) / 10.0, 0.0).carried_per_s);
    comes <= ROOM * carried.fold(f64::INFINITY, f64::min) * (1.0 + 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, Attack, AttackKind, Bursts, Change, Changed, Outcome, Segment};

    fn run(policy: &str, load: f64, values: &[(Measure, f64)]) -> Evaluated {
        let mut all = [None; Measure::ALL.len()];
        for (measure, value) in values {
            all[*measure as usize] = Some(*value);
        }
        let first = Outcome { completed: 1_000_000, ..Outcome::default() };
        Evaluated { policy: policy.to_owned(), load, values: all, answered: 1, first }
    }

    fn of(
        goal: Goal,
        scenario: &Scenario,
        run: &Evaluated,
        others: &[&Evaluated],
    ) -> Option<Assessment> {
        assess(scenario, run, others, 1).into_iter().find(|verdict| verdict.goal == goal)
    }

    #[test]
    fn each_goal_has_its_bound_and_the_bound_itself_meets_it() {
        let steady = Scenario::default();
        let ends = Scenario {
            arrivals: Arrivals {
                segments: vec![
                    Segment { from_s: 0.0, level: 1.0, to_level: 1.0 },
                    Segment { from_s: 20.0, level: 0.01, to_level: 0.01 },
                ],
                ..Arrivals::default()
            },
            ..Scenario::default()
        };
        for (goal, scenario, load, measure, good, bad) in [
            (Goal::Goodput, &steady, 2.0, Measure::Goodput, 0.95, 0.949),
            (Goal::Response, &steady, 0.8, Measure::P95Ratio, 2.0, 2.001),
            (Goal::Open, &steady, 0.9, Measure::Refused, 0.0, 1e-5),
            (Goal::Kept, &steady, 2.0, Measure::Lost, 0.01, 0.011),
            (Goal::Wasted, &steady, 2.0, Measure::Wasted, 0.05, 0.051),
            (Goal::Settled, &steady, 10.0, Measure::Settle, 2.0, 2.1),
            (Goal::Reopened, &ends, 10.0, Measure::Reopen, 1.0, 1.1),
        ] {
            let met = |value| of(goal, scenario, &run("tide", load, &[(measure, value)]), &[]);
            assert_eq!(
                (met(good).unwrap().met(), met(bad).unwrap().met()),
                (true, false),
                "{goal:?}"
            );
        }
        // Without an answer, p95 is a miss.
        let nobody = run("off", 4.0, &[]);
        assert!(!of(Goal::Response, &steady, &nobody, &[]).unwrap().met());
        let other = run("tide", 4.0, &[(Measure::P95, 9.0)]);
        assert!(!of(Goal::Fastest, &steady, &nobody, &[&other]).unwrap().met());
    }

    #[test]
    fn a_rival_with_more_goodput_or_a_shorter_p95_is_named() {
        let point = |policy: &str, goodput, p95| {
            run(policy, 2.0, &[(Measure::Goodput, goodput), (Measure::P95, p95)])
        };
        let scenario = Scenario::default();
        let (tide, codel, eac) =
            (point("tide", 0.96, 10.0), point("codel", 0.99, 9.6), point("eac", 0.5, 2.0));
        let others = [&codel, &eac];
        let ahead = of(Goal::Unbeaten, &scenario, &tide, &others).unwrap();
        assert_eq!((ahead.met(), ahead.rival.as_deref()), (false, Some("codel")));
        assert!((ahead.value - 0.03).abs() < 1e-12);
        // eac answers sooner, but completes half of it; 9.6 ms are no less than 95 % of 10.
        let sooner = of(Goal::Fastest, &scenario, &tide, &others).unwrap();
        assert_eq!((sooner.met(), sooner.rival.as_deref()), (true, Some("codel")));
        let quick = point("pi", 0.945, 9.0);
        let sooner = of(Goal::Fastest, &scenario, &tide, &[&quick]).unwrap();
        assert_eq!((sooner.met(), sooner.value), (false, 0.9));
        assert!(of(Goal::Unbeaten, &scenario, &tide, &[]).is_none(), "alone there is no rival");
    }

    #[test]
    fn a_difference_within_chance_is_no_miss() {
        let point = |policy: &str, goodput, completed| {
            let first = Outcome { completed, ..Outcome::default() };
            Evaluated { first, ..run(policy, 2.0, &[(Measure::Goodput, goodput)]) }
        };
        let met = |completed, seeds| {
            let (one, other) = (point("tide", 0.9, completed), point("pi", 0.95, completed));
            let all = assess(&Scenario::default(), &one, &[&other], seeds);
            all.into_iter().find(|verdict| verdict.goal == Goal::Unbeaten).unwrap().met()
        };
        // √(0.9² + 0.95²) ∕ √n is 4.1 % for 1000, 1.3 % for 10 000.
        assert!(met(1000, 1) && !met(10_000, 1) && !met(1000, 10));
    }

    #[test]
    fn goals_apply_where_they_make_sense() {
        let steady = Scenario::default();
        assert!(!Goal::Goodput.applies(&steady, 1.2) && Goal::Goodput.applies(&steady, 2.0));
        assert!(Goal::Open.applies(&steady, 0.9) && !Goal::Open.applies(&steady, 1.0));
        assert!(Goal::Settled.applies(&steady, 10.0) && !Goal::Settled.applies(&steady, 4.0));
        assert!(!Goal::Reopened.applies(&steady, 10.0), "nothing ends");
        let bursts = Some(Bursts { factor: 2.0, lasts_s: 1.0, share: 0.1 });
        let arrivals = Arrivals { bursts, ..Arrivals::default() };
        let bursting = Scenario { arrivals, ..Scenario::default() };
        assert!(Goal::Open.applies(&bursting, 0.45) && !Goal::Open.applies(&bursting, 0.5));
        let change = Changed::Cost { requests: 1.0, handshakes: 3.0, over_s: 0.0 };
        let costlier =
            Scenario { changes: vec![Change { at_s: 5.0, what: change }], ..Scenario::default() };
        assert!(!Goal::Open.applies(&costlier, 0.8));
        let kind = AttackKind::Handshakes;
        let attack = Attack { kind, load: 0.3, from_s: 0.0, until_s: 9.0 };
        let attacked = Scenario { attacks: vec![attack], ..Scenario::default() };
        assert!(Goal::Open.applies(&attacked, 0.5) && !Goal::Open.applies(&attacked, 0.8));
        assert!(!Goal::Goodput.applies(&attacked, 2.0) && !Goal::Wasted.applies(&attacked, 2.0));
        assert!(Goal::Response.applies(&attacked, 2.0) && Goal::Kept.applies(&attacked, 2.0));
    }
}
