//! `tidegate sim` as a user meets it.

mod common;

use common::{Text, tidegate};

const SCENARIO: &str = r#"
about = "A small crowd."
loads = [0.5, 3]
duration = "6s"
watch_from = "2s"
[[expect]]
loads = [3]
goodput = { min = 0.7, max = 1.3 }
lost = { max = 0.01 }
[[expect]]
policy = "off"
loads = [3]
lost = { min = 0.1 }
"#;

fn file(folder: &tempfile::TempDir, text: &str) -> String {
    let path = folder.path().join("crowd.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_scenario_of_ones_own_is_judged_by_its_expectations() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let scenario = file(&folder, SCENARIO);
    let both = ["sim", &scenario, "--policy", "off,tide", "--seeds", "1", "--out", &out];
    let output = tidegate(&both);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    assert!(
        text.contains("crowd: A small crowd.") && text.contains("3 of 3 expectations"),
        "{text}"
    );
    let summary = std::fs::read_to_string(folder.path().join("out/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let points = summary["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    assert_eq!((&points[3]["policy"], &points[3]["load"]), (&"tide".into(), &3.0.into()));
    assert!(points[3]["goodput"].as_f64().unwrap() > 0.7);
    let page = std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.matches("<svg").count() == 4 && !page.contains("NaN"), "{page}");
}

#[test]
fn an_expectation_that_is_missed_ends_with_1_and_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let scenario = file(&folder, &SCENARIO.replace("min = 0.7", "min = 1.25"));
    let output = tidegate(&["sim", &scenario, "--seeds", "1", "--out", &out]);
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr_text());
    let text = output.stdout_text();
    assert!(text.contains("MISSED  crowd, tide at 3×: goodput is "), "{text}");
}

#[test]
fn a_run_in_which_nobody_was_answered_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let text = "about = \"Nobody comes.\"\nduration = \"2s\"\nwatch_from = \"1s\"\nloads = [2]\n\
                [arrivals]\nsegments = [{ level = 0.0 }]\n[[expect]]\np95_ms = { max = 9 }\n";
    let scenario = file(&folder, text);
    let output = tidegate(&["sim", &scenario, "--seeds", "1", "--out", &out]);
    assert_eq!(output.status.code(), Some(3), "{}", output.stdout_text());
    let told = output.stderr_text();
    assert!(told.contains("no request was answered in any run of crowd"), "{told}");
    let text = output.stdout_text();
    assert!(text.contains("p95_ms is nothing, expected at most 9"), "{text}");
    let summary = std::fs::read_to_string(folder.path().join("out/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["points"][0]["goodput"], serde_json::Value::Null);
}

#[test]
fn every_mistake_of_a_scenario_is_told_and_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    let broken = SCENARIO.replace("duration", "duratoin").replace("policy = \"off\"", "policy = 1");
    let scenario = file(&folder, &broken);
    let output = tidegate(&["sim", &scenario, "no-such", "none.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let text = output.stderr_text();
    for words in [
        "crowd.toml:4: duratoin",
        "did you mean duration?",
        "crowd.toml:11",
        "no-such",
        "none.toml",
    ] {
        assert!(text.contains(words), "`{words}` is missing:\n{text}");
    }
    let output = tidegate(&["sim", "demo", "--policy", "tied"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr_text().contains("known are off, static"), "{}", output.stderr_text());
}

#[test]
fn the_catalogue_can_be_listed_and_its_files_shown() {
    let list = tidegate(&["sim", "--list"]).stdout_text();
    assert!(list.lines().count() >= 30 && list.contains("flash-crowd "), "{list}");
    let shown = tidegate(&["sim", "--show", "flash-crowd"]).stdout_text();
    let folder = tempfile::tempdir().unwrap();
    let (copy, out) = (file(&folder, &shown), folder.path().join("out").display().to_string());
    let checked = tidegate(&["check", &copy]).stdout_text();
    assert!(checked.contains("its capacity is 306.4 sessions/s"), "{checked}");
    let output = tidegate(&["sim", &copy, "--seeds", "1", "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stdout_text());
}

#[test]
fn a_scenario_is_played_for_real_beside_the_simulated_one() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let text = "about = \"Two at the door for each place, and forgers.\"\n\
                loads = [2.0]\nduration = \"3s\"\nwatch_from = \"1s\"\n\
                [[attacks]]\nkind = \"forged-tickets\"\nload = 0.5\nfrom = \"1s\"\n";
    let scenario = file(&folder, text);
    let args = ["sim", "--real", &scenario, "--policy", "tide", "--seeds", "1", "--out", &out];
    let output = tidegate(&args);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    assert!(text.contains("tide     measured") && text.contains("simulated"), "{text}");
    let figures = std::fs::read_to_string(folder.path().join("out/real.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_str(&figures).unwrap();
    let point = &figures["points"][0];
    assert!(point["capacity_per_s"].as_f64().unwrap() > 0.0);
    for side in ["measured", "simulated"] {
        assert!(point[side]["completed_per_s"].as_f64().unwrap() > 0.0, "{point}");
        assert!(point[side]["course"].as_array().unwrap().len() >= 3, "{point}");
    }
    let page = std::fs::read_to_string(folder.path().join("out/real.html")).unwrap();
    assert!(page.matches("<svg").count() == 2 && !page.contains("NaN"), "{page}");
}

#[test]
fn what_cannot_be_played_for_real_is_named_before_anything_starts() {
    let output = tidegate(&["sim", "--real", "four-cores", "bursts", "--policy", "tide,codel"]);
    assert_eq!(output.status.code(), Some(2));
    let text = output.stderr_text();
    for why in [
        "four-cores: the gate has 4 cores in it and 1 here",
        "bursts: customers arrive in segments, without bursts and waves",
        "--policy codel: simulated only; a gate has off, eac, tide",
    ] {
        assert!(text.contains(why), "{why}: {text}");
    }
    assert_eq!(output.stdout_text(), "");
}

#[test]
fn estimators_of_costs_are_compared_beside_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let text = "about = \"Pages get dearer.\"\nloads = [0.5]\nduration = \"12s\"\n\
                watch_from = \"4s\"\nchanges = [{ at = \"6s\", requests = 2.0 }]\n";
    let scenario = file(&folder, text);
    let output = tidegate(&["sim", "--costs", &scenario, "--seeds", "1", "--out", &out]);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    assert!(text.contains("crowd: Pages get dearer."), "{text}");
    let figures = std::fs::read_to_string(folder.path().join("out/costs.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_str(&figures).unwrap();
    let course = &figures["courses"][0];
    let estimators = course["estimators"].as_array().unwrap();
    let error = |name: &str| {
        let found = estimators.iter().find(|estimator| estimator["estimator"] == name).unwrap();
        found["ctn_error"]["median"].as_f64().unwrap()
    };
    // What is kept is wrong after the step; what is learned is not.
    assert!(error("attributed") < 0.05 && error("profile") > 0.1, "{figures}");
    let ticks = course["at_s"].as_array().unwrap().len();
    assert_eq!((ticks, course["step_s"].as_f64()), (120, Some(6.0)));
    let page = std::fs::read_to_string(folder.path().join("out/costs.html")).unwrap();
    assert!(page.matches("<svg").count() == 2 && !page.contains("NaN"), "{page}");
}

#[test]
fn courses_of_costs_can_be_listed_shown_and_misspelt() {
    let list = tidegate(&["sim", "--costs", "--list"]).stdout_text();
    assert!(list.contains("collinear ") && !list.contains("flash-crowd"), "{list}");
    let shown = tidegate(&["sim", "--costs", "--show", "rising"]).stdout_text();
    assert!(shown.starts_with("about = "), "{shown}");
    for (args, code, words) in [
        (&["sim", "--costs", "no-such"][..], 2, "no-such: no such course or scenario"),
        (&["sim", "--costs", "--real", "noisy"], 2, "noisy: not a course of the real gate"),
        (&["sim", "--costs", "--policy", "eac"], 2, "cannot be used with"),
        (&["sim", "--costs", "none.toml"], 2, "cannot read none.toml"),
    ] {
        let output = tidegate(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", output.stderr_text());
        assert!(output.stderr_text().contains(words), "{args:?}: {}", output.stderr_text());
    }
}

#[test]
fn estimators_learn_from_the_real_gate_beside_what_its_clocks_say() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let output = tidegate(&["sim", "--costs", "--real", "collinear", "--out", &out]);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    let figures = std::fs::read_to_string(folder.path().join("out/costs-real.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_str(&figures).unwrap();
    let course = &figures["courses"][0];
    let truth = course["truth_ctn_cto_ms"].as_array().unwrap();
    let costs = |of: &serde_json::Value| [of[0].as_f64().unwrap(), of[1].as_f64().unwrap()];
    let [ctn, cto] = costs(&truth[truth.len() / 2]);
    assert!(ctn > cto && cto > 0.0, "{course}");
    // On a machine that others use as well: an order of magnitude, not a speed.
    let said = &course["estimators"].as_array().unwrap()[6];
    assert_eq!(said["estimator"], "attributed");
    let [said_ctn, said_cto] = costs(said["ctn_cto_ms"].as_array().unwrap().last().unwrap());
    assert!(said_ctn / ctn > 0.3 && said_ctn / ctn < 3.0, "{said_ctn} {ctn}");
    assert!(said_cto / cto > 0.3 && said_cto / cto < 3.0, "{said_cto} {cto}");
}
