//! `tidegate sim` as a user meets it.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::{Text, has_two_processors, tidegate};

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

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(args).stdin(Stdio::null());
    command
}

fn json(file: PathBuf) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
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
    let error = output.stderr_text();
    assert!(error.contains("no request was answered in any run of crowd"), "{error}");
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
    assert!(
        output.stderr_text().contains("known policies are off, static"),
        "{}",
        output.stderr_text()
    );
}

#[test]
fn the_catalogue_can_be_listed_and_its_files_shown() {
    let list = tidegate(&["sim", "--list"]).stdout_text();
    assert!(list.lines().count() >= 30 && list.contains("flash-crowd "), "{list}");
    let shown = tidegate(&["sim", "--show", "flash-crowd"]).stdout_text();
    let folder = tempfile::tempdir().unwrap();
    let (copy, out) = (file(&folder, &shown), folder.path().join("out").display().to_string());
    let checked = tidegate(&["check", &copy]).stdout_text();
    assert!(checked.contains("its capacity is 300.6 sessions/s"), "{checked}");
    let output = tidegate(&["sim", &copy, "--seeds", "1", "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stdout_text());
}

#[test]
fn who_reads_no_further_changes_neither_the_results_nor_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let missed = file(&folder, &SCENARIO.replace("min = 0.7", "min = 1.25"));
    for (args, code) in [
        (vec!["sim", &missed, "--seeds", "1", "--out", out.to_str().unwrap()], 1),
        (vec!["sim", "--list"], 0),
        (vec!["sim", "--show", "demo"], 0),
        (vec!["sim", "--reference"], 0),
        (vec!["check", &missed], 0),
        (vec!["load", "--list"], 0),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command(&args).stdout(writer).output().unwrap();
        assert_eq!(output.stderr_text(), "", "{args:?}");
        assert_eq!(output.status.code(), Some(code), "{args:?}");
    }
    assert!(out.join("summary.json").is_file() && out.join("report.html").is_file());
}

#[test]
fn a_folder_that_cannot_be_made_is_told_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = file(&folder, SCENARIO) + "/out";
    // An hour at a hundred times the capacity: it would take long to come to the end.
    let long = file(&folder, "about = \"long\"\nloads = [100]\nduration = \"400s\"\n");
    let output = tidegate(&["sim", &long, "--seeds", "100", "--out", &out]);
    assert_eq!(output.status.code(), Some(2));
    let text = output.stderr_text();
    assert!(text.contains("--out") && text.contains("name a folder"), "{text}");
}

#[test]
fn what_is_asked_for_twice_runs_once_and_what_is_unknown_is_told_beside_all() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let crowd = file(&folder, SCENARIO);
    let twice = ["sim", &crowd, &crowd, "--policy", "tide,off,tide", "--seeds", "1", "--out", &out];
    assert_eq!(tidegate(&twice).status.code(), Some(0));
    let summary = json(folder.path().join("out/summary.json"));
    assert_eq!(summary["points"].as_array().unwrap().len(), 4);
    let output = tidegate(&["sim", "demo", "--policy", "all,foo"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr_text().contains("--policy foo: no such policy"));
    std::fs::create_dir(folder.path().join("other")).unwrap();
    let same = folder.path().join("other/crowd.toml");
    std::fs::write(&same, SCENARIO).unwrap();
    let output = tidegate(&["sim", &crowd, same.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr_text().contains("both are called crowd"), "{}", output.stderr_text());
}

#[test]
fn a_file_that_is_not_there_comes_with_a_remedy() {
    for args in [["sim", "none.toml"], ["check", "none.toml"]] {
        let output = tidegate(&args);
        assert_eq!(output.status.code(), Some(2));
        let text = output.stderr_text();
        assert!(text.contains("none.toml: there is no such file; "), "{text}");
    }
}

#[test]
fn check_knows_a_simulated_scenario_however_its_keys_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = file(&folder, &SCENARIO.replace("about = ", "about="));
    let output = tidegate(&["check", &scenario]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
    assert!(output.stdout_text().contains("a valid simulated scenario"));
}

#[test]
fn ctrl_c_ends_with_a_clear_line_and_exit_code_3() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let long = "about = \"long\"\nloads = [0.5, 2, 9]\nduration = \"3600s\"\n";
    let args = ["sim", &file(&folder, long), "--seeds", "100", "--out", out.to_str().unwrap()];
    let child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Signals are caught before the folder is made.
    crate::common::wait_until("it simulates", || out.is_dir());
    // SAFETY: the child was not waited for yet, so the id is its own.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let line = "tidegate: interrupted when 0 of 1 were simulated; no results are written\n";
    assert_eq!((output.stderr_text().as_str(), output.stdout_text().as_str()), (line, ""));
}

#[test]
fn a_terminal_sees_how_far_it_is_on_a_line_that_goes_away() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let (mut terminal, other_end) = crate::common::terminal();
    let args = ["sim", &file(&folder, SCENARIO), "--seeds", "1", "--out", &out];
    let mut run = command(&args);
    let mut child = run.stdout(Stdio::null()).stderr(other_end).spawn().unwrap();
    drop(run);
    let mut seen = Vec::new();
    // Its other end closes with the child: an error on Linux.
    let _ = terminal.read_to_end(&mut seen);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let seen = String::from_utf8_lossy(&seen);
    assert!(seen.contains("\r\x1b[K1 of 1 simulated, about 0 s left: crowd, tide"), "{seen:?}");
    assert!(seen.ends_with("\r\x1b[K"), "{seen:?}");
}

#[test]
fn all_policies_stand_in_one_table_and_goals_do_not_count_without_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let crowd = "about = \"A crowd.\"\nloads = [0.9, 4]\nduration = \"6s\"\nwatch_from = \"2s\"\n";
    let crowd = file(&folder, crowd);
    // `off` loses most of the sessions that it admits.
    let args = ["sim", &crowd, "--policy", "tide,off", "--seeds", "1", "--out", &out];
    let output = tidegate(&args);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for words in ["All scenarios without attacks", "Goals, met in %", "Goals of tide\n", "unbeaten"]
    {
        assert!(text.contains(words), "`{words}` is missing:\n{text}");
    }
    let summary = json(folder.path().join("out/summary.json"));
    let policies = summary["policies"].as_array().unwrap();
    assert_eq!((&policies[0]["policy"], &policies[1]["policy"]), (&"tide".into(), &"off".into()));
    assert!(policies[0]["goodput_mean"].as_f64().unwrap() > 0.7);
    assert_eq!(policies[1]["goodput_worst_in"], "crowd");
    let kept = |policy: usize| {
        let goals = policies[policy]["goals"].as_array().unwrap();
        goals.iter().find(|goal| goal["goal"] == "kept").unwrap()["misses"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!((kept(0), kept(1)), (0, 1), "{policies:?}");
    let page = std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    let (table, scenario) = (page.find("All scenarios in one table"), page.find("id=\"crowd\""));
    assert!(table.unwrap() < scenario.unwrap());

    // Now the goals of `off` alone count.
    let alone = ["sim", &crowd, "--policy", "off", "--seeds", "1", "--out", &out];
    assert_eq!(tidegate(&alone).status.code(), Some(0));
    assert_eq!(tidegate(&[&alone[..], &["--goals"]].concat()).status.code(), Some(1));
}

#[test]
fn drawn_scenarios_run_can_be_shown_and_replayed_from_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name).display().to_string();
    let run = |args: &[&str]| {
        let output = tidegate(args);
        assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
        output.stdout_text()
    };
    run(&["sim", "--drawn", "2-3", "--seeds", "1", "--out", &out("drawn")]);
    let text = run(&["sim", "--show", "drawn-3"]);
    let copy = folder.path().join("drawn-3.toml");
    std::fs::write(&copy, text).unwrap();
    run(&["sim", copy.to_str().unwrap(), "--seeds", "1", "--out", &out("copy")]);
    let points = |name: &str| json(folder.path().join(name).join("summary.json"))["points"].clone();
    let (drawn, copied) = (points("drawn"), points("copy"));
    assert_eq!(drawn[0]["scenario"], "drawn-2");
    let last = drawn.as_array().unwrap().iter().filter(|point| point["scenario"] == "drawn-3");
    assert_eq!(last.cloned().collect::<Vec<_>>(), *copied.as_array().unwrap());
    let output = tidegate(&["sim", "--drawn", "many"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr_text().contains("write 60 for 1 to 60"), "{}", output.stderr_text());
}

#[test]
fn a_scenario_is_played_for_real_beside_the_simulated_one() {
    if !has_two_processors() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let text = "about = \"Twice the capacity, and forged tickets.\"\n\
                loads = [2.0]\nduration = \"3s\"\nwatch_from = \"1s\"\n\
                [[attacks]]\nkind = \"forged-tickets\"\nload = 0.5\nfrom = \"1s\"\n";
    let scenario = file(&folder, text);
    let args = ["sim", "--real", &scenario, "--policy", "tide", "--seeds", "1", "--out", &out];
    let output = tidegate(&args);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    assert!(text.contains("tide    measured") && text.contains("simulated"), "{text}");
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
    if !has_two_processors() {
        return;
    }
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
    let text = "about = \"The cost of pages rises.\"\nloads = [0.5]\nduration = \"12s\"\n\
                watch_from = \"4s\"\nchanges = [{ at = \"6s\", requests = 2.0 }]\n";
    let scenario = file(&folder, text);
    let output = tidegate(&["sim", "--costs", &scenario, "--seeds", "1", "--out", &out]);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    assert!(text.contains("crowd: The cost of pages rises."), "{text}");
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
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for (args, code, words) in [
        (&["sim", "--costs", "no-such"][..], 2, "no-such: no such scenario"),
        (&["sim", "--costs", "--real", "noisy"], 2, "noisy: not a course of the real gate"),
        (&["sim", "--costs", "--policy", "eac"], 2, "cannot be used with"),
        (&["sim", "--costs", "none.toml"], 2, "none.toml: there is no such file"),
    ] {
        let output = tidegate(&[args, &["--out", &out.display().to_string()]].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", output.stderr_text());
        assert!(output.stderr_text().contains(words), "{args:?}: {}", output.stderr_text());
    }
    // Nothing is made for a name that is none.
    assert!(!out.exists());
}

#[test]
fn estimators_learn_from_the_real_gate_beside_what_its_clocks_say() {
    if !has_two_processors() {
        return;
    }
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
