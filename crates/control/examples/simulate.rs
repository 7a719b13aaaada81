//! Simulates policies under the catalogue's workloads and prints a table:
//! `cargo run -p tidegate-control --example simulate [WORKLOAD|all] [SEEDS]`.
//!
//! Goodput and requests are shares of the capacity; the ratio is that of the
//! 95th percentile of response time to the same at half the capacity.

use std::time::Duration;

use tidegate_control::PolicyKind;
use tidegate_control::sim::{Scenario, run};

const MULTIPLES: [f64; 6] = [0.5, 0.9, 1.0, 2.0, 4.0, 10.0];

fn main() {
    let only = std::env::args().nth(1).unwrap_or_else(|| "demo".to_owned());
    let seeds = std::env::args().nth(2).and_then(|seeds| seeds.parse().ok()).unwrap_or(3);
    let policies = [
        ("off", PolicyKind::Off),
        ("eac 2s", PolicyKind::Eac { interval: PolicyKind::EAC_INTERVAL }),
        ("eac 50ms", PolicyKind::Eac { interval: Duration::from_millis(50) }),
        ("tide", PolicyKind::Tide),
    ];
    println!(
        "{:19}{:10}{:>5} {:>8} {:>8} {:>8} {:>8} {:>6} {:>9} {:>8}",
        "workload",
        "policy",
        "load",
        "goodput",
        "requests",
        "p50 ms",
        "p95 ms",
        "ratio",
        "completed",
        "refused"
    );
    for name in Scenario::NAMES.into_iter().filter(|name| only == "all" || only == *name) {
        for (label, policy) in policies {
            let scenario = Scenario::named(name, policy).expect("it is in the list");
            let mut base_ms = None;
            for multiple in MULTIPLES {
                let row = average(&scenario, multiple, seeds);
                let ratio = row.p95_ms / *base_ms.get_or_insert(row.p95_ms);
                println!(
                    "{name:19}{label:10}{multiple:4}x {:8.3} {:8.3} {:8.1} {:8.1} {ratio:6.1} {:9.4} {:8.4}",
                    row.goodput, row.requests, row.p50_ms, row.p95_ms, row.completed, row.refused
                );
            }
        }
    }
}

#[derive(Default)]
struct Row {
    goodput: f64,
    requests: f64,
    p50_ms: f64,
    p95_ms: f64,
    completed: f64,
    refused: f64,
}

/// Mean over the seeds, watched from when the longest sessions have had time.
fn average(scenario: &Scenario, multiple: f64, seeds: u64) -> Row {
    let mut row = Row::default();
    let customers = &scenario.customers;
    let settled_s = (customers.requests_max * customers.think_s * 0.8).max(8.0);
    for seed in 1..=seeds {
        let mut scenario = scenario.clone().at(multiple);
        (scenario.seed, scenario.duration_s) = (seed, 3.0 * settled_s);
        let outcome = run(&scenario, settled_s);
        let (share, capacity) = (1.0 / seeds as f64, scenario.capacity_per_s());
        let answered = outcome.responses_s.len() as f64 / outcome.seconds;
        row.goodput += share * outcome.goodput() / capacity;
        row.requests += share * answered / customers.requests / capacity;
        row.p50_ms += share * outcome.response_ms(0.5);
        row.p95_ms += share * outcome.response_ms(0.95);
        row.completed += share * outcome.completed_ratio();
        row.refused += share * outcome.refused_ratio();
    }
    row
}
