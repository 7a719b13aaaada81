//! Whether claims hold, by the intervals of their figures.
//!
//! Rounds are replicates; levels that a claim spans, such as two loads, are conditions. Each
//! condition has an interval over its rounds and a verdict, and the claim has one for all of
//! them: pooled, a figure that is good at one load would hide a bad one at another. A ratio whose
//! two sides span the same levels is therefore one of equal levels: that at twice the capacity is
//! compared with that at twice the capacity.
//!
//! A round in which a condition has no value, such as 0 / 0, counts as one without: the condition
//! remains, and is undecided if fewer than [`ROUNDS`] are left. A ratio to 0 is infinite.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tidegate_stats::{Interval, mean};

use super::{Run, load_factor};
use crate::claim::{Claim, Verdict};
use crate::experiment::{ClaimRule, Experiment, Levels, Selection, Take};

/// Rounds that a verdict takes. Of two or three values a t interval is so wide that it decides
/// nothing, or, where they agree by chance, too narrow.
pub const ROUNDS: usize = 5;

/// Checks every claim of an experiment; after a quick run, those that it is to decide.
pub fn check(experiment: &Experiment, runs: &[Run], quick: bool) -> Vec<Claim> {
    let load = load_factor(experiment);
    let mut claims = Vec::new();
    for rule in experiment.checked(quick) {
        let factor =
            experiment.factors.iter().find(|factor| Some(&factor.name) == rule.each.as_ref());
        let Some(factor) = factor else {
            claims.push(claim(rule, None, runs, load));
            continue;
        };
        let claimed = |level: &&str| rule.runs.0.allows(&factor.name, level);
        for level in factor.levels(quick).into_iter().filter(claimed) {
            claims.push(claim(rule, Some((&factor.name, level)), runs, load));
        }
    }
    claims
}

/// One claim, for one level of a factor or for all runs.
fn claim(rule: &ClaimRule, of: Option<(&str, &str)>, runs: &[Run], load: Option<&str>) -> Claim {
    let left = match of {
        Some((factor, level)) => rule.runs.0.and(factor, level),
        None => rule.runs.0.clone(),
    };
    let left = (left, rule.runs.1);
    // Runs that the claim fixes, such as those of one processor, are the same for each level; what
    // asks the same of the factor as the left side does is of the same level.
    let right = rule.compared_with.as_ref().map(|(selection, take)| match of {
        Some((factor, level))
            if !selection.names(factor) || selection.asks_same(&rule.runs.0, factor) =>
        {
            (selection.and(factor, level), *take)
        }
        _ => (selection.clone(), *take),
    });
    let conditions: Vec<Condition> = values(rule, &left, right.as_ref(), runs, load)
        .into_iter()
        .map(|(levels, rounds)| Condition::judged(rule, levels, &rounds))
        .collect();
    let mut evidence = BTreeMap::from([
        ("metric".to_owned(), json!(rule.metric)),
        ("values".into(), json!(conditions.iter().map(|it| it.values).sum::<usize>())),
        ("is_ratio".into(), json!(rule.compared_with.is_some())),
    ]);
    if !rule.paper.is_empty() {
        evidence.insert("paper".into(), json!(rule.paper));
    }
    for (name, limit) in [("at_least", rule.at_least), ("at_most", rule.at_most)] {
        if let Some(limit) = limit {
            evidence.insert(name.into(), json!(limit));
        }
    }
    if let Some((factor, level)) = of {
        evidence.insert(factor.to_owned(), json!(level));
        evidence.insert("of".into(), json!(level));
    }
    let verdict = match deciding(rule, &conditions) {
        Some(decides) => {
            evidence.extend(decides.evidence());
            if conditions.len() > 1 {
                evidence.insert("decided_by".into(), json!(decides.words()));
                let fail = conditions.iter().filter(|it| it.verdict == Verdict::DoesNotHold);
                let fail: Vec<String> = fail.map(Condition::words).collect();
                if !fail.is_empty() {
                    evidence.insert("fails_at".into(), json!(fail));
                }
                let all: Vec<Value> = conditions.iter().map(Condition::row).collect();
                evidence.insert("conditions".into(), json!(all));
            }
            decides.verdict
        }
        None => {
            evidence.insert("undecided_because".into(), json!("not measured"));
            Verdict::Undecided
        }
    };
    let id =
        of.map_or_else(|| rule.id.clone(), |(_, level)| format!("{}-{}", rule.id, slug(level)));
    let (source, text) = (rule.source.clone(), rule.text.clone());
    Claim { id, source, kind: rule.kind, text, verdict, evidence }
}

/// Runs of the same levels: the rounds are replicates.
struct Condition {
    levels: Levels,
    rounds: usize,
    /// Rounds that have a value.
    values: usize,
    /// Values that are a ratio to 0.
    infinite: usize,
    /// NaN without a value.
    mean: f64,
    /// None of one round.
    interval: Option<Interval>,
    verdict: Verdict,
}

impl Condition {
    fn judged(rule: &ClaimRule, levels: Levels, rounds: &[Option<f64>]) -> Self {
        let values: Vec<f64> = rounds.iter().copied().flatten().collect();
        let mean = mean(values.iter().copied()).unwrap_or(f64::NAN);
        let infinite = values.iter().filter(|value| value.is_infinite()).count();
        let interval = if infinite > 0 { unbounded(&values) } else { Interval::of_mean(&values) };
        // No metric is below 0, and neither is a ratio.
        let interval = interval.map(Interval::not_negative);
        let verdict = match interval {
            Some(interval) if values.len() >= ROUNDS => {
                Verdict::within(rule.at_least, rule.at_most, interval.ends())
            }
            _ => Verdict::Undecided,
        };
        let (rounds, values) = (rounds.len(), values.len());
        Self { levels, rounds, values, infinite, mean, interval, verdict }
    }

    /// How far it is from breaking the claim, as a share of the limit: the nearer end of the
    /// interval decides, and below 0 it is beyond.
    fn margin(&self, rule: &ClaimRule) -> f64 {
        let (low, high) = self.interval.map_or((self.mean, self.mean), Interval::ends);
        let least = rule.at_least.map(|limit| (low - limit) / limit.abs().max(f64::MIN_POSITIVE));
        let most = rule.at_most.map(|limit| (limit - high) / limit.abs().max(f64::MIN_POSITIVE));
        least.into_iter().chain(most).fold(f64::INFINITY, f64::min)
    }

    /// JSON has no number for what is infinite, so such a figure is left out.
    fn evidence(&self) -> BTreeMap<String, Value> {
        let ends = self.interval.map(Interval::ends);
        let figures = [
            ("mean", Some(self.mean)),
            ("low_95", ends.map(|it| it.0)),
            ("high_95", ends.map(|it| it.1)),
        ];
        let finite = |(name, value): (&str, Option<f64>)| {
            value.filter(|it| it.is_finite()).map(|it| (name.to_owned(), json!(it)))
        };
        let mut evidence: BTreeMap<String, Value> =
            figures.into_iter().filter_map(finite).collect();
        evidence.insert("rounds".into(), json!(self.values));
        let without = self.rounds - self.values;
        for (name, count) in [("rounds_without_value", without), ("ratios_to_zero", self.infinite)]
        {
            if count > 0 {
                evidence.insert(name.into(), json!(count));
            }
        }
        if self.values < ROUNDS {
            let rounds = if self.rounds == 1 { "round" } else { "rounds" };
            let what = match without {
                0 => format!("{} {rounds}", self.rounds),
                _ => format!("no value in {without} of {} {rounds}", self.rounds),
            };
            evidence.insert(
                "undecided_because".into(),
                json!(format!("{what}; a verdict takes {ROUNDS}")),
            );
        }
        evidence
    }

    fn row(&self) -> Value {
        let mut row = json!({ "levels": self.levels, "verdict": self.verdict });
        for (name, value) in self.evidence() {
            row[name] = value;
        }
        row
    }

    /// `load 4, processors 1`.
    fn words(&self) -> String {
        let levels = self.levels.iter().map(|(factor, level)| format!("{factor} {level}"));
        levels.collect::<Vec<_>>().join(", ")
    }
}

/// The interval of values of which some are infinite, so that it has no upper end. Its lower end
/// counts these as the largest of the others: alone they decide nothing. `None` of one value.
fn unbounded(values: &[f64]) -> Option<Interval> {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    let low = match finite.reduce(f64::max) {
        Some(largest) => {
            let bounded: Vec<f64> = values.iter().map(|value| value.min(largest)).collect();
            Interval::of_mean(&bounded)?.low
        }
        None if values.len() > 1 => f64::INFINITY,
        None => return None,
    };
    Some(Interval { value: f64::INFINITY, low, high: f64::INFINITY })
}

/// The condition that decides a claim: the worst verdict, and of these the one that is the
/// furthest beyond the limit, or the nearest to it.
fn deciding<'c>(rule: &ClaimRule, conditions: &'c [Condition]) -> Option<&'c Condition> {
    let worst = Verdict::of_all(conditions.iter().map(|it| it.verdict));
    let of_worst = conditions.iter().filter(|it| it.verdict == worst);
    of_worst.min_by(|a, b| a.margin(rule).total_cmp(&b.margin(rule)))
}

/// Lower-case letters and digits of a level, with hyphens for others.
fn slug(level: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = level.chars().map(letter).collect();
    slug.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// What runs are matched by: the levels that no selection fixes, and the round.
type Match = (Levels, u32);

/// What is taken of the runs of a match, with the levels of the fixed factors that a single run
/// has. `None` where one of them has no value.
type Taken = BTreeMap<Match, Vec<(Levels, Option<f64>)>>;

/// The figures of a claim by condition, one of each round: those of the left side, divided by
/// those of the right. `None` in a round without a value. Levels of which a side has no run in any
/// round are none of a comparison.
fn values(
    rule: &ClaimRule,
    left: &(Selection, Take),
    right: Option<&(Selection, Take)>,
    runs: &[Run],
    load: Option<&str>,
) -> BTreeMap<Levels, Vec<Option<f64>>> {
    // A peak is one over all loads, so the load matches nothing there.
    let peak = left.1 == Take::Peak || right.is_some_and(|(_, take)| *take == Take::Peak);
    let relative: Vec<_> = rule.relative_to.iter().flat_map(|(a, b)| [a, b]).collect();
    let others = right.into_iter().map(|(selection, _)| selection).chain(relative.iter().copied());
    let mut fixed = fixed(&left.0, &others.collect::<Vec<_>>());
    fixed.extend(load.filter(|_| peak));
    let side =
        |metric: &str, side: &(Selection, Take)| taken((rule, metric), side, runs, &fixed, load);
    let compared_metric = rule.compared_metric.as_ref().unwrap_or(&rule.metric);
    let right = right.map(|right| side(compared_metric, right));
    let relative: Vec<_> =
        relative.into_iter().map(|it| side(&rule.metric, &(it.clone(), Take::Mean))).collect();
    let compared: Vec<BTreeSet<&Levels>> = right
        .iter()
        .chain(&relative)
        .map(|side| side.keys().map(|(levels, _)| levels).collect())
        .collect();
    let mut by_levels: BTreeMap<Levels, Vec<Option<f64>>> = BTreeMap::new();
    for (key, values) in side(&rule.metric, left) {
        if !compared.iter().all(|levels| levels.contains(&key.0)) {
            continue;
        }
        let there = |side: &Taken| mean_of_all(side.get(&key)?.iter().map(|it| it.1));
        let reference = match (&right, &relative[..]) {
            (None, _) => Some(1.0),
            (Some(right), [of, to]) => {
                there(right).zip(there(of)).zip(there(to)).map(|((it, of), to)| it * of / to)
            }
            (Some(right), _) => there(right),
        };
        for (of_fixed, value) in values {
            let levels = key.0.iter().chain(&of_fixed).map(|(a, b)| (a.clone(), b.clone()));
            let ratio = value.zip(reference).map(|(value, reference)| value / reference);
            // Of 0 and 0.
            let ratio = ratio.filter(|it| !it.is_nan());
            by_levels.entry(levels.collect()).or_default().push(ratio);
        }
    }
    varying(by_levels)
}

/// The mean of values that are all known: without one of two loads it would be that of the other.
fn mean_of_all(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    mean(values.collect::<Option<Vec<f64>>>()?)
}

/// The factors that match nothing: those that a selection names, unless all of them ask the same of
/// it. Such a factor has the same levels on both sides, which are compared one by one.
fn fixed<'s>(left: &'s Selection, others: &[&'s Selection]) -> BTreeSet<&'s str> {
    let all = || [left].into_iter().chain(others.iter().copied());
    let is_matched =
        |factor: &&str| !others.is_empty() && all().all(|it| it.asks_same(left, factor));
    all().flat_map(Selection::factors).filter(|factor| !is_matched(factor)).collect()
}

/// Without the factors of which there is one level.
fn varying(by_levels: BTreeMap<Levels, Vec<Option<f64>>>) -> BTreeMap<Levels, Vec<Option<f64>>> {
    let mut seen: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    for (factor, level) in by_levels.keys().flatten() {
        seen.entry(factor).or_default().insert(level);
    }
    let several = |factor: &String| seen[factor].len() > 1;
    let mut named: BTreeMap<Levels, Vec<Option<f64>>> = BTreeMap::new();
    for (levels, values) in &by_levels {
        let levels = levels.iter().filter(|(factor, _)| several(factor));
        let levels = levels.map(|(a, b)| (a.clone(), b.clone())).collect();
        named.entry(levels).or_default().extend(values);
    }
    named
}

/// What is taken of the selected runs of each match.
fn taken(
    (rule, metric): (&ClaimRule, &str),
    (selection, take): &(Selection, Take),
    runs: &[Run],
    fixed: &BTreeSet<&str>,
    load: Option<&str>,
) -> Taken {
    let mut matches: BTreeMap<Match, Vec<&Run>> = BTreeMap::new();
    for run in runs.iter().filter(|run| selection.contains(&run.levels)) {
        let mut levels = run.levels.clone();
        levels.retain(|factor, _| !fixed.contains(factor.as_str()));
        matches.entry((levels, run.round)).or_default().push(run);
    }
    let peak_of = rule.peak_of.as_deref().unwrap_or(metric);
    let value = |run: &&Run| run.value(metric);
    let of = |(key, runs): (&Match, &Vec<&Run>)| {
        let values = match take {
            Take::Each => {
                let of_fixed = |run: &Run| {
                    let mut levels = run.levels.clone();
                    levels.retain(|factor, _| fixed.contains(factor.as_str()));
                    levels
                };
                runs.iter().map(|run| (of_fixed(run), value(run))).collect()
            }
            Take::Mean => vec![(Levels::new(), mean_of_all(runs.iter().map(value)))],
            Take::Peak => {
                let at = peak(&matches, key, peak_of, load);
                let there = runs.iter().filter(|run| Some(load_of(run, load)) == at);
                vec![(Levels::new(), mean_of_all(there.map(value)))]
            }
        };
        (key.clone(), values)
    };
    matches.iter().map(of).collect()
}

/// The load with the highest mean of a metric over the other rounds; of a single round, over that
/// one. A round's own values do not choose it: its highest value would be raised by noise.
fn peak<'a>(
    matches: &BTreeMap<Match, Vec<&'a Run>>,
    (levels, round): &Match,
    metric: &str,
    load: Option<&str>,
) -> Option<&'a str> {
    let of_levels = || matches.iter().filter(|((other, _), _)| other == levels);
    let alone = of_levels().count() == 1;
    let mut by_load: BTreeMap<&'a str, Vec<f64>> = BTreeMap::new();
    for (_, runs) in of_levels().filter(|((_, other), _)| alone || other != round) {
        for run in runs {
            let Some(value) = run.value(metric) else { continue };
            by_load.entry(load_of(run, load)).or_default().push(value);
        }
    }
    let means = by_load.into_iter().filter_map(|(load, values)| Some((load, mean(values)?)));
    means.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(load, _)| load)
}

fn load_of<'a>(run: &'a Run, load: Option<&str>) -> &'a str {
    load.and_then(|load| run.levels.get(load)).map_or("", String::as_str)
}

#[cfg(test)]
mod tests;
