//! All simulated runs and their results.

use serde_json::{Value, json};
use tidegate_sim::{Evaluated, Expectation, Measure, Scenario};

use super::overview::{Overview, overviews};
use super::results::{Result, Results};

/// All runs of a command.
pub struct Summary<'s> {
    pub scenarios: &'s [Scenario],
    /// By scenario, then policy.
    pub results: Vec<Result>,
    pub seeds: u64,
    overviews: Vec<Overview<'s>>,
}

/// An expectation and its result.
pub struct ExpectationResult<'s> {
    pub scenario: &'s Scenario,
    pub expectation: &'s Expectation,
    pub load: f64,
    pub value: Option<f64>,
    pub met: bool,
}

impl<'s> Summary<'s> {
    pub fn new(scenarios: &'s [Scenario], results: Vec<Result>, seeds: u64) -> Self {
        let overviews = overviews(Results { scenarios, all: &results, seeds });
        Self { scenarios, results, seeds, overviews }
    }

    /// Each policy in a few figures, in the order of the request.
    pub fn overviews(&self) -> &[Overview<'s>] {
        &self.overviews
    }

    /// The policy whose goals are listed one by one: `tide`, else the last one.
    pub fn goal_policy(&self) -> Option<&Overview<'s>> {
        let tide = self.overviews.iter().find(|overview| overview.policy == "tide");
        tide.or(self.overviews.last())
    }

    /// Whether that policy misses a goal in any run.
    pub fn misses_a_goal(&self) -> bool {
        self.goal_policy()
            .is_some_and(|o| o.goals.iter().any(|reached| reached.misses().next().is_some()))
    }

    /// The results of each scenario.
    pub fn by_scenario(&self) -> impl Iterator<Item = (&'s Scenario, &[Result])> {
        Results { scenarios: self.scenarios, all: &self.results, seeds: self.seeds }.by_scenario()
    }

    /// What was expected, of those policies that were simulated.
    pub fn expectation_results(&self) -> Vec<ExpectationResult<'s>> {
        let mut all = Vec::new();
        for result in &self.results {
            let scenario = &self.scenarios[result.scenario];
            for run in &result.runs {
                all.extend(run.verdicts(scenario).map(|(expectation, met)| {
                    let value = run.value(expectation.measure);
                    ExpectationResult { scenario, expectation, load: run.load, value, met }
                }));
            }
        }
        all
    }

    /// How many expectations were missed.
    pub fn missed(&self) -> usize {
        self.expectation_results().iter().filter(|result| !result.met).count()
    }

    /// The scenarios of which no run answered a single request. One policy at one
    /// load may collapse so far. If all do, no customer arrived.
    pub fn unanswered(&self) -> Vec<&'s str> {
        let silent =
            |results: &[Result]| results.iter().flat_map(|r| &r.runs).all(|run| run.answered == 0);
        let unanswered = self.by_scenario().filter(|(_, results)| silent(results));
        unanswered.map(|(scenario, _)| scenario.name.as_str()).collect()
    }

    /// For programs: one entry per policy, with its goals; and one per scenario,
    /// policy and load.
    pub fn json(&self) -> Value {
        let points: Vec<Value> = self
            .results
            .iter()
            .flat_map(|result| result.runs.iter().map(|run| self.point(result, run)))
            .collect();
        let policies: Vec<Value> = self.overviews.iter().map(Overview::json).collect();
        json!({ "seeds": self.seeds, "policies": policies, "points": points })
    }

    fn point(&self, result: &Result, run: &Evaluated) -> Value {
        let scenario = &self.scenarios[result.scenario];
        let mut point = json!({
            "scenario": scenario.name,
            "policy": result.policy,
            "load": run.load,
            "capacity_per_s": scenario.capacity_per_s(),
            "why": run.first.why,
        });
        for measure in Measure::ALL {
            point[measure.name()] = json!(run.value(measure));
        }
        let expected = run.verdicts(scenario).map(|(expectation, met)| {
            let bound = |bound: f64| bound.is_finite().then_some(bound);
            json!({
                "measure": expectation.measure.name(),
                "min": bound(expectation.range.0),
                "max": bound(expectation.range.1),
                "met": met,
            })
        });
        point["expected"] = expected.collect();
        point
    }
}

impl ExpectationResult<'_> {
    /// `demo, tide at 4×: goodput is 0.91, expected at least 0.95`
    pub fn text(&self) -> String {
        let Expectation { policy, measure, range, .. } = self.expectation;
        let expected = match range {
            (min, max) if max.is_infinite() => format!("at least {min}"),
            (min, max) if min.is_infinite() => format!("at most {max}"),
            (min, max) => format!("{min} to {max}"),
        };
        let value = self.value.map_or("nothing".to_owned(), |value| format!("{value:.4}"));
        format!(
            "{}, {policy} at {}×: {} is {value}, expected {expected}",
            self.scenario.name,
            self.load,
            measure.name(),
        )
    }
}
