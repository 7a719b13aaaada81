//! `tidegate study capacity`: against a server of known capacity, and where it refuses.

use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::Value;
use tidegate_experiment::{Folder, Summary};
use tidegate_host::Provenance;

use crate::common::{Text, tidegate, with_small_files};
use crate::study::known_site::KnownSite;

/// A site of so many workers of 20 ms: it carries 50 requests per second and worker. The URL.
fn server(workers: usize, status: &'static str) -> String {
    KnownSite { status, ..KnownSite::pool(workers, 20) }.start()
}

fn study(target: &str, out: &Path, more: &[&str]) -> Output {
    let args = ["study", "capacity", "--target", target, "--quick", "--out"];
    let step: &[&str] = if more.contains(&"--step") { &[] } else { &["--step", "300ms"] };
    tidegate(&[&args[..], &[out.to_str().unwrap()], step, more].concat())
}

fn summary(out: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(out.join("summary.json")).unwrap()).unwrap()
}

/// What a study said that found the capacity; `None` on a machine that is too busy for the load
/// generator three times, which says so and has no figures.
fn study_to_its_end(target: &str, out: &Path, more: &[&str]) -> Option<String> {
    for _ in 0..3 {
        let output = study(target, out, more);
        let text = format!("{}{}", output.stdout_text(), output.stderr_text());
        if !text.contains("THE LOAD GENERATOR WAS SATURATED") {
            assert_eq!(output.status.code(), Some(0), "{text}");
            return Some(text);
        }
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert_eq!(summary(out)["tables"]["result"][0]["end"], "driver", "{text}");
    }
    None
}

#[test]
fn a_site_of_known_capacity_is_studied_to_its_end() {
    let out = tempfile::tempdir().unwrap();
    // Four workers that sleep carry 200 visits per second, on a busy machine as well.
    let (_site, url) = KnownSite::pool(4, 20).process();
    let flags = ["--limit", "120ms", "--step", "600ms"];
    let Some(text) = study_to_its_end(&url, out.path(), &flags) else { return };
    assert!(text.contains("Your site carries ") && text.contains("visits per second"), "{text}");
    let summary = summary(out.path());
    assert_eq!((&summary["study"], &summary["quick"]), (&"capacity".into(), &true.into()));
    let result = &summary["tables"]["result"][0];
    assert_eq!(result["end"], "found", "{text}");
    // Short windows and a busy machine move it; known_capacities is held to a tenth.
    let carried = result["carried_per_s_value"].as_f64().unwrap();
    assert!(carried > 120.0 && carried < 260.0, "{carried}: {text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("within which 99 of 100 sessions end"), "{text}");
    assert!(result["resource"].is_string() && result["drift"].is_array(), "{result}");
    let lost = |step: &Value| {
        ["refused_per_s", "abandoned_per_s", "failed_per_s"].map(|it| step[it].as_f64().unwrap())
    };
    for step in summary["tables"]["steps"].as_array().unwrap() {
        let is_lost = step["outcome"] == "lost";
        assert!(!is_lost || lost(step).into_iter().any(|per_s| per_s > 0.0), "{step}");
    }
    assert!(summary["tables"]["steps"].as_array().unwrap().len() > 10);
    for file in [
        "report.html",
        "figures/throughput.svg",
        "figures/response-time.svg",
        "steps/001.json",
        "steps/001.requests.parquet",
        "results.parquet",
    ] {
        assert!(out.path().join(file).metadata().unwrap().len() > 100, "{file}");
    }
    let provenance = &summary["provenance"];
    assert!(provenance["command"].as_str().unwrap().contains("study capacity"), "{provenance}");
    assert!(summary["machine"]["cpus"].as_u64().unwrap() > 0, "{}", summary["machine"]);
    let has_png = out.path().join("figures/throughput.png").exists();
    assert_eq!(has_png, !text.contains("No font is installed"), "{text}");
}

#[test]
fn a_site_is_compared_with_itself_behind_the_gate() {
    let out = tempfile::tempdir().unwrap();
    let flags = ["--limit", "120ms", "--gate"];
    let Some(text) = study_to_its_end(&server(1, "200 OK"), out.path(), &flags) else { return };
    let summary = summary(out.path());
    assert_eq!(summary["tables"]["result"][0]["end"], "found", "{text}");
    // A baseline, and three loads without and with the gate.
    let windows = summary["tables"]["windows"].as_array().unwrap();
    let loads: Vec<(Option<f64>, bool)> =
        windows.iter().map(|it| (it["multiple"].as_f64(), it["gate"].as_bool().unwrap())).collect();
    assert_eq!(loads[0], (None, false));
    assert_eq!(loads.len(), 7, "{loads:?}");
    for multiple in [1.0, 2.0, 4.0] {
        for gate in [false, true] {
            assert!(loads.contains(&(Some(multiple), gate)), "{loads:?}");
        }
    }
    // It does serve through the gate, at some load.
    let through = windows.iter().filter(|it| it["gate"] == true);
    let mut served = through.filter_map(|it| it["step_requests_per_s"].as_f64());
    assert!(served.any(|per_s| per_s > 0.0), "{windows:?}");
    assert!(summary["tables"]["gate"].is_array());
    let claims = summary["claims"].as_array().unwrap();
    let claim = claims.iter().find(|it| it["id"] == "gate-keeps-throughput").unwrap();
    // One round has no interval, whatever it measured.
    assert_eq!(claim["verdict"], "undecided", "{claim}");
    assert!(claim["evidence"]["undecided_because"].is_string(), "{claim}");
    for file in ["gate.toml", "figures/gate.svg", "steps/001.json", "results.parquet"] {
        assert!(out.path().join(file).metadata().unwrap().len() > 100, "{file}");
    }
    assert!(out.path().join("gate.log").exists());
    let page = std::fs::read_to_string(out.path().join("report.html")).unwrap();
    for part in ["Without and with the gate", "is undecided: "] {
        assert!(page.contains(part), "{part}");
    }
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("is undecided: "), "{text}");
}

#[test]
fn a_disk_that_gets_full_ends_the_study_with_what_to_do() {
    let out = tempfile::tempdir().unwrap();
    let target = server(2, "200 OK");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tidegate"));
    let command = with_small_files(&mut command, 1 << 10).stdin(std::process::Stdio::null());
    let args = ["study", "capacity", "--quick", "--step", "300ms", "--target", &target, "--out"];
    let output = command.args(args).arg(out.path()).output().unwrap();
    let message = output.stderr_text();
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("File too large") && message.contains("make room"), "{message}");
    assert!(!out.path().join("summary.json").exists());
}

#[test]
fn the_highest_allowed_rate_is_not_exceeded_and_reported_as_a_lower_bound() {
    let out = tempfile::tempdir().unwrap();
    let output = study(&server(8, "200 OK"), out.path(), &["--max-rate", "20"]);
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    assert!(text.contains("at least 20 visits per second"), "{text}");
    let steps = &summary(out.path())["tables"]["steps"];
    assert!(steps.as_array().unwrap().iter().all(|step| step["rate_per_s"].as_f64() <= Some(20.0)));
}

#[test]
fn a_target_that_cannot_be_studied_is_told_what_to_do() {
    let out = tempfile::tempdir().unwrap();
    let closed = "https://127.0.0.1:1";
    let plain = server(1, "200 OK").replace("http:", "https:");
    let failing = server(4, "503 Service Unavailable");
    let good = server(4, "200 OK");
    for (target, more, code, expected) in [
        ("https://192.0.2.1", &[][..], 2, "--yes-this-is-mine"),
        ("127.0.0.1:8443", &[], 2, "write https://127.0.0.1:8443"),
        (closed, &[], 3, "is the service running and is the port right?"),
        (&plain, &[], 3, "try http://"),
        (&failing, &[], 3, "answers no request as expected"),
        (&failing, &["--scenario", "auction-bidding"], 3, "check the scenario with"),
        (&good, &["--scenario", "no-such"], 2, "neither a file nor a built-in scenario"),
        (&good, &["--process", "999999999"], 2, "there is no such process"),
        (&good, &["--limit", "0"], 2, "must be 1ms to 24h"),
        (&good, &["--percentile", "97"], 2, "must be 50, 90, 95 or 99"),
        (&good, &["--ca", "no-such.pem"], 2, "name a PEM file"),
        (
            "http://shop.test:81",
            &["--gate", "--resolve", "shop.test:81:127.0.0.1"],
            2,
            "enter the address into /etc/hosts",
        ),
    ] {
        let output = study(target, out.path(), more);
        let text = output.stderr_text();
        assert_eq!(output.status.code(), Some(code), "{target} {more:?}: {text}");
        assert!(text.contains(expected), "{target} {more:?}: {text}");
        assert!(!out.path().join("summary.json").exists());
    }
}

#[test]
fn an_interrupted_study_leaves_no_result_not_even_an_earlier_one() {
    let out = tempfile::tempdir().unwrap();
    let earlier = Summary::new("capacity", true, Provenance::read());
    Folder::create(out.path()).unwrap().finish(&earlier).unwrap();
    let args = ["study", "capacity", "--quick", "--target"];
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(args)
        .args([&server(4, "200 OK"), "--out", out.path().to_str().unwrap()])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while out.path().join("summary.json").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    // SAFETY: the child was not waited for yet, so the id is its own.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    let status = child.wait().unwrap();
    let text = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert_eq!(status.code(), Some(3), "{text}");
    assert!(text.contains("interrupted: the study has no result"), "{text}");
    assert!(!out.path().join("summary.json").exists() && !out.path().join("report.html").exists());
}
