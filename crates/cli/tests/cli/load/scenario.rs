//! What a scenario says about its run, and what the report says about it.

use std::process::Output;

use serde_json::Value;

use crate::common::upstream::Upstream;
use crate::common::{Text, tidegate};

/// Runs a scenario and returns its output and its summary.
fn load(scenario: &str, target: &str, flags: &[&str]) -> (Output, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name).display().to_string();
    let (file, json) = (path("shop.toml"), path("summary.json"));
    std::fs::write(&file, scenario).unwrap();
    let args = ["load", &file, "--target", target, "--json", &json, "--plain"];
    let output = tidegate(&[&args[..], flags].concat());
    let summary = std::fs::read_to_string(&json).unwrap_or_else(|_| "null".to_owned());
    (output, serde_json::from_str(&summary).unwrap())
}

const PAGE: &str = r#"
[pages]
Home = { path = "/" }
[arrivals]
rate = 20
process = "even"
"#;

#[test]
fn a_scenario_states_its_run_and_flags_override_it() {
    let upstream = Upstream::start();
    let run = "[session]\nsteps = [\"Home\"]\n[run]\nwarm_up = \"250ms\"\nduration = \"500ms\"\n";
    let scenario = format!("{run}{PAGE}");
    let (output, summary) = load(&scenario, &upstream.url, &[]);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    assert!(text.starts_with("run: 250ms of warm-up, then 500ms measured\n"), "{text}");
    assert_eq!(summary["warm_up_s"], 0.25);
    assert_eq!(summary["totals"]["offered"], 10);

    let (output, summary) = load(&scenario, &upstream.url, &["--duration", "0.75"]);
    let text = output.stdout_text();
    assert!(text.starts_with("run: 250ms of warm-up, then 750ms measured\n"), "{text}");
    assert_eq!(summary["totals"]["offered"], 15);
}

#[test]
fn without_a_statement_a_run_lasts_until_its_schedule_ends() {
    let upstream = Upstream::start();
    let arrivals = "segments = [{ for = \"400ms\", rate = 20 }, { for = \"400ms\", rate = 40 }]";
    let scenario =
        format!("[session]\nsteps = [\"Home\"]\n{}", PAGE.replace("rate = 20", arrivals));
    let (output, summary) = load(&scenario, &upstream.url, &[]);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    let chosen = "run: 800ms, measured from the start (until the end of the schedule; --duration \
                  changes it)\n";
    assert!(text.starts_with(chosen), "{text}");
    // 0.4 s at 20/s, and 0.4 s at 40/s.
    assert_eq!(summary["totals"]["offered"], 24);
}

#[test]
fn sessions_longer_than_the_run_are_warned_about_before_it_and_in_the_report() {
    let upstream = Upstream::start();
    let scenario = format!("[session]\nsteps = [\"Home\", \"Home\"]\nthink = \"1min\"\n{PAGE}");
    let (output, summary) =
        load(&scenario, &upstream.url, &["--warm-up", "0", "--duration", "0.5"]);
    let text = output.stdout_text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[1..5],
        [
            "WARNING: sessions are longer than the run: a session thinks for 60 s on average",
            "         (2 requests), and the run lasts 500 ms. Most sessions cannot end in it,",
            "         so completed sessions per second say little. Use a longer window",
            "         (--duration 120) or shorter think times (--time-scale 0.004, which",
        ],
        "{text}"
    );
    assert_eq!(text.matches("WARNING: sessions are longer than the run").count(), 2, "{text}");
    assert_eq!(summary["warnings"].as_array().unwrap().len(), 1);
}

/// A run of ten minutes that a threshold ends: no answer takes as long as an hour.
const HOPELESS: &str = r#"
[session]
steps = ["Home"]
patience = "60s"
[run]
warm_up = "0s"
duration = "10min"
[thresholds]
page.Home.response_max_ms = { min = 3600000, abort_on_fail = true, abort_after = "500ms" }
"#;

#[test]
fn a_threshold_that_ends_the_run_is_named_and_the_exit_code_is_1() {
    let upstream = Upstream::start();
    let scenario = PAGE.to_owned() + HOPELESS;
    for flags in [&[][..], &["--drivers", "2"]] {
        let (output, summary) = load(&scenario, &upstream.url, flags);
        let text = output.stdout_text();
        assert_eq!(output.status.code(), Some(1), "{text}{}", output.stderr_text());
        let aborted = text.lines().find(|line| line.starts_with("ABORTED: "));
        let aborted = aborted.unwrap_or_else(|| panic!("nothing aborted:\n{text}"));
        assert!(aborted.starts_with("ABORTED: page.Home.response_max_ms = "), "{aborted}");
        assert!(text.contains("\nMISSED page.Home.response_max_ms = "), "{text}");
        assert_eq!(summary["aborted"]["metric"], "page.Home.response_max_ms");
        assert!(summary["aborted"]["at_s"].as_f64().unwrap() >= 0.5, "{}", summary["aborted"]);
        assert_eq!((&summary["interrupted"], &summary["incomplete"]), (&true.into(), &Value::Null));
    }
}
