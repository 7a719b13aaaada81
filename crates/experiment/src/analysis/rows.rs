//! Rows of tables.

use serde_json::{Value, json};
use tidegate_stats::{Interval, mean};

use super::of_rounds;
use crate::experiment::{Experiment, Levels};
use crate::summary::Row;

/// The levels as columns, in the order of the factors.
pub(super) fn columns(experiment: &Experiment, levels: &Levels) -> Row {
    let mut row = Row::new();
    for factor in &experiment.factors {
        if let Some(level) = levels.get(&factor.name) {
            row.insert(factor.name.clone(), json!(level));
        }
    }
    row
}

pub(super) fn put(row: &mut Row, name: &str, value: Option<f64>) {
    row.insert(name.to_owned(), value.map_or(Value::Null, |value| json!(value)));
}

/// The mean over the rounds, and its interval where there are several, of values with their round.
pub(super) fn put_rounds(row: &mut Row, name: &str, values: impl IntoIterator<Item = (u32, f64)>) {
    let rounds = of_rounds(values);
    // No metric is below 0.
    put_mean(row, name, &rounds, Interval::not_negative);
}

/// The same of differences, one of each round, which can be below 0.
pub(super) fn put_differences(row: &mut Row, name: &str, rounds: &[f64]) {
    put_mean(row, name, rounds, |interval| interval);
}

fn put_mean(row: &mut Row, name: &str, rounds: &[f64], ends: impl Fn(Interval) -> Interval) {
    put(row, name, mean(rounds.iter().copied()));
    if let Some(interval) = Interval::of_mean(rounds) {
        let (low, high) = ends(interval).ends();
        put(row, &format!("{name}_low_95"), Some(low));
        put(row, &format!("{name}_high_95"), Some(high));
    }
}
