//! The exact figures of some runs under the default policy.
//!
//! The ranges of the scenario files hold what a policy must do, and are wide enough for
//! any seed. This test holds what it does today: any change of the controller or the
//! simulator that changes a result shows here. Where the change is meant, renew the table
//! and commit it with the reason:
//!
//! ```text
//! TIDEGATE_RENEW=1 cargo test -p tidegate-sim --test sim regression
//! ```

use std::fmt::Write;
use std::path::Path;

use tidegate_sim::{Scenario, policies, run};

/// Scenarios and loads: on the demo's core, a crowd, many cores, hosts of their own, in
/// sight and out of it, bursts, a closed loop, an attack, round trips, pauses, people.
const RUNS: [(&str, f64); 14] = [
    ("demo", 0.9),
    ("demo", 4.0),
    ("ramp", 6.0),
    ("four-cores", 2.0),
    ("own-hosts", 4.0),
    ("unseen-crowd", 2.0),
    ("database-bound", 2.0),
    ("bursts", 0.8),
    ("closed-loop", 1.0),
    ("forged-tickets", 2.0),
    ("rtt-20", 2.0),
    ("rtt-100", 2.0),
    ("pauses", 2.0),
    ("ten-minutes", 2.0),
];

#[test]
fn the_figures_are_those_of_the_table() {
    let mut table =
        "# scenario load: offered admitted refused completed abandoned p95_ms\n".to_owned();
    for (name, load) in RUNS {
        let scenario = Scenario::named(name).expect("it is in the catalogue");
        let mut policy = policies::named("tide", &scenario).expect("it is the default");
        let outcome = run(&scenario, load, 1, policy.as_mut());
        writeln!(
            table,
            "{name} {load}: {} {} {} {} {} {:.3}",
            outcome.offered,
            outcome.admitted,
            outcome.refused,
            outcome.completed,
            outcome.abandoned,
            outcome.response_ms(0.95).expect("customers were answered"),
        )
        .expect("a string takes everything");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regression.txt");
    if std::env::var_os("TIDEGATE_RENEW").is_some() {
        std::fs::write(&file, &table).expect("the table can be written");
    }
    let expected = std::fs::read_to_string(&file).expect("the table is there");
    assert_eq!(table, expected, "if this is meant: see the head of this file");
}
