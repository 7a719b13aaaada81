//! `tidegate study` where the machine or the folder is not as it should be: each message says what
//! to do, and what was there is kept.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{Text, has_two_processors, tidegate, with_small_files};

/// An experiment with a service that writes nothing, and the folder for its results.
fn experiment(folder: &Path) -> (PathBuf, PathBuf) {
    let scenario = folder.join("one-page.toml");
    let session = "[session]\nsteps = [\"Home\"]\npatience = \"60s\"\n\
                   [pages]\nHome = { path = \"/healthz\" }\n";
    std::fs::write(&scenario, session).unwrap();
    // The study asks for an address.
    let address = tidegate_lab::free_address().unwrap();
    let text = format!(
        "name = \"tiny\"\nabout = \"one page\"\n\
         [system]\ncommand = [{:?}, \"site\", \"messages\", \"--listen\", \"{address}\"]\n\
         address = \"http://{address}\"\nready = \"/healthz\"\n\
         [workload]\nscenario = {scenario:?}\nrate = 20\n\
         [windows]\nwarm_up = \"300ms\"\nmeasured = \"1s\"\nrepetitions = 1\n",
        env!("CARGO_BIN_EXE_tidegate"),
    );
    let file = folder.join("tiny.toml");
    std::fs::write(&file, text).unwrap();
    (file, folder.join("out"))
}

fn entries(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        names.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_disk_that_gets_full_during_a_run_ends_the_study_which_continues_once_there_is_room() {
    if !has_two_processors() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = experiment(folder.path());
    let args = ["study", file.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    // The state of the study, certificates and configuration fit; the result of a run does not.
    let full = with_small_files(&mut command, 6 << 10).args(args).stdin(Stdio::null());
    let full = full.output().unwrap();
    let message = format!("{}{}", full.stdout_text(), full.stderr_text());
    assert_eq!(full.status.code(), Some(3), "{message}");
    assert!(message.contains("File too large"), "{message}");
    assert!(message.contains("make room and continue with --resume"), "{message}");
    assert!(message.contains("/runs/") && message.contains(".partial/"), "which file: {message}");
    assert!(entries(&out.join("runs")).is_empty(), "{:?}", entries(&out.join("runs")));
    assert!(!out.join("summary.json").exists() && out.join("study.json").exists());

    let continued = tidegate(&[&args[..], &["--resume"]].concat());
    let message = format!("{}{}", continued.stdout_text(), continued.stderr_text());
    assert_eq!(continued.status.code(), Some(0), "{message}");
    assert_eq!(entries(&out.join("runs")).len(), 1);
    assert!(out.join("summary.json").exists() && out.join("report.html").exists());
}

#[test]
fn a_folder_of_another_version_is_not_touched() {
    if !has_two_processors() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = experiment(folder.path());
    let (file, dir) = (file.to_str().unwrap(), out.to_str().unwrap());
    std::fs::create_dir_all(out.join("runs/r1-0")).unwrap();
    let state = r#"{ "format": 1, "version": "0.0.1-earlier", "experiment": "in another form" }"#;
    std::fs::write(out.join("study.json"), state).unwrap();
    let resumed = tidegate(&["study", file, "--out", dir, "--resume"]);
    let message = resumed.stderr_text();
    assert_eq!(resumed.status.code(), Some(2), "{message}");
    assert!(message.contains("of another version of the program"), "{message}");
    assert!(message.contains("0.0.1-earlier") && message.contains("another --out"), "{message}");

    let compared = tidegate(&["study", "compare", dir, dir]);
    let message = compared.stderr_text();
    assert_eq!(compared.status.code(), Some(2), "{message}");
    assert!(message.contains("of another version"), "{message}");
    assert!(message.contains("give a folder of this version"), "{message}");

    assert_eq!(std::fs::read_to_string(out.join("study.json")).unwrap(), state);
    assert_eq!(entries(&out), ["runs", "study.json"]);
    assert_eq!(entries(&out.join("runs")), ["r1-0"]);
}

/// An experiment whose study is complete, and the folder of its results.
fn finished(folder: &Path) -> (PathBuf, PathBuf) {
    let (file, out) = experiment(folder);
    let first = tidegate(&["study", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(first.status.code(), Some(0), "{}", first.stderr_text());
    (file, out)
}

/// Arguments that continue the study.
fn again<'a>(file: &'a Path, out: &'a Path) -> [&'a str; 5] {
    ["study", file.to_str().unwrap(), "--out", out.to_str().unwrap(), "--resume"]
}

#[test]
fn a_run_of_another_version_is_measured_again() {
    if !has_two_processors() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = finished(folder.path());
    let run = out.join("runs").join(&entries(&out.join("runs"))[0]).join("run.json");
    let text = std::fs::read_to_string(&run).unwrap();
    let earlier = text.replacen("\"format\": 1", "\"format\": 0", 1);
    assert_ne!(earlier, text);
    std::fs::write(&run, &earlier).unwrap();
    let again = tidegate(&again(&file, &out));
    assert_eq!(again.status.code(), Some(0), "{}", again.stderr_text());
    let now = std::fs::read_to_string(&run).unwrap();
    assert!(now.contains("\"format\": 1") && now != text, "it was measured again");
}

#[test]
fn runs_of_another_scenario_text_are_not_added_to_those_that_there_are() {
    if !has_two_processors() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = finished(folder.path());
    let scenario = folder.path().join("one-page.toml");
    let text = std::fs::read_to_string(&scenario).unwrap();
    std::fs::write(&scenario, text.replace("60s", "30s")).unwrap();
    let resumed = tidegate(&again(&file, &out));
    let message = resumed.stderr_text();
    assert_eq!(resumed.status.code(), Some(2), "{message}");
    assert!(message.contains("another text of a scenario file"), "{message}");
    assert!(out.join("summary.json").exists());

    // Nor those of another study.
    let target = ["--target", "http://127.0.0.1:1"];
    let args = [&["study", "capacity", "--out", out.to_str().unwrap()][..], &target].concat();
    std::fs::remove_file(out.join("summary.json")).unwrap();
    let message = tidegate(&args).stderr_text();
    assert!(message.contains("holds the runs of another study"), "{message}");
}

#[test]
fn a_finished_study_that_measures_again_has_no_result_until_all_runs_are_complete() {
    if !has_two_processors() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = finished(folder.path());
    let result = ["summary.json", "report.html"].map(|name| out.join(name));
    assert!(result.iter().all(|file| file.exists()));
    let run = out.join("runs").join(&entries(&out.join("runs"))[0]);
    std::fs::remove_dir_all(&run).unwrap();

    let again = again(&file, &out);
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    let stopped = with_small_files(&mut command, 6 << 10).args(again).stdin(Stdio::null());
    let stopped = stopped.output().unwrap();
    assert_eq!(stopped.status.code(), Some(3), "{}", stopped.stderr_text());
    assert!(!run.exists(), "the run fails on the full disk");
    let left: Vec<_> = result.iter().filter(|file| file.exists()).collect();
    assert!(left.is_empty(), "of the earlier runs: {left:?}");

    let continued = tidegate(&again);
    assert_eq!(continued.status.code(), Some(0), "{}", continued.stderr_text());
    assert!(result.iter().all(|file| file.exists()));
}
