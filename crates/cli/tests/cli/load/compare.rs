//! `tidegate load compare` as a user meets it: files of real runs in, a table
//! and an exit code out.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::common::upstream::Upstream;
use crate::common::{Text, tidegate};

/// Three customers of one page, as one run of them looks.
const BRIEF: &str = r#"
name = "brief"
[session]
start = "Home"
think = "20ms"
patience = "60s"
[arrivals]
times = ["0s", "100ms", "200ms"]
[pages]
Home = { path = "/" }
[transitions]
Home = { End = 1 }
"#;

struct Folder(tempfile::TempDir);

impl Folder {
    /// With the result of one real run in it.
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        std::fs::write(folder.path("brief.toml"), BRIEF).unwrap();
        let upstream = Upstream::start();
        let (scenario, json) = (folder.path("brief.toml"), folder.path("real.json"));
        let times = ["--plain", "--warm-up", "0", "--duration", "120"];
        let args = ["load", &scenario, "--target", &upstream.url, "--json", &json];
        let output = tidegate(&[&args[..], &times].concat());
        assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
        folder
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// A run of ten seconds that completed so many sessions in each, one more
    /// and one less in turn; all else as in the real one.
    fn with(&self, name: &str, seed: u64, completed: u64) -> String {
        let mut json: Value = read(Path::new(&self.path("real.json")));
        let stretch = |n: u64| {
            let mut stretch = json["stretches"][0].clone();
            for (key, value) in [("completed", n), ("admitted_ended", 60), ("offered", 60)] {
                stretch[key] = json!(value);
            }
            stretch["length_s"] = json!(1.0);
            stretch
        };
        json["stretches"] = (0..10).map(|i| stretch(completed + 2 * (i % 2) - 1)).collect();
        (json["seed"], json["measured_s"]) = (json!(seed), json!(10.0));
        std::fs::write(self.path(name), json.to_string()).unwrap();
        self.path(name)
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn compare(args: &[&str]) -> Output {
    tidegate(&[&["load", "compare"], args].concat())
}

#[test]
fn a_run_that_completes_less_ends_with_1_and_one_that_does_not_with_0() {
    let folder = Folder::new();
    let (more, less) = (folder.with("more.json", 2, 50), folder.with("less.json", 3, 40));
    let worse = compare(&[&more, &less]);
    let text = worse.stdout_text();
    assert_eq!(worse.status.code(), Some(1), "{text}{}", worse.stderr_text());
    let row = text.lines().find(|line| line.starts_with("completed_per_s")).unwrap();
    assert!(row.contains("50.00/s") && row.contains("-20.0 %"), "{text}");
    assert!(row.contains("<0.001") && row.ends_with("WORSE"), "{text}");
    assert!(text.contains("Welch's t on batch means within one run each"), "{text}");
    assert!(text.contains("note  one run each"), "{text}");
    assert!(
        text.contains("\nfound worse in B: completed_per_s, completed_ratio; undecided: "),
        "{text}"
    );
    let power = text.split_once("4 times of 5, and to tell 5 %:\n").unwrap().1;
    // Seconds of 50 ± 1: errors of 1/√9, so about half a session a second of fifty.
    let row = power.lines().find(|line| line.starts_with("completed_per_s")).unwrap();
    assert!(row.ends_with(" %   these runs do"), "{power}");
    let text = compare(&[&more, &less, "--tell", "0.1%"]).stdout_text();
    let power = text.split_once("and to tell 0.1 %:\n").unwrap().1;
    let row = power.lines().find(|line| line.starts_with("completed_per_s")).unwrap();
    assert!(row.contains("   runs of ") && row.ends_with("h"), "{power}");
    assert_eq!(compare(&[&more, &less, "--tell", "0"]).status.code(), Some(2));
    assert_eq!(compare(&[&less, &more]).status.code(), Some(0));
    assert_eq!(compare(&[&more, &less, "--worse-by", "30%"]).status.code(), Some(0));
    assert_eq!(compare(&[&more, &less, "--worse-by", "10%"]).status.code(), Some(1));
}

#[test]
fn several_runs_of_each_are_compared_by_their_values() {
    let folder = Folder::new();
    let run = |name: &str, seed, completed| folder.with(name, seed, completed);
    let a = [run("a1", 1, 50), run("a2", 2, 51), run("a3", 3, 50)];
    let b = [run("b1", 4, 30), run("b2", 5, 31), run("b3", 6, 30)];
    let json = folder.path("comparison.json");
    let output = compare(&[&a[0], &a[1], &a[2], "--json", &json, "--with", &b[0], &b[1], &b[2]]);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(1), "{text}{}", output.stderr_text());
    assert!(text.contains("Welch's t on the values of 3 and 3 runs"), "{text}");
    let comparison = read(Path::new(&json));
    let row = &comparison["rows"][0];
    assert_eq!((&row["figure"], &row["verdict"]), (&"completed_per_s".into(), &"worse".into()));
    assert!(row["tested"]["p"].as_f64().unwrap() < 0.05, "{row:#}");
}

#[test]
fn runs_that_are_not_alike_end_with_2_unless_allowed() {
    let folder = Folder::new();
    let (one, other) = (folder.with("one.json", 2, 50), folder.with("other.json", 3, 50));
    let mut json = read(Path::new(&other));
    json["scenario"] = json!("shop");
    std::fs::write(&other, json.to_string()).unwrap();
    let output = compare(&[&one, &other]);
    assert_eq!(output.status.code(), Some(2), "{}", output.stdout_text());
    assert!(output.stdout_text().contains("NOT COMPARABLE: "), "{}", output.stdout_text());
    assert!(output.stdout_text().contains("scenario shop, and brief of"));
    assert!(output.stderr_text().contains("--anyway"), "{}", output.stderr_text());
    assert_eq!(compare(&[&one, &other, "--anyway"]).status.code(), Some(0));
    let twice = compare(&[&one, &one]);
    assert_eq!(twice.status.code(), Some(2));
    assert!(twice.stdout_text().contains("is the same run as"), "{}", twice.stdout_text());
}

#[test]
fn files_that_cannot_be_read_are_all_named_and_end_with_2() {
    let folder = Folder::new();
    let real = folder.path("real.json");
    let mut old = read(Path::new(&real));
    old.as_object_mut().unwrap().remove("format");
    std::fs::write(folder.path("old.json"), old.to_string()).unwrap();
    let output = compare(&[&folder.path("old.json"), &folder.path("none.json")]);
    let text = output.stderr_text();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("old.json: says no format") && text.contains("none.json: "), "{text}");
    let alone = compare(&[&real]);
    assert_eq!(alone.status.code(), Some(2));
    assert!(
        alone.stderr_text().contains("which files are A and which are B"),
        "{}",
        alone.stderr_text()
    );
    assert_eq!(compare(&[&real, &real, "--worse-by", "5"]).status.code(), Some(2));
}

#[test]
fn the_stretches_of_a_real_run_add_up_to_its_totals() {
    let folder = Folder::new();
    let summary = read(Path::new(&folder.path("real.json")));
    assert_eq!(summary["format"], 1);
    let stretches = summary["stretches"].as_array().unwrap();
    let sum = |key: &str| stretches.iter().map(|s| s[key].as_u64().unwrap()).sum::<u64>();
    for (key, total) in [("offered", "offered"), ("completed", "completed")]
        .into_iter()
        .chain([("requests_ok", "requests_ok"), ("failed", "failed")])
    {
        assert_eq!(sum(key), summary["totals"][total].as_u64().unwrap(), "{key}");
    }
    assert_eq!((sum("completed"), sum("admitted_ended")), (3, 3));
    let length: f64 = stretches.iter().map(|s| s["length_s"].as_f64().unwrap()).sum();
    assert!((length - summary["measured_s"].as_f64().unwrap()).abs() < 1e-6, "{length}");
}

#[test]
fn a_repeated_run_gives_means_with_intervals_and_can_be_compared() {
    let folder = Folder::new();
    let upstream = Upstream::start();
    let scenario = folder.path("brief.toml");
    let repeat = |name: &str, seed: &str| {
        let (json, raw) = (folder.path(name), folder.path(&format!("{name}.raw.jsonl")));
        let args = ["load", &scenario, "--target", &upstream.url, "--json", &json, "--raw", &raw];
        let times = ["--plain", "--warm-up", "0", "--duration", "120", "--repeat", "3"];
        let output = tidegate(&[&args[..], &times, &["--seed", seed]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
        output.stdout_text()
    };
    let text = repeat("a.json", "1");
    assert!(text.contains("3 runs, seeds 1, 2, 3"), "{text}");
    let json = read(Path::new(&folder.path("a.json")));
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|run| run["seed"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
    let figure = |name| json["figures"].as_array().unwrap().iter().find(|f| f["figure"] == name);
    let ratio = figure("completed_ratio").unwrap();
    assert_eq!((&ratio["mean"]["value"], &ratio["mean"]["low"]), (&json!(1.0), &json!(1.0)));
    let rate = &figure("completed_per_s").unwrap();
    for (run, value) in runs.iter().zip(rate["values"].as_array().unwrap()) {
        let (reported, value) = (run["completed_per_s"].as_f64().unwrap(), value.as_f64().unwrap());
        assert!((reported - value).abs() < 1e-6 * reported, "{reported} {value}");
    }
    for number in 1..=3 {
        let raw = folder.path(&format!("a.json.raw.{number}.jsonl"));
        assert_eq!(std::fs::read_to_string(raw).unwrap().lines().count(), 3);
    }
    repeat("b.json", "4");
    let args = [&folder.path("a.json")[..], &folder.path("b.json"), "--anyway"];
    let text = compare(&args).stdout_text();
    assert!(text.contains("Welch's t on the values of 3 and 3 runs"), "{text}");
    let row = text.lines().find(|line| line.starts_with("completed_ratio")).unwrap();
    assert!(row.ends_with("no significant difference"), "{text}");
}

#[test]
fn the_figures_that_matter_can_be_named() {
    let folder = Folder::new();
    let (more, less) = (folder.with("more.json", 2, 50), folder.with("less.json", 3, 40));
    let named = |names: &str| compare(&[&more, &less, "--figures", names]);
    let output = named("completed_per_s,completed_ratio");
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(1), "{text}{}", output.stderr_text());
    assert!(text.contains("\ncompleted_per_s ") && !text.contains("requests_per_s"), "{text}");
    let unknown = named("p95");
    assert_eq!(unknown.status.code(), Some(2));
    let text = unknown.stderr_text();
    assert!(text.contains("did you mean response_p95_ms?"), "{text}");
    assert!(text.contains("figures: completed_per_s, requests_per_s,"), "{text}");
}

#[test]
fn a_percentile_of_few_answers_is_not_compared() {
    // Ten stretches of three answers each.
    let folder = Folder::new();
    let (one, other) = (folder.with("one.json", 2, 50), folder.with("other.json", 3, 50));
    let json = folder.path("comparison.json");
    let output = compare(&[&one, &other, "--json", &json]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
    let row = |text: &str, name: &str| {
        text.lines().find(|line| line.starts_with(name)).map(str::to_owned).unwrap()
    };
    let p95 = row(&output.stdout_text(), "response_p95_ms");
    assert!(p95.ends_with("undecided: too few answers: 30, and it needs 200"), "{p95}");
    let rows = read(Path::new(&json))["rows"].clone();
    let p95 = rows.as_array().unwrap().iter().find(|row| row["figure"] == "response_p95_ms");
    assert_eq!(p95.unwrap()["few"], json!({ "answers": 30, "needed": 200 }));
    // Who names it relies on it.
    let output = compare(&[&one, &other, "--figures", "response_p95_ms"]);
    assert_eq!(output.status.code(), Some(2));
    let text = output.stderr_text();
    assert!(text.contains("--figures response_p95_ms: cannot be compared"), "{text}");
}

#[test]
fn runs_of_other_arrivals_end_with_2_and_a_slower_closed_model_does_not() {
    let folder = Folder::new();
    let with = |name: &str, entries: Value, offered: u64| {
        let path = folder.with(name, offered, 50);
        let mut json = read(Path::new(&path));
        assert_eq!(json["arrival_entries"][0]["schedule"], "times", "a real run keeps them");
        json["arrival_entries"] = entries;
        for stretch in json["stretches"].as_array_mut().unwrap() {
            stretch["offered"] = json!(offered);
        }
        std::fs::write(&path, json.to_string()).unwrap();
        path
    };
    let open = |process: &str| {
        json!([{ "name": format!("partly open: sessions at 50/s, {process}"),
                 "model": "partly_open", "process": process, "schedule": "rate",
                 "rate_per_s": 50.0 }])
    };
    let poisson = with("poisson.json", open("poisson"), 50);
    let even = with("even.json", open("even"), 51);
    let output = compare(&[&poisson, &even]);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("NOT COMPARABLE: ") && text.contains("run both with the same arrivals"));
    assert_eq!(compare(&[&poisson, &even, "--anyway"]).status.code(), Some(0), "{text}");
    let closed = json!([{ "name": "closed: 50 customers", "model": "closed", "customers": 50,
                          "think_ms": 20.0, "within_ms": 20.0 }]);
    let fast = with("fast.json", closed.clone(), 500);
    let slow = with("slow.json", closed, 60);
    let output = compare(&[&fast, &slow]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stdout_text());
}
