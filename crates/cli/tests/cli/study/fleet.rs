//! Several gates on hosts of their own while things go wrong: a study of one run by a fault file.
//! Skipped without the right to make network namespaces, and without NATS
//! (`scripts/bootstrap test` installs it).

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tidegate_lab::Network;

use crate::common::{Text, has_two_processors};

/// A killed gate, a gate cut off with a server of NATS, NATS gone, a slow link: each is mended.
const FAULTS: &str = r#"
about = "A gate is killed, a gate is cut off, NATS is gone, messages of a gate are slow."
services = 2

[[faults]]
name = "gate killed"
at = "2s"
until = "5s"
kill = ["gate-2"]

[[faults]]
name = "partition"
at = "8s"
until = "11s"
cut = ["gate-3", "nats-3"]
from = ["gate-1", "nats-1", "nats-2"]

[[faults]]
name = "NATS gone"
at = "13s"
until = "16s"
kill = ["nats"]

[[faults]]
name = "slow link"
at = "18s"
until = "20s"
delay = ["gate-1"]
by = "150ms"
"#;

/// Every request of a customer opens a connection, which comes to the next gate: whoever is not known
/// at all of them is new again. More customers come than any machine serves.
const STUDY: &str = r#"
name = "faults"
about = "one run with several faults"
[system]
faults = "faults.toml"
[workload]
scenario = "auction-browsing-normalised"
rate = 150
keep = "request"
[windows]
warm_up = "6s"
measured = "23s"
repetitions = 1
"#;

/// Runs a study in a folder; its only run, or `None`, said aloud, where it cannot run.
fn run(folder: &Path, faults: &str) -> Option<Value> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !repository.join("target/nats/bin/nats-server").is_file() {
        eprintln!("SKIPPED: there is no nats-server; scripts/bootstrap test installs it");
        return None;
    }
    Network::unless_refused(&["a"])?;
    std::fs::write(folder.join("faults.toml"), faults).unwrap();
    std::fs::write(folder.join("study.toml"), STUDY).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.arg("study").arg(folder.join("study.toml")).arg("--out").arg(folder.join("out"));
    let output = command.current_dir(repository).output().unwrap();
    let said = output.stdout_text() + &output.stderr_text();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let runs = std::fs::read_dir(folder.join("out/runs")).unwrap();
    let run = runs.map(|run| run.unwrap().path().join("run.json")).next().unwrap();
    Some(serde_json::from_slice(&std::fs::read(run).unwrap()).unwrap())
}

#[test]
fn nothing_opens_wide_and_nobody_known_becomes_a_stranger_whatever_goes_wrong() {
    if !has_two_processors() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(run) = run(folder.path(), FAULTS) else { return };
    let figures = &run["figures"];
    let figure = |name: &str| figures[name].as_f64().unwrap_or_else(|| panic!("{name}: {run}"));
    if run["driver_saturated"].as_array().is_some_and(|causes| !causes.is_empty()) {
        eprintln!(
            "SKIPPED: the machine is too busy for the load generator: {}",
            run["driver_saturated"]
        );
        return;
    }
    // More come than any gate of a debug build serves: most of them are refused or lose patience,
    // unless all are served.
    let (offered, admitted) = (figure("offered_per_s"), figure("admitted_per_s"));
    let most_stay_out = admitted < 0.5 * offered;
    assert!(most_stay_out || figure("completed_ratio") > 0.9, "it opened wide: {figures}");
    for phase in ["before", "during", "after"] {
        assert!(figures[format!("completed_{phase}_per_s")].is_f64(), "{phase}: {figures}");
    }
    // Each session has one full handshake. Two of three connections of whoever is not known at the
    // other gates would be full ones too; the gate that was killed has keys of its own until it joins.
    let full = figure("full_handshakes_per_s");
    assert!(full <= 1.5 * admitted + 1.0, "strangers: {figures}");
    assert!(figure("resumed_handshakes_per_s") > 0.0, "{figures}");
}
