//! What deploy/ has for service managers and packages.

use crate::common::upstream::Upstream;
use crate::common::{Running, Text, curl, gate};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").canonicalize().unwrap()
}

/// Runs a program to its end; none, loudly, if it is not installed.
fn unless_missing(command: &mut Command) -> Option<Output> {
    match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("SKIPPED: {:?} is not installed", command.get_program());
            None
        }
        output => Some(output.unwrap()),
    }
}

/// The units in a folder, for the binary of this build: a unit whose program is missing is
/// wrong.
fn units(folder: &Path) -> [PathBuf; 2] {
    let unit = |name: &str| {
        let text = std::fs::read_to_string(deploy().join(name)).unwrap();
        let text = text.replace("/usr/bin/tidegate", env!("CARGO_BIN_EXE_tidegate"));
        std::fs::write(folder.join(name), text).unwrap();
        folder.join(name)
    };
    [unit("tidegate.service"), unit("tidegate.socket")]
}

#[test]
fn systemd_accepts_the_units_and_rates_the_service_as_hardened() {
    let folder = tempfile::tempdir().unwrap();
    let units = units(folder.path());
    let mut verify = Command::new("systemd-analyze");
    let Some(output) = unless_missing(verify.arg("verify").args(&units)) else { return };
    assert!(output.status.success(), "{}", output.stderr_text());
    assert_eq!(output.stderr_text().trim(), "", "nothing to complain about");
    let rate = ["security", "--offline=yes", "--threshold=20", "--no-pager"];
    let output = Command::new("systemd-analyze").args(rate).arg(&units[0]).output().unwrap();
    // Releases before 250 rate running services only.
    if !output.stderr_text().contains("offline") {
        assert!(output.status.success(), "{}", output.stdout_text());
    }
}

#[test]
fn a_service_by_the_packaged_configuration_starts_and_stops() {
    let file = deploy().join("debian/gate.toml").display().to_string();
    let text = std::fs::read_to_string(&file).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("gate.toml");
    let text = text.replace("/run/tidegate", &folder.path().display().to_string());
    let text = text.replace("/var/lib/tidegate", &folder.path().display().to_string());
    std::fs::write(&own, text).unwrap();
    let own = own.display().to_string();
    let addresses = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let gate = Running::tidegate(&[&["gate", "--config", &own][..], &addresses].concat());
    assert!(folder.path().join("handover").exists() && folder.path().join("ticket-keys").exists());
    assert_eq!(gate.end(), Some(0));
}

/// The package of the binary of this build; none, loudly, without the tools.
fn package(folder: &Path) -> Option<PathBuf> {
    for tool in ["cargo-deb", "dpkg-deb"] {
        unless_missing(Command::new(tool).arg("--version"))?;
    }
    let built = folder.join("tidegate.deb");
    let output = Command::new("cargo-deb")
        .args([
            "deb",
            "--no-build",
            "--no-strip",
            "--fast",
            "--profile",
            "dev",
            "--offline",
            "--output",
        ])
        .arg(&built)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", output.stderr_text());
    Some(built)
}

#[test]
fn the_package_has_the_service_and_its_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    let Some(package) = package(folder.path()) else { return };
    let root = folder.path().join("root");
    let output = Command::new("dpkg-deb").arg("-R").args([&package, &root]).output().unwrap();
    assert!(output.status.success(), "{}", output.stderr_text());
    for file in ["etc/tidegate/gate.toml", "DEBIAN/postinst", "DEBIAN/postrm", "DEBIAN/prerm"] {
        assert!(root.join(file).is_file(), "the package has no {file}");
    }
    let units = ["lib/systemd/system", "usr/lib/systemd/system"].map(|path| root.join(path));
    for unit in ["tidegate.service", "tidegate.socket", "tidegate-agent.service"] {
        let there = units.iter().any(|folder| folder.join(unit).is_file());
        assert!(there, "the package has no {unit}");
    }
    let conffiles = std::fs::read_to_string(root.join("DEBIAN/conffiles")).unwrap();
    assert_eq!(conffiles.trim(), "/etc/tidegate/gate.toml");
    let program = root.join("usr/bin/tidegate");
    let output = Command::new(&program).arg("--version").output().unwrap();
    assert!(output.status.success(), "{}", output.stderr_text());
    // Both scripts are shell, and the parts for systemd are in their place.
    for script in ["postinst", "postrm"] {
        let path = root.join("DEBIAN").join(script);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("#DEBHELPER#"), "{script} has what cargo-deb should replace");
        let output = Command::new("sh").arg("-n").arg(&path).output().unwrap();
        assert!(output.status.success(), "{}", output.stderr_text());
    }
}

/// The texts of these keys, anywhere in a value.
fn texts<'a>(value: &'a Value, keys: &[&str], found: &mut Vec<&'a str>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| texts(value, keys, found)),
        Value::Object(members) => {
            for (key, value) in members {
                match value.as_str() {
                    Some(text) if keys.contains(&key.as_str()) => found.push(text),
                    _ => texts(value, keys, found),
                }
            }
        }
        _ => {}
    }
}

/// The metrics that an expression names, each with the labels that it chooses by.
fn metrics(expression: &str) -> Vec<(&str, Vec<&str>)> {
    let of = |(at, _)| {
        let text: &str = &expression[at..];
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, rest) = text.split_at(end.unwrap_or(text.len()));
        let chosen = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let chosen = chosen.map_or("", |(chosen, _)| chosen).split(", ");
        let labels = chosen.filter_map(|it| it.split(['=', '!']).next());
        (name, labels.filter(|label| !label.is_empty()).collect())
    };
    expression.match_indices("tidegate_").map(of).collect()
}

#[test]
fn every_metric_of_the_dashboard_is_one_of_a_gate_and_has_its_labels() {
    let text = std::fs::read_to_string(deploy().join("grafana/tidegate.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).expect("it is JSON");
    let mut expressions = Vec::new();
    texts(&dashboard, &["expr", "query"], &mut expressions);
    let gate = gate(&Upstream::start().url, &[]);
    assert_eq!(curl(&[gate.address("gate")]).stdout_text(), "hello\n");
    let exposition = curl(&["--fail", &format!("{}/metrics", gate.address("admin"))]).stdout_text();
    let types = exposition.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let families: BTreeSet<&str> = types.filter_map(|line| line.split(' ').next()).collect();
    let mut seen = BTreeSet::new();
    for (metric, labels) in expressions.iter().flat_map(|expression| metrics(expression)) {
        let family = metric.strip_suffix("_bucket").unwrap_or(metric);
        assert!(families.contains(family), "no gate has {metric}");
        let mut samples =
            exposition.lines().filter(|line| line.starts_with(&format!("{metric}{{")));
        let sample = samples.next();
        for label in labels.into_iter().filter(|label| !["job", "instance"].contains(label)) {
            // Some have no sample before there is something to tell.
            let has = sample.is_none_or(|sample| sample.contains(&format!("{label}=\"")));
            assert!(has, "{metric} has no label {label}: {sample:?}");
        }
        seen.insert(family);
    }
    assert!(seen.len() >= 15, "it shows what matters: {seen:?}");
    let room = families.iter().filter(|family| family.starts_with("tidegate_waiting_room_"));
    let missing: Vec<_> = room.filter(|family| !seen.contains(*family)).collect();
    assert!(missing.is_empty(), "who waits in the room is no refusal to forget: {missing:?}");
    let mut panels: Vec<_> = dashboard["panels"].as_array().unwrap().iter().collect();
    let all = panels.len();
    panels.dedup_by_key(|panel| panel["id"].as_u64());
    assert_eq!(panels.len(), all, "each has an id of its own");
}
