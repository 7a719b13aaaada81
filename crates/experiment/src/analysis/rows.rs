//! Rows of tables.

use serde_json::{Value, json};

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
