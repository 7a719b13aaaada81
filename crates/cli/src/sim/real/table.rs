//! Measured beside simulated figures, as text and as JSON.

use serde_json::{Value, json};
use tidegate_report::{Cell, Table};

use super::{Comparison, Pair};

/// One scenario, two lines for each policy.
pub fn text(comparison: &Comparison) -> String {
    let capacity = comparison.capacity_per_s;
    let title = format!("{}× a capacity of {capacity:.0} sessions/s", comparison.load);
    format!("{title}\n{}", figures(comparison).text())
}

/// The figures of each policy, measured and simulated.
pub fn figures(comparison: &Comparison) -> Table {
    let one = |value: f64| Cell::from(format!("{value:.1}"));
    let heads = ["policy", "", "completed\n/s", "goodput\n%", "p50\nms", "p95\nms", "refused\n%"];
    let mut table = Table::new(heads.into_iter().chain(["lost\n%"])).words(&[1]);
    for pair in &comparison.pairs {
        for (how, it) in [("measured", &pair.measured), ("simulated", &pair.simulated)] {
            table.row([
                Cell::from(pair.policy.clone()).class(&pair.policy),
                how.into(),
                one(it.completed_per_s),
                one(100.0 * it.goodput),
                one(it.p50_ms),
                one(it.p95_ms),
                one(100.0 * it.refused),
                one(100.0 * it.lost),
            ]);
        }
        if let Some(note) = note(pair) {
            table.row([note]);
        }
    }
    table
}

/// A note if the driver was saturated, so that the measured figures are not the server's.
fn note(pair: &Pair) -> Option<String> {
    let because = pair.driver_saturated.join("; ");
    (!because.is_empty()).then(|| format!("{}: the driver was saturated: {because}", pair.policy))
}

/// One JSON object per policy.
pub fn json(comparison: &Comparison) -> Vec<Value> {
    let point = |pair: &Pair| {
        json!({
            "scenario": comparison.scenario.name,
            "policy": pair.policy,
            "load": comparison.load,
            "capacity_per_s": comparison.capacity_per_s,
            "capacity_meanwhile_per_s": pair.capacity_per_s,
            "measured": pair.measured,
            "simulated": pair.simulated,
            "driver_saturated": pair.driver_saturated,
        })
    };
    comparison.pairs.iter().map(point).collect()
}
