//! The catalogue of scenarios, each against what it expects, on the production
//! arithmetic in virtual time. `tidegate sim` prints the figures.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tidegate_sim::{CATALOGUE, Scenario, evaluate};

/// The number of runs whose mean is compared with the range.
const SEEDS: u64 = 2;

#[test]
fn every_scenario_comes_out_as_it_expects() {
    let tasks: Vec<(Scenario, String)> = CATALOGUE
        .iter()
        .flat_map(|name| {
            let scenario = Scenario::named(name).expect("it is in the catalogue");
            let mut policies: Vec<_> =
                scenario.expectations.iter().map(|e| e.policy.clone()).collect();
            policies.sort();
            policies.dedup();
            policies.into_iter().map(move |policy| (scenario.clone(), policy))
        })
        .collect();
    let (next, missed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((scenario, policy)) = tasks.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    missed.lock().unwrap().extend(misses(scenario, policy));
                }
            });
        }
    });
    let mut missed = missed.into_inner().unwrap();
    missed.sort();
    assert!(missed.is_empty(), "\n{}", missed.join("\n"));
}

fn misses(scenario: &Scenario, policy: &str) -> Vec<String> {
    let runs = evaluate(scenario, policy, 1..=SEEDS).expect("scenarios name policies that exist");
    let mut misses = Vec::new();
    for run in &runs {
        for (expectation, _) in run.verdicts(scenario).filter(|(_, met)| !met) {
            let (name, value) = (expectation.measure.name(), run.value(expectation.measure));
            misses.push(format!(
                "{}, {policy} at {}x: {name} is {value:.4?}, expected {:?}",
                scenario.name, run.load, expectation.range
            ));
        }
    }
    misses
}
