//! The runs of a figure, by what tells them apart.

use std::collections::BTreeMap;

use crate::analysis::{Run, load_factor};
use crate::experiment::{Experiment, FigureRule, XAxis};

/// Runs with what tells them from others, in words; in the order of the factors' levels.
pub(super) type Groups<'r> = Vec<(String, Vec<&'r Run>)>;

/// The runs by the levels that are not on the x axis. Factors of which the runs have one level
/// say nothing in a name.
pub(super) fn groups<'r>(
    experiment: &Experiment,
    rule: &FigureRule,
    selected: Vec<&'r Run>,
) -> Groups<'r> {
    let load = load_factor(experiment).unwrap_or_default();
    let varied: Vec<&str> = experiment
        .factors
        .iter()
        .map(|factor| factor.name.as_str())
        .filter(|name| *name != load)
        .filter(|name| !(*name == "processors" && rule.x == XAxis::Processors))
        .filter(|name| {
            let mut levels: Vec<_> =
                selected.iter().filter_map(|run| run.levels.get(*name)).collect();
            levels.sort();
            levels.dedup();
            levels.len() > 1
        })
        .collect();
    let mut groups: BTreeMap<Vec<usize>, (String, Vec<&Run>)> = BTreeMap::new();
    for run in selected {
        let place = experiment
            .factors
            .iter()
            .filter(|factor| varied.contains(&factor.name.as_str()))
            .map(|factor| factor.place(&run.levels, ""));
        let group = groups
            .entry(place.collect())
            .or_insert_with(|| (name(run, &varied, rule.lines.as_deref()), Vec::new()));
        group.1.push(run);
    }
    groups.into_values().collect()
}

/// The offered load of a run: a multiple of the capacity, a rate, or a number of customers.
pub(super) fn load_of(run: &Run) -> f64 {
    let customers = run.settings.customers.map(f64::from);
    run.settings.load.or(run.settings.rate).or(customers).unwrap_or_default()
}

/// The levels that tell runs from others, the one of `first` first.
fn name(run: &Run, varied: &[&str], first: Option<&str>) -> String {
    let mut factors: Vec<&str> = varied.to_vec();
    factors.sort_by_key(|factor| Some(*factor) != first);
    let word = |factor: &&str| {
        let level = run.levels.get(*factor)?;
        Some(match *factor {
            "processors" if level == "1" => "1 processor".to_owned(),
            "processors" => format!("{level} processors"),
            _ => level.clone(),
        })
    };
    let words: Vec<String> = factors.iter().filter_map(word).collect();
    if words.is_empty() { "measured".into() } else { words.join(", ") }
}
