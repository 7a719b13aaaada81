//! Costs of mixed runs beside LINE's utilisation-based regression, and least squares beside SciPy's.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tidegate_plan::mixed::{MixedRun, costs};
use tidegate_stats::least_squares::{non_negative, normal_equations};

/// A table of runs: true costs with zeros among them, and noise that makes some negative.
fn table(seed: u64) -> Vec<MixedRun> {
    let mut rng = rand::rngs::StdRng::seed_from_u64(seed);
    let operations = 2 + (seed as usize) % 7;
    let truth: Vec<f64> = (0..operations)
        .map(|at| if at % 3 == 2 { 0.0 } else { 0.05 * rng.random::<f64>() })
        .collect();
    (0..operations + 4)
        .map(|_| {
            let per_s: Vec<f64> = (0..operations).map(|_| 20.0 * rng.random::<f64>()).collect();
            let own: f64 = per_s.iter().zip(&truth).map(|(rate, cost)| rate * cost).sum();
            MixedRun { per_s, used: own + 0.2 * rng.random::<f64>(), weight: 1.0 }
        })
        .collect()
}

/// Rows and right sides of a system of this many unknowns.
fn system(seed: u64, n: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut rng = rand::rngs::StdRng::seed_from_u64(seed);
    let mut numbers = |count: usize| (0..count).map(|_| rng.random::<f64>() - 0.3).collect();
    ((0..n + 20).map(|_| numbers(n)).collect(), numbers(n + 20))
}

#[test]
fn costs_and_least_squares_are_those_of_line_and_scipy() {
    // Where `scripts/bootstrap line` puts the packages.
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/line/bin/python3");
    let python = std::env::var_os("TIDEGATE_LINE_PYTHON").map_or(installed, PathBuf::from);
    let check = ["-c", "import line_solver.inference, scipy"];
    let has = Command::new(&python).args(check).stderr(Stdio::null()).status();
    if !has.is_ok_and(|status| status.success()) {
        return eprintln!(
            "SKIPPED: {} has no package `line-solver`; run scripts/bootstrap line, or set \
             TIDEGATE_LINE_PYTHON to a python that has it",
            python.display()
        );
    }
    let tables: Vec<Vec<MixedRun>> = (0..40).map(table).collect();
    let systems: Vec<_> = [1, 2, 5, 20, 64].map(|n| system(n as u64, n)).into();
    let given = json!({
        "tables": tables.iter().map(|runs| json!({
            "per_s": runs.iter().map(|run| &run.per_s).collect::<Vec<_>>(),
            "used": runs.iter().map(|run| run.used).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "systems": systems.iter().map(|(a, b)| json!({"a": a, "b": b})).collect::<Vec<_>>(),
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/demands.py");
    let mut peer = Command::new(&python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    peer.stdin.take().unwrap().write_all(given.to_string().as_bytes()).unwrap();
    let output = peer.wait_with_output().unwrap();
    assert!(output.status.success());
    let theirs: Value = serde_json::from_slice(&output.stdout).unwrap();
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect()
    };
    let mut at_bound = 0;
    for (at, runs) in tables.iter().enumerate() {
        let names: Vec<String> = (0..runs[0].per_s.len()).map(|it| it.to_string()).collect();
        let found = costs(&names, runs).unwrap();
        assert!(found.groups.is_empty(), "table {at}");
        let own =
            found.operations.iter().map(|it| it.cost.unwrap().value).chain([found.idle.value]);
        let own: Vec<f64> = own.collect();
        at_bound += own.iter().filter(|cost| **cost == 0.0).count();
        assert_near(&own, &numbers(&theirs["demands"][at]), &format!("table {at}"));
    }
    assert!(at_bound > 10, "too few costs are at their bound: {at_bound}");
    for (at, (a, b)) in systems.iter().enumerate() {
        let rows = a.iter().zip(b).map(|(row, b)| (row.as_slice(), *b, 1.0));
        let (matrix, right) = normal_equations(a[0].len(), rows);
        let own = non_negative(&matrix, &right).unwrap();
        assert_near(&own, &numbers(&theirs["solutions"][at]), &format!("system {at}"));
    }
}

fn assert_near(ours: &[f64], theirs: &[f64], what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let off = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off < 1e-8, "{what}: {ours:?} {theirs:?}");
}
