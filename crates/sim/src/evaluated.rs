//! Runs of a scenario under a policy, and what they come to.

use std::ops::RangeInclusive;

use super::arrivals::Arrivals;
use super::expectation::Expectation;
use super::measure::Measure;
use super::outcome::Outcome;
use super::policies;
use super::policy::Policy;
use super::scenario::Scenario;
use super::world::run;
use tidegate_control::PolicyKind;

/// The load that response times are compared with.
const CALM: f64 = 0.8;
/// Rates that hindsight tries for `static`, in the most that is carried at any
/// time of the run; then those so far beside the best, by and by closer.
const RATES: [f64; 6] = [0.2, 0.4, 0.6, 0.8, 1.0, 1.2];
const BESIDE: [f64; 3] = [0.1, 0.05, 0.025];
/// Goodput that is as good, in shares of the best possible.
const AS_GOOD: f64 = 0.01;

/// What runs of one scenario, policy and load came to: means over the seeds.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// The policy.
    pub policy: String,
    /// The load, in capacities.
    pub load: f64,
    /// Values in the order of [`Measure::ALL`]; `None`: one of the runs had none.
    pub values: [Option<f64>; Measure::ALL.len()],
    /// Requests that were answered in time, in all runs together.
    pub answered: u64,
    /// The run of the first seed.
    pub first: Outcome,
}

impl Evaluated {
    /// What it came to by a measure.
    pub fn value(&self, measure: Measure) -> Option<f64> {
        self.values[measure as usize]
    }

    /// What the scenario expects of this policy at this load, and whether it
    /// came out.
    pub fn verdicts<'s>(
        &self,
        scenario: &'s Scenario,
    ) -> impl Iterator<Item = (&'s Expectation, bool)> {
        let concerned =
            scenario.expectations.iter().filter(|e| e.concerns(&self.policy, self.load));
        concerned.map(|e| (e, e.is_met_by(self.value(e.measure))))
    }
}

/// Runs a scenario under a policy at each of its loads, with each of the seeds; `None`:
/// no policy has this name.
pub fn evaluate(
    scenario: &Scenario,
    policy: &str,
    seeds: RangeInclusive<u64>,
) -> Option<Vec<Evaluated>> {
    policies::named(policy, scenario)?;
    let calm = Scenario {
        arrivals: Arrivals::default(),
        attacks: Vec::new(),
        changes: Vec::new(),
        ..scenario.clone()
    };
    let calm_p95_ms = mean(seeds.clone().map(|seed| {
        let mut policy = policies::named(policy, scenario).expect("it was just found");
        run(&calm, CALM, seed, policy.as_mut()).response_ms(0.95)
    }));
    let at = |load: &f64| {
        let rate = (policy == "static").then(|| best_rate(scenario, *load, &seeds));
        let make = || match rate {
            Some(per_second) => policies::production(PolicyKind::Static { per_second }),
            None => policies::named(policy, scenario).expect("it was just found"),
        };
        evaluate_at(scenario, policy, *load, (&seeds, calm_p95_ms), make)
    };
    Some(scenario.loads.iter().map(at).collect())
}

fn evaluate_at(
    scenario: &Scenario,
    policy: &str,
    load: f64,
    (seeds, calm_p95_ms): (&RangeInclusive<u64>, Option<f64>),
    make: impl Fn() -> Box<dyn Policy>,
) -> Evaluated {
    let outcomes: Vec<_> =
        seeds.clone().map(|seed| run(scenario, load, seed, make().as_mut())).collect();
    let values = Measure::ALL.map(|measure| {
        mean(outcomes.iter().map(|outcome| measure.of(outcome, scenario, load, calm_p95_ms)))
    });
    let answered = outcomes.iter().map(|outcome| outcome.answered).sum();
    let first = outcomes.into_iter().next().unwrap_or_default();
    Evaluated { policy: policy.to_owned(), load, values, answered, first }
}

/// The rate with which a static limit does best in this very scenario, which
/// nobody knows beforehand: the mean over the same seeds decides.
fn best_rate(scenario: &Scenario, load: f64, seeds: &RangeInclusive<u64>) -> f64 {
    let number = seeds.clone().count() as f64;
    let most = scenario.most_carried_per_s();
    let tried = |share: f64| {
        let runs = seeds.clone().map(|seed| {
            let per_second = share * most;
            let mut policy = policies::production(PolicyKind::Static { per_second });
            run(scenario, load, seed, policy.as_mut())
        });
        runs.fold(Tried { share, goodput: 0.0, p95_ms: 0.0 }, |sum, outcome| Tried {
            goodput: sum.goodput + outcome.goodput().unwrap_or(0.0) / number,
            p95_ms: sum.p95_ms + outcome.response_ms(0.95).unwrap_or(f64::INFINITY) / number,
            ..sum
        })
    };
    let mut all: Vec<Tried> = RATES.into_iter().map(tried).collect();
    for step in BESIDE {
        let share = best(&all).share;
        all.extend([share - step, share + step].map(tried));
    }
    best(&all).share * most
}

/// What came of a rate.
#[derive(Clone, Copy, Debug)]
struct Tried {
    share: f64,
    goodput: f64,
    p95_ms: f64,
}

/// That of the highest goodput, and of those that are as good the one of the
/// shortest response times.
fn best(tried: &[Tried]) -> Tried {
    let most = tried.iter().map(|tried| tried.goodput).fold(0.0, f64::max);
    let good = tried.iter().filter(|tried| tried.goodput >= most - AS_GOOD);
    *good.min_by(|a, b| a.p95_ms.total_cmp(&b.p95_ms)).expect("the best is among them")
}

/// `None`: there is none, or one of the values is missing.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_needs_every_value() {
        assert_eq!(mean([Some(1.0), Some(3.0)].into_iter()), Some(2.0));
        assert_eq!(mean([Some(1.0), None].into_iter()), None);
        assert_eq!(mean([].into_iter()), None);
    }

    #[test]
    fn hindsight_wants_goodput_first_and_short_responses_second() {
        let tried = |share, goodput, p95_ms| Tried { share, goodput, p95_ms };
        let all = [tried(0.8, 0.980, 9.0), tried(0.9, 0.992, 20.0), tried(1.0, 1.0, 30.0)];
        // The middle one is within a hundredth of the last, the first is not.
        assert_eq!(best(&all).share, 0.9);
        assert_eq!(best(&all[..1]).share, 0.8);
    }
}
