//! Whether claims hold, by the intervals of their figures.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use tidegate_stats::Estimate;

use super::{Run, load_factor};
use crate::claim::{Claim, Verdict};
use crate::experiment::{ClaimRule, Experiment, Levels, Selection, Take};

/// Coverage of the intervals.
const CONFIDENCE: f64 = 0.95;

/// Checks every claim of an experiment.
pub fn check(experiment: &Experiment, runs: &[Run], quick: bool) -> Vec<Claim> {
    let load = load_factor(experiment);
    let mut claims = Vec::new();
    for rule in &experiment.claims {
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
    // Runs that the claim fixes, such as those of one processor, are the same for each level.
    let right = rule.compared_with.as_ref().map(|(selection, take)| match of {
        Some((factor, level)) if !selection.names(factor) => (selection.and(factor, level), *take),
        _ => (selection.clone(), *take),
    });
    let values = values(rule, &left, right.as_ref(), runs, load);
    let estimate = Estimate::of_mean(&values);
    let mut evidence = BTreeMap::from([
        ("metric".to_owned(), json!(rule.metric)),
        ("values".into(), json!(values.len())),
        ("is_ratio".into(), json!(rule.compared_with.is_some())),
    ]);
    for (name, limit) in [("at_least", rule.at_least), ("at_most", rule.at_most)] {
        if let Some(limit) = limit {
            evidence.insert(name.into(), json!(limit));
        }
    }
    if let Some((factor, level)) = of {
        evidence.insert(factor.to_owned(), json!(level));
    }
    let verdict = match estimate {
        Some(estimate) => {
            // No metric is below 0, and neither is a ratio.
            let (low, high) = estimate.interval(CONFIDENCE);
            let low = low.max(0.0);
            for (name, value) in [("mean", estimate.value), ("low_95", low), ("high_95", high)] {
                evidence.insert(name.into(), json!(value));
            }
            Verdict::within(rule.at_least, rule.at_most, (low, high))
        }
        None => {
            if let [only] = values[..] {
                evidence.insert("mean".into(), json!(only));
            }
            let why = if values.is_empty() { "not measured" } else { "one value has no interval" };
            evidence.insert("undecided_because".into(), json!(why));
            Verdict::Undecided
        }
    };
    let id =
        of.map_or_else(|| rule.id.clone(), |(_, level)| format!("{}-{}", rule.id, slug(level)));
    let (source, text) = (rule.source.clone(), rule.text.clone());
    Claim { id, source, text, verdict, evidence }
}

/// Lower-case letters and digits of a level, with hyphens for others.
fn slug(level: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = level.chars().map(letter).collect();
    slug.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// What runs are matched by: the levels that no selection fixes, and the round.
type Match = (Levels, u32);

/// The figures of a claim: of each match those of the left side, divided by that of the right.
fn values(
    rule: &ClaimRule,
    left: &(Selection, Take),
    right: Option<&(Selection, Take)>,
    runs: &[Run],
    load: Option<&str>,
) -> Vec<f64> {
    // A peak is one over all loads, so the load matches nothing there.
    let peak = left.1 == Take::Peak || right.is_some_and(|(_, take)| *take == Take::Peak);
    let mut fixed: BTreeSet<&str> = left.0.factors().collect();
    fixed.extend(right.into_iter().flat_map(|(selection, _)| selection.factors()));
    fixed.extend(load.filter(|_| peak));
    let side = |side: &(Selection, Take)| taken(rule, side, runs, &fixed, load);
    let left = side(left);
    let Some(right) = right else { return left.into_values().flatten().collect() };
    let right = side(right);
    let mut ratios = Vec::new();
    for (key, values) in left {
        let Some(others) = right.get(&key) else { continue };
        let reference = others.iter().sum::<f64>() / others.len() as f64;
        let of = values.into_iter().map(|value| value / reference);
        ratios.extend(of.filter(|ratio| ratio.is_finite()));
    }
    ratios
}

/// What is taken of the selected runs of each match.
fn taken(
    rule: &ClaimRule,
    (selection, take): &(Selection, Take),
    runs: &[Run],
    fixed: &BTreeSet<&str>,
    load: Option<&str>,
) -> BTreeMap<Match, Vec<f64>> {
    let selected = runs.iter().filter(|run| selection.contains(&run.levels));
    let mut matches: BTreeMap<Match, Vec<(&Run, f64)>> = BTreeMap::new();
    for run in selected {
        let Some(value) = run.value(&rule.metric) else { continue };
        let mut levels = run.levels.clone();
        levels.retain(|factor, _| !fixed.contains(factor.as_str()));
        matches.entry((levels, run.round)).or_default().push((run, value));
    }
    let peak_of = rule.peak_of.as_ref().unwrap_or(&rule.metric);
    let peaks = match take {
        Take::Peak => peaks(&matches, peak_of, load),
        Take::Each | Take::Mean => BTreeMap::new(),
    };
    let of = |(key, runs): (Match, Vec<(&Run, f64)>)| {
        let values: Vec<f64> = match take {
            Take::Each => runs.into_iter().map(|(_, value)| value).collect(),
            Take::Mean => vec![average(runs.iter().map(|(_, value)| *value))?],
            Take::Peak => {
                let at = peaks.get(&key.0)?;
                let there = runs.iter().filter(|(run, _)| load_of(run, load) == *at);
                vec![average(there.map(|(_, value)| *value))?]
            }
        };
        Some((key, values))
    };
    matches.into_iter().filter_map(of).collect()
}

/// The load with the highest mean of a metric over all rounds, by match without its round. The
/// load is chosen once: the highest value of each round would be raised by noise.
fn peaks<'a>(
    matches: &BTreeMap<Match, Vec<(&'a Run, f64)>>,
    metric: &str,
    load: Option<&str>,
) -> BTreeMap<Levels, &'a str> {
    let mut by_load: BTreeMap<&Levels, BTreeMap<&'a str, Vec<f64>>> = BTreeMap::new();
    for ((levels, _), runs) in matches {
        for (run, _) in runs {
            let Some(value) = run.value(metric) else { continue };
            by_load.entry(levels).or_default().entry(load_of(run, load)).or_default().push(value);
        }
    }
    let highest = |loads: BTreeMap<&'a str, Vec<f64>>| {
        let means = loads.into_iter().filter_map(|(load, values)| Some((load, average(values)?)));
        means.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(load, _)| load)
    };
    by_load
        .into_iter()
        .filter_map(|(levels, loads)| Some((levels.clone(), highest(loads)?)))
        .collect()
}

fn load_of<'a>(run: &'a Run, load: Option<&str>) -> &'a str {
    load.and_then(|load| run.levels.get(load)).map_or("", String::as_str)
}

fn average(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests;
