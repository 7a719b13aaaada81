//! `tidegate study` over real processes: a tiny experiment from end to end, interrupted and
//! continued; and bad input. Nothing here depends on how fast anything is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::has_two_processors;

const TINY: &str = "\
name = \"tiny\"
about = \"two policies, one load\"
[workload]
rate = 8
[windows]
warm_up = \"300ms\"
measured = \"1s\"
repetitions = 2
[[factors]]
key = \"policy\"
levels = [\"off\", \"tide\"]
[[claims]]
id = \"alike\"
source = \"this test\"
text = \"both policies serve a light load\"
metric = \"requests_per_s\"
where = { policy = \"tide\" }
compared_with = { policy = \"off\" }
compared_take = \"mean\"
at_least = 0.001
";

fn study(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.arg("study").args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    study(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    let all = [output.stdout.clone(), output.stderr.clone()].concat();
    String::from_utf8(all).unwrap()
}

/// A file with an experiment, and the folder for its results.
fn experiment(folder: &Path, content: &str) -> (PathBuf, PathBuf) {
    let file = folder.join("tiny.toml");
    std::fs::write(&file, content).unwrap();
    (file, folder.join("out"))
}

fn runs(out: &Path) -> Vec<String> {
    let names = std::fs::read_dir(out.join("runs")).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        names.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Processes whose command line names this folder.
fn left_behind(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let commands = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let commands = commands.map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "));
    commands.filter(|command| command.contains(&*folder.to_string_lossy())).collect()
}

#[test]
fn an_experiment_that_was_interrupted_is_continued_to_its_report() {
    if !has_two_processors() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = experiment(folder.path(), TINY);
    let (file, dir) = (file.to_str().unwrap(), out.to_str().unwrap());
    let child = study(&[file, "--out", dir]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    // Interrupted once a run is complete, so that something is kept.
    let deadline = Instant::now() + Duration::from_secs(120);
    while !runs(&out).iter().any(|name| name.starts_with('r') && !name.ends_with(".partial")) {
        assert!(Instant::now() < deadline, "no run was completed");
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = i32::try_from(child.id()).unwrap();
    // SAFETY: the signal goes to the child that was started above.
    unsafe { libc::kill(id, libc::SIGINT) };
    let interrupted = child.wait_with_output().unwrap();
    let message = text(&interrupted);
    assert_eq!(interrupted.status.code(), Some(3), "{message}");
    assert!(message.contains("--resume continues there"), "{message}");
    let kept = runs(&out);
    assert!(kept.len() < 4 && kept.iter().all(|name| !name.ends_with(".partial")), "{kept:?}");
    assert!(!out.join("summary.json").exists());
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());

    // Without --resume nothing is touched.
    let again = run(&[file, "--out", dir]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again).contains("--resume continues it"), "{}", text(&again));

    let file_of = |name: &str| out.join("runs").join(name).join("run.json");
    let before = std::fs::read(file_of(&kept[0])).unwrap();
    let resumed = run(&[file, "--out", dir, "--resume"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", text(&resumed));
    assert_eq!(std::fs::read(file_of(&kept[0])).unwrap(), before, "a complete run is kept");
    let all = runs(&out);
    assert_eq!(all.len(), 4, "{all:?}");
    for file in ["requests.parquet", "seconds.csv", "host.csv", "status.json", "load.json"] {
        assert!(out.join("runs").join(&all[0]).join(file).exists(), "{file}");
    }
    check_results(&out);

    // A finished study only analyses its runs again.
    let finished = run(&[file, "--out", dir, "--resume"]);
    assert_eq!(finished.status.code(), Some(0), "{}", text(&finished));
    let compared = run(&["compare", dir, dir, "--all"]);
    assert_eq!(compared.status.code(), Some(0), "{}", text(&compared));
    assert!(text(&compared).contains("same machine, commit and settings"), "{}", text(&compared));
    assert!(text(&compared).contains("policy tide"), "{}", text(&compared));

    let other = run(&[file, "--out", dir, "--resume", "--seed", "2"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other).contains("another --seed"), "{}", text(&other));
}

fn check_results(out: &Path) {
    let summary = std::fs::read_to_string(out.join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["study"], "tiny");
    assert_eq!(summary["quick"], false);
    assert!(summary["machine"].is_object());
    let rows = |table: &str| summary["tables"][table].as_array().cloned().unwrap_or_default();
    assert_eq!(rows("runs").len(), 4);
    let per_s = |run: &Value, figure: &str| run[figure].as_f64().unwrap_or_default();
    let has_connections =
        |run: &Value| per_s(run, "connections_per_s") > 0.0 || per_s(run, "requests_per_s") == 0.0;
    assert!(rows("runs").iter().all(has_connections), "{:#}", summary["tables"]);
    // On a busy machine the load generator may be saturated: such a run is in no point.
    let sound: BTreeSet<String> = rows("runs")
        .iter()
        .filter(|run| run["driver_saturated"] == false)
        .map(|run| run["policy"].to_string())
        .collect();
    assert_eq!(rows("points").len(), sound.len(), "{:#}", summary["tables"]);
    let claim = &summary["claims"][0];
    for key in ["id", "source", "text", "verdict", "evidence"] {
        assert!(!claim[key].is_null(), "{key}");
    }
    assert!(["holds", "does not hold", "undecided"].contains(&claim["verdict"].as_str().unwrap()));
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("both policies serve a light load"), "{page}");
    assert!(!page.contains("src=") && !page.contains("NaN"), "{page}");
    assert!(out.join("results.parquet").metadata().unwrap().len() > 0);
    let figures: Vec<_> = std::fs::read_dir(out.join("figures")).unwrap().flatten().collect();
    let svg = figures.iter().filter(|it| it.path().extension().is_some_and(|it| it == "svg"));
    let drawn = if sound.is_empty() { 0 } else { 3 };
    assert_eq!(svg.count(), drawn);
}

#[test]
fn the_studies_that_ship_are_listed_and_printed() {
    let list = run(&["list"]);
    assert!(list.status.success(), "{}", text(&list));
    for name in ["overload ", "rivals ", "messages ", "capacity "] {
        assert!(text(&list).contains(&format!("\n{name}")) || text(&list).starts_with(name));
    }
    let refused = text(&run(&["list", "--show", "capacity"]));
    assert!(refused.contains("`tidegate study capacity --help`"), "{refused}");
    for name in ["overload", "messages"] {
        let shown = run(&["list", "--show", name]);
        assert!(text(&shown).contains("[[factors]]"), "{}", text(&shown));
    }
    let reference = run(&["list", "--reference"]);
    assert!(text(&reference).contains("# Experiment files"), "{}", text(&reference));
}

#[test]
fn bad_input_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = experiment(folder.path(), TINY);
    let (file, dir) = (file.to_str().unwrap().to_owned(), out.to_str().unwrap());
    let expect = |content: &str, arguments: &[&str], expected: &[&str]| {
        std::fs::write(&file, content).unwrap();
        let _ = std::fs::remove_dir_all(&out);
        let output = run(arguments);
        let message = text(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        for expected in expected {
            assert!(message.contains(expected), "{expected} is missing in\n{message}");
        }
    };
    expect(TINY, &["overlaod"], &["overlaod: is neither", "did you mean overload?"]);
    expect(TINY, &["mesages"], &["did you mean messages?"]);
    expect(TINY, &["x"], &["node, fleet, room, messages, capacity"]);
    let requests = [file.as_str(), "--requests", "20", "--out", dir];
    expect(TINY, &requests, &["--requests: the study tiny is measured by times; leave it out"]);
    expect("name = 1\nfoo = 2", &[&file], &["tiny.toml:1: name = 1", "tiny.toml:2: foo = 2"]);
    expect(TINY, &["compare", dir, dir], &["give the folder of a study"]);
    if !has_two_processors() {
        return;
    }
    let many =
        TINY.replace("[workload]", "[system]\nprocessors = 4000\nprocessor_share = 1\n[workload]");
    expect(&many, &[&file, "--out", dir], &["needs 4000 cores", "leave out `processor_share`"]);
    let rival = TINY.replace("\"tide\"]", "\"tide\", \"codel\"]");
    if !cfg!(feature = "rivals") {
        expect(&rival, &[&file, "--out", dir], &["needs a build with `--features rivals`"]);
    }
    let policy = TINY.replace("\"tide\"]", "\"tide\", \"drip\"]");
    expect(&policy, &[&file, "--out", dir], &["policy = \"drip\": the gate refuses it"]);
    let own =
        "[system]\ncommand = [\"/no/such/program\"]\naddress = \"http://127.0.0.1:9\"\n[workload]";
    let own = TINY.replace("[workload]", own);
    expect(&own, &[&file, "--out", dir], &["system.command", "give the program's path"]);
    expect(TINY, &[&file, "--out", "/proc/no"], &["--out /proc/no: cannot be created"]);
}

#[test]
fn a_service_of_ones_own_that_never_gets_ready_ends_the_study_with_its_log() {
    if !has_two_processors() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let system = "[system]\ncommand = [\"sh\", \"-c\", \"echo still warming up; sleep 100\"]\n\
                  address = \"http://127.0.0.1:9\"\nready_within = \"200ms\"\n[workload]";
    let (file, out) = experiment(folder.path(), &TINY.replace("[workload]", system));
    let output = run(&[file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let message = text(&output);
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("not ready") && message.contains("still warming up"), "{message}");
    assert!(message.contains("set system.ready_within, or look at its log"), "{message}");
    assert!(runs(&out).is_empty());
}
