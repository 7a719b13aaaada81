//! `tidegate load --otlp` as a collector meets it.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::common::collector::{Answers, Collector, Export};
use crate::common::upstream::Upstream;
use crate::common::{ENDLESS, Text, wait_until};

/// Six customers within a second and a half, one page each.
const SIX: &str = r#"
[session]
steps = ["Home"]
patience = "60s"
[arrivals]
times = ["0s", "300ms", "600ms", "900ms", "1200ms", "1500ms"]
[pages]
Home = { path = "/" }
"#;

const OFTEN: (&str, &str) = ("OTEL_METRIC_EXPORT_INTERVAL", "1");

/// A folder with a scenario, for the files of a test, and a service.
struct Test {
    folder: tempfile::TempDir,
    upstream: Upstream,
}

impl Test {
    fn new(scenario: &str) -> Self {
        let test = Self { folder: tempfile::tempdir().unwrap(), upstream: Upstream::start() };
        std::fs::write(test.path("scenario.toml"), scenario).unwrap();
        test
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.arg("load").arg(self.path("scenario.toml")).args(["--target", &self.upstream.url]);
        command.args(["--plain", "--warm-up", "0", "--json"]).arg(self.path("result.json"));
        command.args(more).stdin(Stdio::null());
        command
    }

    /// Runs it until all customers have left, which is far below the deadline.
    fn load(&self, more: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = self.command(more);
        command.args(["--duration", "120"]).envs(variables.iter().copied()).output().unwrap()
    }

    fn result(&self) -> Value {
        let text = std::fs::read_to_string(self.path("result.json")).unwrap();
        serde_json::from_str(&text).expect("the result is JSON")
    }
}

/// The export is the last of this run.
#[track_caller]
fn assert_figures_of_the_result(export: &Export, result: &Value) {
    let total = |name: &str| result["totals"][name].as_f64().unwrap();
    let value = |name: &str, label| export.value(&format!("tidegate_load_{name}"), label);
    assert_eq!(value("sessions_offered_total", None), total("offered"));
    assert_eq!(value("sessions_started_total", None), total("started"));
    assert_eq!(value("received_bytes_total", None), total("received_bytes"));
    assert_eq!(value("requests_total", Some(("result", "ok"))), total("requests_ok"));
    for outcome in ["completed", "refused", "abandoned", "failed", "cut_off"] {
        let exported = value("sessions_ended_total", Some(("outcome", outcome)));
        assert_eq!(exported, total(outcome), "{outcome}");
    }
    assert_eq!(value("stage", Some(("stage", "done"))), 1.0);
    assert_eq!(value("stage", Some(("stage", "measure"))), 0.0);

    let times = export.histogram("tidegate_load_request_duration_seconds");
    assert_eq!(times.count as f64, total("requests_ok"));
    assert_eq!(times.bucket_counts.iter().sum::<u64>(), times.count);
    assert_eq!(times.bucket_counts.len(), times.explicit_bounds.len() + 1);
    let started_ms = result["started_at_unix_ms"].as_u64().unwrap();
    assert_eq!(times.start_time_unix_nano, started_ms * 1_000_000);
    assert!(times.time_unix_nano > times.start_time_unix_nano);
}

/// The lines of the output about the export.
fn otlp_lines(output: &Output) -> Vec<String> {
    let text = output.stdout_text() + &output.stderr_text();
    text.lines().filter(|line| line.contains("otlp")).map(str::to_owned).collect()
}

#[test]
fn the_last_export_of_a_run_has_the_figures_of_its_result() {
    let test = Test::new(SIX);
    let collector = Collector::start(Answers::With(200));
    let output = test.load(&["--otlp", &collector.url], &[OFTEN]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
    assert!(otlp_lines(&output).is_empty(), "{:?}", otlp_lines(&output));
    let last = collector.last();
    assert_figures_of_the_result(&last, &test.result());
    assert_eq!(test.result()["totals"]["completed"], 6);

    assert!(last.head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{}", last.head);
    assert!(last.head.contains("\r\ncontent-type: application/x-protobuf\r\n"), "{}", last.head);
    assert_eq!(last.attribute("service.name"), "tidegate-load");
    assert_eq!(last.attribute("service.version"), env!("CARGO_PKG_VERSION"));
    assert!(!last.attribute("host.name").is_empty());
    let offered = |export: &Export| export.value("tidegate_load_sessions_offered_total", None);
    let exports = collector.exports();
    assert!(exports.len() > 1, "figures are exported during the run");
    assert!(exports.is_sorted_by(|one, next| offered(one) <= offered(next)));
}

#[test]
fn drivers_are_exported_as_one() {
    let test = Test::new(SIX);
    let collector = Collector::start(Answers::With(200));
    let output = test.load(&["--otlp", &collector.url, "--drivers", "2"], &[OFTEN]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
    assert_figures_of_the_result(&collector.last(), &test.result());
    let one = collector.exports()[0].attribute("service.instance.id").to_owned();
    let same = |export: &Export| export.attribute("service.instance.id") == one;
    assert!(collector.exports().iter().all(same));
}

#[test]
fn each_of_several_runs_is_exported_to_its_end_with_its_own_start() {
    let test = Test::new(SIX);
    let collector = Collector::start(Answers::With(200));
    // None is due while they run.
    let output = test.load(&["--otlp", &collector.url, "--repeat", "2"], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
    let (exports, result) = (collector.exports(), test.result());
    assert_eq!(exports.len(), 2);
    for (export, run) in exports.iter().zip(result["runs"].as_array().unwrap()) {
        assert_figures_of_the_result(export, run);
    }
}

#[test]
fn a_run_that_is_interrupted_exports_its_last_figures() {
    let test = Test::new(ENDLESS);
    let collector = Collector::start(Answers::With(200));
    let mut command = test.command(&["--otlp", &collector.url, "--duration", "600"]);
    let mut load = command.env(OFTEN.0, OFTEN.1).stdout(Stdio::null()).spawn().unwrap();
    wait_until("something is exported", || collector.exports().len() > 1);
    // SAFETY: the child was not waited for yet, so the id is its own.
    unsafe { libc::kill(load.id() as libc::pid_t, libc::SIGINT) };
    assert!(load.wait().unwrap().success());
    assert_eq!(test.result()["interrupted"], true);
    assert_figures_of_the_result(&collector.last(), &test.result());
}

#[test]
fn a_collector_that_fails_is_reported_once_and_changes_nothing() {
    let refusing = Collector::start(Answers::With(500));
    let silent = Collector::start(Answers::Never);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    for (url, why) in [
        (&nowhere, "Connection refused (os error 111)"),
        (&refusing.url, "answered 500 Internal Server Error"),
        (&silent.url, "no answer within 2 s"),
    ] {
        let test = Test::new(SIX);
        let output = test.load(&["--otlp", url], &[OFTEN]);
        assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
        assert_eq!(test.result()["totals"]["completed"], 6);
        let lines = otlp_lines(&output);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains(&format!("otlp: {url}/v1/metrics: {why}")), "{lines:?}");
    }
    assert!(refusing.exports().len() > 1, "later exports are still sent");
    let completed = Some(("outcome", "completed"));
    assert_eq!(refusing.last().value("tidegate_load_sessions_ended_total", completed), 6.0);
}

#[test]
fn a_collector_over_tls_is_verified_and_the_environment_sets_the_rest() {
    let test = Test::new(SIX);
    let certificate = test.path("collector.pem").display().to_string();
    let collector = Collector::over_tls(&test.path("collector.pem"));
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str());
    let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc");
    let trusted = ("OTEL_EXPORTER_OTLP_CERTIFICATE", certificate.as_str());
    let named = ("OTEL_SERVICE_NAME", "shop-test");

    let output = test.load(&["--otlp"], &[endpoint, headers, named]);
    let about = otlp_lines(&output);
    assert!(about.len() == 1 && about[0].contains("invalid peer certificate"), "{about:?}");
    assert!(collector.exports().is_empty());

    let output = test.load(&["--otlp"], &[endpoint, headers, trusted, named]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
    assert!(otlp_lines(&output).is_empty(), "{:?}", otlp_lines(&output));
    let last = collector.last();
    assert_figures_of_the_result(&last, &test.result());
    assert!(last.head.contains("\r\nauthorization: Bearer abc\r\n"), "{}", last.head);
    assert_eq!(last.attribute("service.name"), "shop-test");
}

#[test]
fn what_is_no_collector_ends_the_run_before_it_begins() {
    let test = Test::new(SIX);
    let missing = ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/ca.pem");
    for (url, variables, why) in [
        ("127.0.0.1:4318", vec![], "--otlp 127.0.0.1:4318: must be the address of a collector"),
        ("https://127.0.0.1:4318", vec![missing], "/nowhere/ca.pem"),
        ("http://h", vec![("OTEL_METRIC_EXPORT_INTERVAL", "5s")], "must be 1 to 86400000"),
    ] {
        let output = test.load(&["--otlp", url], &variables);
        let text = output.stderr_text();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(why), "{text}");
    }
    assert!(test.upstream.requests().is_empty());
}
