//! One test with several drivers: `--drivers` on one machine, `--shard` and `load merge` on
//! several.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

use crate::common::upstream::Upstream;
use crate::common::{ENDLESS, Text, at_a_start, tidegate, wait_until};

/// Twelve customers within two seconds, two pages each: hardly more starts than a
/// driver has to miss before it is called saturated, however busy the machine is.
const TWELVE: &str = r#"
name = "twelve"
[session]
steps = ["Home", "Home"]
think = "20ms"
patience = "60s"
[arrivals]
segments = [{ for = "2s", rate = 6 }, { for = "1s", rate = 0 }]
process = "even"
[pages.Home]
path = "/"
check = { status = [200], contains = "hello", regex = "h.llo" }
extract = { word = { regex = "hell(o)" } }
[thresholds]
completed_ratio = { min = 1 }
"#;

/// A folder with a scenario, for the files of a test.
struct Test(tempfile::TempDir);

impl Test {
    fn new(scenario: &str) -> Self {
        let test = Self(tempfile::tempdir().unwrap());
        std::fs::write(test.path("scenario.toml"), scenario).unwrap();
        test
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn args(&self, target: &str, more: &[&str]) -> Vec<String> {
        let scenario = self.text("scenario.toml");
        let args = ["load", &scenario, "--target", target, "--plain", "--warm-up", "0"];
        args.iter().chain(more).map(|arg| (*arg).to_owned()).collect()
    }

    fn load(&self, target: &str, more: &[&str]) -> Output {
        let args = self.args(target, more);
        tidegate(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn json(&self, name: &str) -> Value {
        let text = std::fs::read_to_string(self.path(name)).unwrap();
        serde_json::from_str(&text).expect("the result is JSON")
    }

    /// Runs two shards of one test, each in its own process, to the end. Their files, and how many
    /// requests the server had seen before them.
    fn shards(&self, server: &Upstream) -> (Vec<String>, usize) {
        let files = ["one.json", "two.json"].map(|name| self.text(name));
        let (mut outputs, mut before) = (Vec::new(), 0);
        at_a_start(|start| {
            before = server.requests().len();
            let run = |(shard, file): (&str, &String)| {
                let more = ["--shard", shard, "--start-at", start, "--json", file];
                Command::new(env!("CARGO_BIN_EXE_tidegate"))
                    .args(self.args(&server.url, &more))
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            };
            let children: Vec<Child> = ["1/2", "2/2"].into_iter().zip(&files).map(run).collect();
            let ended = children.into_iter().map(|child| child.wait_with_output().unwrap());
            outputs = ended.collect();
            let late = outputs.iter().find(|output| output.status.code() != Some(0));
            late.unwrap_or(&outputs[0]).clone()
        });
        for output in outputs {
            let text = output.stdout_text();
            assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
            assert!(text.contains("of the load; `tidegate load merge`"), "{text}");
        }
        (files.to_vec(), before)
    }
}

fn is_running(process: u32) -> bool {
    // What has ended and was not waited for is a zombie, and counts as left behind.
    Path::new(&format!("/proc/{process}")).exists()
}

/// The process ids of the drivers, from the first line.
fn drivers(text: &str) -> Vec<u32> {
    let line = text.lines().find(|line| line.contains("drivers: processes")).expect("the line");
    let (_, ids) = line.split_once("processes ").unwrap();
    ids.split(", ").map(|id| id.trim().parse().unwrap()).collect()
}

/// A long test with two drivers that have begun.
struct Begun {
    lead: Child,
    out: BufReader<std::process::ChildStdout>,
    text: String,
    drivers: Vec<u32>,
}

impl Begun {
    fn new(test: &Test, target: &str) -> Self {
        let json = test.text("whole.json");
        let more = ["--drivers", "2", "--duration", "600", "--json", &json];
        let mut lead = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(test.args(target, &more))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(lead.stdout.take().unwrap());
        let mut text = String::new();
        // Both have measured something by then.
        while text.matches(" s measure ").count() < 2 {
            assert!(out.read_line(&mut text).unwrap() > 0, "it ended: {text}");
        }
        let drivers = drivers(&text);
        assert!(drivers.iter().all(|process| is_running(*process)));
        Self { lead, out, text, drivers }
    }

    fn signal(process: u32, signal: i32) {
        // SAFETY: the process is a child or its child, and has not been waited for.
        assert_eq!(unsafe { libc::kill(process as libc::pid_t, signal) }, 0);
    }

    /// Its standard error and exit code.
    fn end(mut self) -> (String, Option<i32>) {
        std::io::Read::read_to_string(&mut self.out, &mut self.text).unwrap();
        let output = self.lead.wait_with_output().unwrap();
        let left: Vec<_> = self.drivers.iter().filter(|process| is_running(**process)).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        (self.text + &output.stderr_text(), output.status.code())
    }
}

#[test]
fn two_drivers_give_one_result_in_every_format_that_agrees_with_the_server() {
    let (test, server) = (Test::new(TWELVE), Upstream::start());
    let files = ["whole.json", "raw.jsonl", "raw.parquet", "seconds.csv"].map(|it| test.text(it));
    let more = ["--drivers", "2", "--duration", "60", "--json", &files[0], "--raw", &files[1]];
    let more = [&more[..], &["--parquet", &files[2], "--csv", &files[3]]].concat();
    let output = test.load(&server.url, &more);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    assert!(text.contains("ok     completed_ratio = 1.000"), "{text}");
    assert!(text.contains("driver 1/2      1 thread,"), "{text}");
    let (whole, requests) = (test.json("whole.json"), server.requests().len());
    // A line says how both stand, second by second to the end, which a last second may have just
    // begun before.
    let lines = text.matches(" s measure sessions/s: offered").count();
    let seconds = whole["series"].as_array().unwrap().len();
    assert!((seconds - 1..=seconds).contains(&lines), "{text}");
    assert_eq!(requests, 24);
    let totals = &whole["totals"];
    assert_eq!((&totals["requests_ok"], &totals["completed"]), (&24.into(), &12.into()));
    assert_eq!(whole["response"]["count"], 24);
    assert_eq!(
        (&whole["driver"]["threads"], whole["drivers"].as_array().unwrap().len()),
        (&2.into(), 2)
    );
    assert_eq!((&whole["incomplete"], &whole["portion"]), (&Value::Null, &Value::Null));
    let of_stretches: u64 = whole["stretches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["requests_ok"].as_u64().unwrap())
        .sum();
    assert_eq!(of_stretches, 24);
    let series = whole["series"].as_array().unwrap();
    let of_seconds: u64 = series.iter().map(|it| it["response"]["count"].as_u64().unwrap()).sum();
    assert_eq!(of_seconds, 24);

    let raw = std::fs::read_to_string(test.path("raw.jsonl")).unwrap();
    let lines: Vec<Value> = raw.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut sessions: Vec<u64> =
        lines.iter().map(|line| line["session"].as_u64().unwrap()).collect();
    sessions.sort_unstable();
    let each_twice: Vec<u64> = (0..12).flat_map(|session| [session; 2]).collect();
    assert_eq!(sessions, each_twice);
    let parquet = SerializedFileReader::try_from(test.path("raw.parquet").as_path()).unwrap();
    assert_eq!(parquet.metadata().file_metadata().num_rows(), 24);
    assert_eq!(parquet.into_iter().map(Result::unwrap).count(), 24);
    let csv = std::fs::read_to_string(test.path("seconds.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + series.len());

    assert!(drivers(&text).iter().all(|process| !is_running(*process)));
    let left = std::fs::read_dir(test.0.path()).unwrap().count();
    assert_eq!(left, 5, "the scenario and four results, and no file of a driver");
}

#[test]
fn shards_of_two_processes_merge_to_what_the_server_counted() {
    let (test, server) = (Test::new(TWELVE), Upstream::start());
    let (files, before) = test.shards(&server);
    let (whole, csv) = (test.text("whole.json"), test.text("seconds.csv"));
    let output = tidegate(&["load", "merge", &files[1], &files[0], "--out", &whole, "--csv", &csv]);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    assert!(text.contains("ok     completed_ratio = 1.000"), "{text}");
    let whole = test.json("whole.json");
    assert_eq!(whole["totals"]["requests_ok"], server.requests().len() - before);
    assert_eq!(whole["totals"]["offered"], 12);
    assert_eq!(whole["drivers"][0]["part"], "1/2");
    let halves = ["one.json", "two.json"].map(|name| test.json(name)["totals"]["offered"].clone());
    assert_eq!(halves, [6, 6]);

    let refused = |args: &[&str], words: &[&str]| {
        let output = tidegate(&[&["load", "merge"], args].concat());
        let stderr = output.stderr_text();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(words.iter().all(|word| stderr.contains(word)), "{words:?} in {stderr}");
    };
    refused(&[&files[0]], &["shard 2/2 is missing", "name its file"]);
    refused(&[&files[0], &files[0]], &["shard 1/2 is given twice", "shard 2/2 is missing"]);
    refused(&[&files[0], &test.text("whole.json")], &["whole.json: is a whole run"]);
    refused(&[&files[0], &test.text("none.json")], &["none.json: No such file"]);
    refused(&[&files[0], &files[1], "--json", &files[0]], &["would overwrite a shard"]);
    let other = std::fs::read_to_string(&files[1]).unwrap();
    std::fs::write(test.path("other.json"), other.replace("\"twelve\"", "\"other\"")).unwrap();
    refused(&[&files[0], &test.text("other.json")], &["scenario other and twelve"]);
}

#[test]
fn ctrl_c_of_the_lead_ends_all_drivers_with_a_valid_result() {
    let (test, server) = (Test::new(ENDLESS), Upstream::start());
    let begun = Begun::new(&test, &server.url);
    Begun::signal(begun.lead.id(), libc::SIGINT);
    let (text, code) = begun.end();
    assert!(code == Some(0) || text.contains("SATURATED"), "{text}");
    assert!(text.contains("(stopped early)"), "{text}");
    let whole = test.json("whole.json");
    assert_eq!(
        (&whole["interrupted"], whole["drivers"].as_array().unwrap().len()),
        (&true.into(), 2)
    );
    let (ok, cut) = (&whole["totals"]["requests_ok"], &whole["totals"]["cut_off"]);
    let requests = server.requests().len() as u64;
    assert!(
        (ok.as_u64().unwrap()..=ok.as_u64().unwrap() + cut.as_u64().unwrap()).contains(&requests)
    );
}

#[test]
fn a_killed_driver_is_reported_and_the_result_is_incomplete() {
    let (test, server) = (Test::new(ENDLESS), Upstream::start());
    let begun = Begun::new(&test, &server.url);
    Begun::signal(begun.drivers[1], libc::SIGKILL);
    let (text, code) = begun.end();
    assert_eq!(code, Some(3), "{text}");
    for words in [
        "driver 2 was killed by signal 9 after",
        "the others stop as well",
        "INCOMPLETE: driver 2 of 2 was killed by signal 9",
        "these figures are those of the 1 other shard of 2 only",
        "the result is incomplete",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let whole = test.json("whole.json");
    assert_eq!(whole["incomplete"].as_array().unwrap().len(), 1);
    assert!(whole["totals"]["requests_ok"].as_u64().unwrap() > 0);
}

#[test]
fn drivers_end_when_their_lead_ends() {
    let (test, server) = (Test::new(ENDLESS), Upstream::start());
    let mut begun = Begun::new(&test, &server.url);
    begun.lead.kill().unwrap();
    begun.lead.wait().unwrap();
    // Who inherits them may not look after its children: a zombie has ended.
    let ended = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    wait_until("the drivers have ended", || begun.drivers.iter().all(ended));
}

#[test]
fn flags_that_do_not_fit_drivers_are_rejected_before_the_run() {
    let test = Test::new(TWELVE);
    let cases: [(&[&str], &str); 12] = [
        (&["--drivers", "0"], "0 is not in 1..=256"),
        (&["--drivers", "two"], "invalid value 'two'"),
        (&["--drivers", "2", "--part", "1/2"], "cannot be used with"),
        (&["--shard", "1/2"], "--start-at <TIME>"),
        (&["--shard", "3/2", "--start-at", "2026-05-01T12:00:00Z"], "such as 1/3"),
        (
            &["--part", "1/2", "--start-at", "2020-05-01T12:00:00Z"],
            "ago; give every shard the same",
        ),
        (&["--start-at", "2999-05-01T12:00:00Z"], "h ahead, at most 24"),
        (&["--start-at", "soon"], "a time with its zone"),
        (&["--drivers", "2", "--cores", "0"], "--cores 0: 1 processor(s) for 2 drivers; give at"),
        (
            &["--drivers", "2", "--raw", "/dev/null"],
            "--raw /dev/null: with --drivers this must be a regular file",
        ),
        (&["--drivers", "2", "--raw", "/nowhere/raw"], "--raw /nowhere/raw cannot be written: No"),
        (&["--drivers", "2", "--http", "3"], "invalid value '3'"),
    ];
    let server = Upstream::start();
    for (more, words) in cases {
        let output = test.load(&server.url, more);
        let stderr = output.stderr_text();
        assert_eq!(output.status.code(), Some(2), "{more:?}: {stderr}");
        assert!(stderr.contains(words), "{more:?}: {words} in {stderr}");
    }
    assert!(server.requests().is_empty());
    let output = test.load("http://127.0.0.1:9", &["--drivers", "2"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stderr_text().contains("cannot be reached"), "{}", output.stderr_text());
}
