//! All runs of a policy in a few figures: one row of the first table, and the goals that
//! it meets.

use std::collections::HashMap;

use serde_json::{Value, json};
use tidegate_report::number::{NONE, percent};
use tidegate_sim::goals::{Assessment, Goal, Unit, assess};
use tidegate_sim::{Evaluated, Measure, Scenario};

use super::results::Results;

/// Loads from here on are overload.
const OVERLOAD: f64 = 2.0;
/// The load below the capacity at which refusals are reported.
const BELOW: f64 = 0.9;

/// What a policy did over all scenarios without attacks.
pub struct Overview<'s> {
    pub policy: &'static str,
    /// At twice the capacity and more; `None`: there was no such run.
    pub overload: Option<Overload<'s>>,
    /// Refused at 0.9 of the capacity, of those offered: the mean.
    pub refused_below: Option<f64>,
    /// Goals in the order of [`Goal::ALL`], those that apply to at least one run.
    pub goals: Vec<Reached<'s>>,
}

/// Figures at twice the capacity and more.
pub struct Overload<'s> {
    pub goodput_mean: f64,
    pub goodput_worst: f64,
    pub worst_in: &'s Scenario,
    /// Median of p95 in that at a steady load of 0.8; `None`: in half of the runs
    /// hardly any request was answered.
    pub p95_ratio_median: Option<f64>,
    pub lost_mean: f64,
    pub wasted_mean: f64,
}

/// A goal over all runs of a policy.
pub struct Reached<'s> {
    pub goal: Goal,
    /// The worst first.
    pub runs: Vec<Of<'s>>,
}

/// A goal in a run.
pub struct Of<'s> {
    pub scenario: &'s Scenario,
    pub load: f64,
    pub assessment: Assessment,
}

/// One for each policy, in the order of the request.
pub fn overviews<'s>(results: Results<'_, 's>) -> Vec<Overview<'s>> {
    let mut policies: Vec<&'static str> = Vec::new();
    for result in results.all {
        if !policies.contains(&result.policy) {
            policies.push(result.policy);
        }
    }
    let mut by_policy = assessments(results);
    let overview = |policy: &&'static str| {
        let runs = || {
            let of_policy = results.all.iter().filter(|result| result.policy == *policy);
            of_policy.flat_map(|result| {
                let scenario = &results.scenarios[result.scenario];
                result.runs.iter().map(move |run| (scenario, run))
            })
        };
        let unattacked = || runs().filter(|(scenario, _)| scenario.attacks.is_empty());
        let heavy: Vec<_> = unattacked().filter(|(_, run)| run.load >= OVERLOAD).collect();
        let below: Vec<f64> = unattacked()
            .filter(|(_, run)| run.load == BELOW)
            .filter_map(|(_, run)| run.value(Measure::Refused))
            .collect();
        Overview {
            policy,
            overload: overload(&heavy),
            refused_below: (!below.is_empty()).then(|| mean(&below)),
            goals: reached(by_policy.remove(policy).unwrap_or_default()),
        }
    };
    policies.iter().map(overview).collect()
}

/// Every run assessed beside the others of its scenario and load, by policy.
fn assessments<'s>(results: Results<'_, 's>) -> HashMap<&'static str, Vec<Of<'s>>> {
    let mut by_policy: HashMap<&'static str, Vec<Of<'s>>> = HashMap::new();
    let seeds = results.seeds;
    for (scenario, results) in results.by_scenario() {
        for result in results {
            for run in &result.runs {
                let others: Vec<&Evaluated> = results
                    .iter()
                    .filter(|other| other.policy != result.policy)
                    .filter_map(|other| other.runs.iter().find(|o| o.load == run.load))
                    .collect();
                let all = assess(scenario, run, &others, seeds).into_iter();
                let all = all.map(|assessment| Of { scenario, load: run.load, assessment });
                by_policy.entry(result.policy).or_default().extend(all);
            }
        }
    }
    by_policy
}

fn reached(all: Vec<Of<'_>>) -> Vec<Reached<'_>> {
    let mut by_goal = Goal::ALL.map(|goal| Reached { goal, runs: Vec::new() });
    for of in all {
        by_goal[of.assessment.goal as usize].runs.push(of);
    }
    for Reached { goal, runs } in &mut by_goal {
        let badness = |of: &Of<'_>| goal.badness(of.assessment.value);
        runs.sort_by(|a, b| badness(b).total_cmp(&badness(a)));
    }
    by_goal.into_iter().filter(|reached| !reached.runs.is_empty()).collect()
}

fn overload<'s>(runs: &[(&'s Scenario, &Evaluated)]) -> Option<Overload<'s>> {
    let all = |measure| runs.iter().filter_map(|(_, run)| run.value(measure)).collect::<Vec<f64>>();
    let goodput = |run: &Evaluated| run.value(Measure::Goodput).unwrap_or(0.0);
    let (worst_in, worst) = runs.iter().min_by(|a, b| goodput(a.1).total_cmp(&goodput(b.1)))?;
    // Without an answer the wait has no end.
    let ratio = |run: &Evaluated| run.value(Measure::P95Ratio).unwrap_or(f64::INFINITY);
    let median = median(runs.iter().map(|(_, run)| ratio(run)).collect());
    Some(Overload {
        goodput_mean: mean(&all(Measure::Goodput)),
        goodput_worst: goodput(worst),
        worst_in,
        p95_ratio_median: median.is_finite().then_some(median),
        lost_mean: mean(&all(Measure::Lost)),
        wasted_mean: mean(&all(Measure::Wasted)),
    })
}

impl<'s> Reached<'s> {
    /// In how many runs it was met.
    pub fn met(&self) -> usize {
        self.runs.iter().filter(|of| of.assessment.met()).count()
    }

    /// The run that is farthest from it.
    pub fn worst(&self) -> &Of<'s> {
        &self.runs[0]
    }

    /// The runs that miss it, the worst first.
    pub fn misses(&self) -> impl Iterator<Item = &Of<'s>> {
        self.runs.iter().filter(|of| !of.assessment.met())
    }
}

impl Of<'_> {
    /// Its figure as text; `–`: it has none.
    pub fn figure(&self) -> String {
        let value = self.assessment.value;
        match self.assessment.goal.unit() {
            _ if !value.is_finite() => NONE.to_owned(),
            Unit::Share => percent(value),
            Unit::Times => format!("{value:.2}×"),
            Unit::Seconds => format!("{value:.1} s"),
        }
    }

    /// `heavy-later at 10×`, and the rival where there is one.
    pub fn place(&self) -> String {
        let rival = self.assessment.rival.as_ref().map(|rival| format!(", {rival}"));
        format!("{} at {}×{}", self.scenario.name, self.load, rival.unwrap_or_default())
    }

    fn json(&self) -> Value {
        json!({
            "scenario": self.scenario.name,
            "load": self.load,
            "value": self.assessment.value,
            "rival": self.assessment.rival,
        })
    }
}

impl Overview<'_> {
    /// For programs.
    pub fn json(&self) -> Value {
        let goals: Vec<Value> = self
            .goals
            .iter()
            .map(|reached| {
                json!({
                    "goal": reached.goal.name(),
                    "text": reached.goal.text(),
                    "judged": reached.runs.len(),
                    "met": reached.met(),
                    "worst": reached.worst().json(),
                    "misses": reached.misses().map(Of::json).collect::<Vec<_>>(),
                })
            })
            .collect();
        let overload = self.overload.as_ref();
        json!({
            "policy": self.policy,
            "goodput_mean": overload.map(|o| o.goodput_mean),
            "goodput_worst": overload.map(|o| o.goodput_worst),
            "goodput_worst_in": overload.map(|o| &o.worst_in.name),
            "p95_ratio_median": overload.and_then(|o| o.p95_ratio_median),
            "lost_mean": overload.map(|o| o.lost_mean),
            "wasted_mean": overload.map(|o| o.wasted_mean),
            "refused_below_mean": self.refused_below,
            "goals": goals,
        })
    }
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

/// The middle one, or the mean of the two in the middle.
fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    let (low, high) = (of[(of.len() - 1) / 2], of[of.len() / 2]);
    if low == high { low } else { (low + high) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::super::results::Result;
    use super::super::summary::Summary;
    use super::*;
    use tidegate_sim::{Attack, AttackKind, Outcome};

    fn run(policy: &str, load: f64, goodput: f64, p95_ratio: f64, refused: f64) -> Evaluated {
        let mut values = [Some(0.0); Measure::ALL.len()];
        let answered = (p95_ratio > 0.0).then_some(p95_ratio);
        values[Measure::Goodput as usize] = Some(goodput);
        values[Measure::P95Ratio as usize] = answered;
        values[Measure::P95 as usize] = answered;
        values[Measure::Refused as usize] = Some(refused);
        let first = Outcome { completed: 1_000_000, ..Outcome::default() };
        Evaluated { policy: policy.to_owned(), load, values, answered: 1, first }
    }

    fn result(scenario: usize, policy: &'static str, runs: Vec<Evaluated>) -> Result {
        Result { scenario, policy, runs }
    }

    #[test]
    fn a_row_is_means_worst_and_median_over_loads_and_attacks_are_left_out() {
        let kind = AttackKind::Handshakes;
        let attack = Attack { kind, load: 1.0, from_s: 0.0, until_s: 9.0 };
        let named = |name: &str| Scenario { name: name.to_owned(), ..Scenario::default() };
        let attacked = Scenario { attacks: vec![attack], ..named("attacked") };
        let scenarios = [named("one"), named("two"), attacked];
        let results = vec![
            result(
                0,
                "tide",
                vec![run("tide", 0.9, 1.0, 1.0, 0.25), run("tide", 2.0, 0.9, 1.5, 0.5)],
            ),
            result(
                1,
                "tide",
                vec![run("tide", 2.0, 0.7, 3.0, 0.5), run("tide", 10.0, 0.8, 0.0, 0.9)],
            ),
            result(2, "tide", vec![run("tide", 2.0, 0.1, 9.0, 0.9)]),
        ];
        let summary = Summary::new(&scenarios, results, 1);
        let rows = summary.overviews();
        let overload = rows[0].overload.as_ref().unwrap();
        assert!((overload.goodput_mean - 0.8).abs() < 1e-12);
        assert_eq!((overload.goodput_worst, overload.worst_in.name.as_str()), (0.7, "two"));
        // Of 1.5, 3 and none answered: 3.
        assert_eq!(overload.p95_ratio_median, Some(3.0));
        assert_eq!(rows[0].refused_below, Some(0.25));
        let goodput = &rows[0].goals[0];
        assert_eq!((goodput.goal, goodput.runs.len(), goodput.met()), (Goal::Goodput, 3, 0));
        assert_eq!(goodput.worst().place(), "two at 2×");
        assert!(rows[0].goals.iter().all(|reached| !reached.goal.compares()));
        assert!(summary.misses_a_goal());
    }

    #[test]
    fn rivals_of_the_same_run_are_compared_and_named() {
        let scenarios = [Scenario::default()];
        let results = vec![
            result(0, "codel", vec![run("codel", 2.0, 0.99, 1.4, 0.5)]),
            result(0, "tide", vec![run("tide", 2.0, 0.96, 1.5, 0.5)]),
        ];
        let summary = Summary::new(&scenarios, results, 1);
        let rows = summary.overviews();
        let of = |row: usize, goal| rows[row].goals.iter().find(|r| r.goal == goal).unwrap();
        let beaten = of(1, Goal::Unbeaten);
        assert_eq!((beaten.met(), beaten.worst().figure().as_str()), (0, "3.0\u{a0}%"));
        assert_eq!(beaten.worst().place(), "demo at 2×, codel");
        assert_eq!(of(0, Goal::Unbeaten).met(), 1);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(median(vec![4.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(vec![1.0, f64::INFINITY, f64::INFINITY]), f64::INFINITY);
    }
}
