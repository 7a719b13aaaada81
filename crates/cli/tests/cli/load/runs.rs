//! `tidegate load` as a user meets it: what it leaves behind and how it ends.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use parquet::file::reader::SerializedFileReader;
use serde_json::Value;

use crate::common::upstream::Upstream;
use crate::common::{Running, Text, auction, curl, gate, long_enough, tidegate, wait_until};

/// Three customers, three pages each: fewer starts than a driver has to miss
/// before it is called saturated, however busy the machine is.
const FEW: &str = r#"
name = "few"
[session]
start = "Home"
think = "20ms"
patience = "60s"
[arrivals]
times = ["0s", "100ms", "200ms"]
[pages]
Home = { path = "/" }
Browse = { path = "/browse" }
Categories = { link = "/categories" }
[transitions]
Home = { Browse = 1 }
Browse = { Categories = 1 }
Categories = { End = 1 }
[thresholds]
completed_ratio = { min = 1 }
"#;

/// Customers who look at one page and then think for longer than the run lasts.
const LINGERING: &str = r#"
[session]
start = "Home"
think = "60s"
[arrivals]
rate = 200
process = "even"
[pages]
Home = { path = "/" }
[transitions]
Home = { Home = 1 }
"#;

/// A folder with a scenario, for the files of one run.
struct Run(tempfile::TempDir);

impl Run {
    fn new(scenario: &str) -> Self {
        let run = Self(tempfile::tempdir().unwrap());
        std::fs::write(run.path("scenario.toml"), scenario).unwrap();
        run
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn args(&self, target: &str, duration_s: &str) -> Vec<String> {
        let path = |name| self.path(name).display().to_string();
        let (scenario, json, raw) =
            (path("scenario.toml"), path("summary.json"), path("raw.jsonl"));
        let args = ["load", &scenario, "--target", target, "--json", &json, "--raw", &raw];
        let times = ["--insecure", "--plain", "--warm-up", "0", "--duration", duration_s];
        args.into_iter().chain(times).map(str::to_owned).collect()
    }

    /// Runs it to its end. Once all customers have left it ends by itself.
    fn load(&self, target: &str) -> Output {
        let args = self.args(target, "120");
        tidegate(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn summary(&self) -> Value {
        let text = std::fs::read_to_string(self.path("summary.json")).unwrap();
        serde_json::from_str(&text).expect("the summary is JSON")
    }

    fn raw(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("raw.jsonl")).unwrap();
        assert!(text.ends_with('\n'), "the last line is whole");
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    }
}

#[test]
fn customers_of_a_site_behind_the_gate_are_counted_alike_in_all_files() {
    let run = Run::new(FEW);
    let site = auction(&run.path("site"));
    let gate = gate(site.address("site"), &["--policy", "off"]);
    let output = run.load(gate.address("gate"));
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    assert!(text.contains("ok     completed_ratio = 1.000 (at least 1)"), "{text}");

    let (summary, raw) = (run.summary(), run.raw());
    let totals = &summary["totals"];
    for (name, count) in
        [("offered", 3), ("admitted", 3), ("completed", 3), ("requests_ok", 9), ("full_ok", 3)]
    {
        assert_eq!(totals[name], count, "{name}: {totals:#}");
    }
    assert_eq!(
        (&summary["driver_saturated"], &summary["raw_error"]),
        (&false.into(), &Value::Null)
    );
    assert_eq!((&summary["response"]["count"], raw.len()), (&9.into(), 9));
    let of_page = |page| raw.iter().filter(|line| line["page"] == page).count();
    assert_eq!(["Home", "Browse", "Categories"].map(of_page), [3; 3]);
    assert!(raw.iter().all(|line| line["ok"] == true && line["measured"] == true), "{raw:#?}");
    assert!(raw.iter().all(|line| line["status"] == 200 && line["end"] == "answered"), "{raw:#?}");
    let bytes: u64 = raw.iter().map(|line| line["received_bytes"].as_u64().unwrap()).sum();
    assert_eq!(totals["received_bytes"], bytes);
    wait_until("the gate has counted as many", || {
        gate.metric("tidegate_requests_total{code=\"200\"}") == 9.0
    });
}

#[test]
fn every_ready_scenario_fits_the_auction_site() {
    let run = Run::new(FEW);
    let site = auction(&run.path("site"));
    let gate = gate(site.address("site"), &["--policy", "off"]);
    for name in ["auction-buyers", "auction-crowd", "auction-bots", "handshake-flood"] {
        let json = run.path(name).display().to_string();
        // A busy machine completes few sessions in a short run: then in a longer one.
        let of = |duration: &str| {
            let output = tidegate(&[
                "load",
                name,
                "--target",
                gate.address("gate"),
                "--insecure",
                "--plain",
                "--json",
                &json,
                "--rate",
                "60",
                "--warm-up",
                "0",
                "--duration",
                duration,
                "--time-scale",
                "0.02",
                "--patience-scale",
                "100",
            ]);
            let text = std::fs::read_to_string(&json).unwrap_or_default();
            let Ok(summary) = serde_json::from_str::<Value>(&text) else {
                panic!("{name}: {}", output.stderr_text());
            };
            summary["totals"].clone()
        };
        let totals = long_enough(of, |totals| totals["completed"].as_u64() >= Some(5));
        assert!(totals["completed"].as_u64() >= Some(5), "{name}: {totals:#}");
        assert_eq!(
            (&totals["failed"], &totals["resumed_ok"]),
            (&0.into(), &0.into()),
            "{name}: {totals:#}"
        );
    }
    let shown = tidegate(&["load", "--show", "auction-bots"]);
    let file = run.path("own.toml");
    std::fs::write(&file, shown.stdout_text()).unwrap();
    assert_eq!(tidegate(&["check", &file.display().to_string()]).status.code(), Some(0));
    let reference = tidegate(&["load", "--reference"]).stdout_text();
    assert!(reference.contains("| `max_requests` | whole number | 1 to 1000000 | `1000` |"));
    let list = tidegate(&["load", "--list"]).stdout_text();
    assert!(list.contains("handshake-flood              An attack"), "{list}");
    let descriptions: std::collections::BTreeSet<&str> =
        list.lines().map(|line| line.split_once(' ').unwrap().1.trim()).collect();
    assert_eq!(descriptions.len(), list.lines().count(), "{list}");
    let attack = ["load", "handshake-flood", "--target", "https://192.0.2.1", "--insecure"];
    let refused = tidegate(&attack);
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stderr_text().contains("--attack-remote"), "{}", refused.stderr_text());
}

#[test]
fn the_summary_and_the_raw_lines_have_the_fields_that_scripts_rely_on() {
    let run = Run::new(FEW);
    let upstream = Upstream::start();
    run.load(&upstream.url);
    let summary = run.summary();
    let missing = |value: &Value, names: &[&str]| -> Vec<String> {
        names.iter().filter(|name| value.get(name).is_none()).map(|&name| name.into()).collect()
    };
    let none: Vec<String> = Vec::new();
    let setting = ["scenario", "target", "seed", "machine", "started_at_unix_ms", "warm_up_s"];
    let window = ["measured_s", "interrupted", "time_scale", "patience_scale", "patience_ms"];
    let sessions = ["offered_per_s", "admitted_per_s", "refused_per_s", "completed_per_s"];
    let others = ["abandoned_per_s", "failed_per_s", "requests_per_s", "completed_ratio"];
    let ratios = ["refused_ratio", "abandoned_ratio", "failed_ratio", "full_handshake_share"];
    let parts = ["totals", "response", "response_uncorrected", "phases", "pages", "series"];
    let end = ["driver", "driver_saturated", "thresholds", "raw_error", "session_length"];
    let groups: [&[&str]; 7] = [&setting, &window, &sessions, &others, &ratios, &parts, &end];
    assert_eq!(missing(&summary, &groups.concat()), none);
    let times = ["count", "mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99_9_ms", "max_ms"];
    assert_eq!(missing(&summary["response"], &times), none);
    assert_eq!(missing(&summary["thresholds"][0], &["metric", "value", "min", "max", "met"]), none);
    let driver = ["threads", "cpu_share", "missed_share", "events_lost", "saturated_because"];
    assert_eq!(missing(&summary["driver"], &driver), none);
    let line = ["session", "page", "intended_s", "start_delay_ms", "response_ms", "status"];
    let rest = ["first_byte_ms", "last_byte_ms", "received_bytes", "ok", "end", "measured"];
    assert_eq!(missing(&run.raw()[0], &[line, rest].concat()), none);
}

#[test]
fn requests_and_seconds_are_the_same_in_every_format() {
    let run = Run::new(FEW);
    let upstream = Upstream::start();
    let (parquet, csv) = (run.path("requests.parquet"), run.path("seconds.csv"));
    let mut args = run.args(&upstream.url, "120");
    for (flag, path) in [("--parquet", &parquet), ("--csv", &csv)] {
        args.extend([flag.to_owned(), path.display().to_string()]);
    }
    let output = tidegate(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());

    let raw = run.raw();
    let reader = SerializedFileReader::try_from(parquet.as_path()).unwrap();
    let rows: Vec<Value> = reader.into_iter().map(|row| row.unwrap().to_json_value()).collect();
    assert_eq!(rows, raw, "Parquet has the rows of the lines");

    let text = std::fs::read_to_string(csv).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let series = run.summary()["series"].as_array().unwrap().clone();
    assert_eq!(lines.len(), 1 + series.len(), "{text}");
    for (line, second) in lines[1..].iter().zip(&series) {
        for (name, value) in lines[0].iter().zip(line) {
            let (value, part) = (value.parse::<f64>().unwrap(), name.strip_prefix("response_"));
            let reported = part.map_or(&second[*name], |part| &second["response"][part]);
            // Left out of the JSON where every request was answered.
            if *name == "response_unanswered" && reported.is_null() {
                assert_eq!(value, 0.0);
                continue;
            }
            let reported =
                reported.as_f64().or(reported.as_bool().map(|yes| f64::from(u8::from(yes))));
            assert!((reported.unwrap() - value).abs() < 1e-6, "{name}: {value} {reported:?}");
        }
    }
}

#[test]
fn a_disk_that_is_full_ends_the_run_with_3_whatever_the_format() {
    for flag in ["--raw", "--parquet", "--csv"] {
        let run = Run::new(FEW);
        let upstream = Upstream::start();
        let scenario = run.path("scenario.toml").display().to_string();
        let args = ["load", &scenario, "--target", &upstream.url, flag, "/dev/full"];
        let times = ["--plain", "--warm-up", "0", "--duration", "120"];
        let output = tidegate(&[&args[..], &times].concat());
        let text = output.stderr_text();
        assert_eq!(output.status.code(), Some(3), "{flag} {text}");
        assert!(
            text.contains("an output file is incomplete: /dev/full: No space left"),
            "{flag} {text}"
        );
        assert!(output.stdout_text().contains("FILE INCOMPLETE: /dev/full"), "{flag}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_reported_before_the_run_and_existing_files_are_unchanged() {
    let run = Run::new(FEW);
    let upstream = Upstream::start();
    let scenario = run.path("scenario.toml").display().to_string();
    let folder = run.path(".").display().to_string();
    let kept = run.path("kept.json");
    std::fs::write(&kept, "of an earlier run").unwrap();
    let kept_flags = ["--json".to_owned(), kept.display().to_string()];
    let cases = [
        ("--json", "/nowhere/it", "No such file"),
        ("--csv", "/nowhere/it", "No such file"),
        ("--raw", &folder, "Is a directory"),
        ("--parquet", "/dev/null/it", "Not a directory"),
    ];
    for (flag, file, why) in cases {
        for drivers in ["1", "2"] {
            let args = ["load", &scenario, "--target", &upstream.url, "--drivers", drivers];
            let own = [flag, file].map(str::to_owned);
            let others = if flag == "--json" { &[][..] } else { &kept_flags };
            let more: Vec<&str> = own.iter().chain(others).map(String::as_str).collect();
            let output = tidegate(&[&args[..], &more].concat());
            let text = output.stderr_text();
            assert_eq!(output.status.code(), Some(2), "{flag} {text}");
            assert!(text.contains(&format!("{flag} {file} cannot be written: {why}")), "{text}");
        }
    }
    assert!(upstream.requests().is_empty());
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "of an earlier run");
}

#[test]
fn a_run_can_be_watched_by_prometheus() {
    let run = Run::new(LINGERING);
    let upstream = Upstream::start();
    let scenario = run.path("scenario.toml").display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(["load", &scenario, "--target", &upstream.url, "--plain", "--metrics", "0"]);
    let load = Running::other(command.args(["--warm-up", "0", "--duration", "600"]), |line| {
        line.strip_prefix("metrics: ").map(str::to_owned)
    });
    assert!(load.address("address").starts_with("http://127.0.0.1:"), "loopback is the default");
    let scrape = || curl(&["--fail", load.address("address")]).stdout_text();
    let value = |text: &str, series: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.parse().unwrap())
    };
    let answered = "tidegate_load_requests_total{result=\"ok\"}";
    wait_until("ten requests are reported", || value(&scrape(), answered) >= 10.0);
    let text = scrape();
    let count = value(&text, "tidegate_load_request_duration_seconds_count");
    assert_eq!(count, value(&text, answered), "each answer is in the histogram\n{text}");
    let last = "tidegate_load_request_duration_seconds_bucket{le=\"+Inf\"}";
    assert_eq!(value(&text, last), count, "{text}");
    assert_eq!(value(&text, "tidegate_load_stage{stage=\"measure\"}"), 1.0, "{text}");
}

#[test]
fn metrics_at_an_address_that_is_taken_end_the_run_before_it_begins() {
    let run = Run::new(FEW);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut args = run.args("http://127.0.0.1:1", "120");
    args.extend(["--metrics".to_owned(), address.clone()]);
    let output = tidegate(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(3));
    let text = output.stderr_text();
    assert!(text.contains(&format!("cannot serve metrics at {address}: ")), "{text}");
}

#[test]
fn a_run_that_is_stopped_in_its_warm_up_reports_that_nothing_was_measured() {
    let (run, upstream) = (Run::new(LINGERING), Upstream::start());
    let scenario = run.path("scenario.toml").display().to_string();
    let mut load = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    load.args(["load", &scenario, "--target", &upstream.url, "--warm-up", "600"]);
    let load = load.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("customers come", || !upstream.requests().is_empty());
    // SAFETY: the child was not waited for yet, so the id is its own.
    unsafe { libc::kill(load.id() as libc::pid_t, libc::SIGINT) };
    let output = load.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stdout_text().contains("response        none"), "{}", output.stdout_text());
    let stderr = output.stderr_text();
    assert!(stderr.contains("stopped in the warm-up: nothing was measured"), "{stderr}");
}

#[test]
fn a_missed_threshold_is_reported_and_ends_with_1() {
    let run =
        Run::new(&FEW.replace("completed_ratio = { min = 1 }", "refused_ratio = { min = 0.5 }"));
    let upstream = Upstream::start();
    let output = run.load(&upstream.url);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(1), "{text}{}", output.stderr_text());
    assert!(text.contains("MISSED refused_ratio = 0.000 (at least 0.5)"), "{text}");
    let verdict = &run.summary()["thresholds"][0];
    assert_eq!((&verdict["metric"], &verdict["met"]), (&"refused_ratio".into(), &false.into()));
}

#[test]
fn a_run_that_may_not_open_enough_connections_exits_with_3() {
    let run = Run::new(LINGERING);
    let upstream = Upstream::start();
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 128 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tidegate")])
        .args(run.args(&upstream.url, "2"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = output.stderr_text();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("THE LOAD GENERATOR WAS SATURATED"), "{text}");
    assert!(text.contains("sessions were not started: too many in flight (open files"), "{text}");
    let summary = run.summary();
    let total = |name: &str| summary["totals"][name].as_u64().unwrap();
    assert_eq!(summary["driver_saturated"], true);
    assert!(total("requests_ok") > 0 && total("not_started") > 0, "{:#}", summary["totals"]);
    assert_eq!(total("offered"), total("started") + total("not_started"));
}

#[test]
fn a_load_generator_that_is_paused_exits_with_3() {
    // In the closed model nobody is late: each begins when the last has ended.
    let run = Run::new(LINGERING);
    let upstream = Upstream::start();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(run.args(&upstream.url, "600")).args(["--closed", "2"]);
    let mut load = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = load.id() as libc::pid_t;
    let signal = |signal| {
        // SAFETY: the child was not waited for yet, so the id is its own.
        assert_eq!(unsafe { libc::kill(id, signal) }, 0);
    };
    let (line, lines) = std::sync::mpsc::channel();
    let output = BufReader::new(load.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        output.lines().map_while(Result::ok).for_each(|it| drop(line.send(it)));
    });
    // A second has been measured.
    let goes_on = || assert!(lines.iter().any(|it| it.contains(" s measure ")), "it ended");
    goes_on();
    signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_secs(2));
    // What was written before the pause says nothing of it.
    lines.try_iter().for_each(drop);
    signal(libc::SIGCONT);
    goes_on();
    signal(libc::SIGINT);
    reader.join().unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut load.stderr.take().unwrap(), &mut text).unwrap();
    assert_eq!(load.wait().unwrap().code(), Some(3), "{text}");
    assert!(text.contains("THE LOAD GENERATOR WAS SATURATED"), "{text}");
    assert!(
        text.contains("% of the time a load generator thread was more than 10 ms behind"),
        "{text}"
    );
    let driver = &run.summary()["driver"];
    assert!(driver["stalled_share"].as_f64().unwrap() > 0.3, "{driver:#}");
    assert_eq!(driver["missed_share"], 0.0, "{driver:#}");
}

#[test]
fn a_load_generator_that_misses_its_schedule_reports_it_and_exits_with_3() {
    let run = Run::new(LINGERING);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let _ = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        }
    });
    // A connection takes the kernel alone more than the microsecond that is
    // between two of these.
    let mut args = run.args(&target, "1");
    args.extend(["--rate".to_owned(), "1000000".to_owned()]);
    let output = tidegate(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let text = output.stderr_text();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("THE LOAD GENERATOR WAS SATURATED"), "{text}");
    assert!(text.contains("% of starts came more than 10 ms late"), "{text}");
    assert!(output.stdout_text().contains("SATURATED: "), "{}", output.stdout_text());
    assert_eq!(run.summary()["driver_saturated"], true);
}

#[test]
fn without_a_scenario_the_page_of_the_target_is_requested() {
    let upstream = Upstream::start();
    let target = format!("{}/items/7?sort=price", upstream.url);
    let (times, plain) = ("times = [\"0s\", \"50ms\"]", ["--plain", "--warm-up", "0"]);
    let args = ["load", "--target", &target, "--arrivals", times, plain[0], plain[1], plain[2]];
    let output = tidegate(&args);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    let requests = upstream.requests();
    // The first may be the look at the target before the run.
    assert!(requests.len() >= 2, "{requests:?}");
    assert!(requests.iter().all(|line| line == "GET /items/7?sort=price HTTP/1.1"), "{requests:?}");
}
