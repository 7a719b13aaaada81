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

/// Processors in words, with what they are where they are no whole cores: `2 processors (½ core)`.
fn processors(count: u32, cpus: f64) -> String {
    let words = if count == 1 { "1 processor".to_owned() } else { format!("{count} processors") };
    if (cpus - f64::from(count)).abs() < 1e-6 {
        return words;
    }
    let is = |cores: f64| (cpus - cores).abs() < 1e-6;
    let cores = match cpus {
        _ if is(0.25) => "¼ core".to_owned(),
        _ if is(0.5) => "½ core".to_owned(),
        _ if is(0.75) => "¾ core".to_owned(),
        _ if is(1.0) => "1 core".to_owned(),
        _ => format!("{} cores", (cpus * 100.0).round() / 100.0),
    };
    format!("{words} ({cores})")
}

/// The levels that tell runs from others, the one of `first` first.
fn name(run: &Run, varied: &[&str], first: Option<&str>) -> String {
    let mut factors: Vec<&str> = varied.to_vec();
    factors.sort_by_key(|factor| Some(*factor) != first);
    let word = |factor: &&str| {
        let level = run.levels.get(*factor)?;
        Some(match *factor {
            "processors" => processors(run.settings.processors, run.cpus),
            _ => level.clone(),
        })
    };
    let words: Vec<String> = factors.iter().filter_map(word).collect();
    if words.is_empty() { "measured".into() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_that_are_parts_of_cores_say_of_how_many() {
        for (count, cpus, expected) in [
            (1, 1.0, "1 processor"),
            (4, 4.0, "4 processors"),
            (1, 0.25, "1 processor (¼ core)"),
            (3, 0.75, "3 processors (¾ core)"),
            (4, 1.0, "4 processors (1 core)"),
            (3, 0.9, "3 processors (0.9 cores)"),
        ] {
            assert_eq!(processors(count, cpus), expected);
        }
    }
}
