//! Measured beside simulated figures, as text and as JSON.

use serde_json::{Value, json};

use super::observed::Observed;
use super::{Comparison, Pair};

/// One scenario, two lines for each policy.
pub fn text(comparison: &Comparison) -> String {
    let capacity = comparison.capacity_per_s;
    let mut text = format!("{}× a capacity of {capacity:.0} sessions/s\n{HEAD}", comparison.load);
    for pair in &comparison.pairs {
        text += &row(pair.policy, "measured", &pair.measured);
        text += &row("", "simulated", &pair.simulated);
        text += &note(pair).map_or(String::new(), |note| format!("{note}\n"));
    }
    text
}

/// A note if the driver was saturated, so that the measured figures are not the server's.
pub fn note(pair: &Pair) -> Option<String> {
    let because = pair.driver_saturated.join("; ");
    (!because.is_empty()).then(|| format!("{}: the driver was saturated: {because}", pair.policy))
}

const HEAD: &str = "\
                   completed  goodput      p50      p95  refused   lost
                          /s        %       ms       ms        %      %
";

fn row(policy: &str, how: &str, observed: &Observed) -> String {
    format!(
        "{policy:<8} {how:<10} {:>8.0} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>6.1}\n",
        observed.completed_per_s,
        100.0 * observed.goodput,
        observed.p50_ms,
        observed.p95_ms,
        100.0 * observed.refused,
        100.0 * observed.lost,
    )
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
