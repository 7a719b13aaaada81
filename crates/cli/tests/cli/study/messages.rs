//! `tidegate site messages` and `tidegate study messages` over real processes. Nothing here
//! depends on how fast anything is.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

use crate::common::PATIENCE;

const TINY: [&str; 7] =
    ["study", "messages", "--without-java", "--requests", "20", "--rounds", "2"];

fn tidegate(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8([output.stdout.clone(), output.stderr.clone()].concat()).unwrap()
}

/// The complete runs of a folder with their records, by name.
fn complete(out: &Path) -> Vec<(String, Vec<u8>)> {
    let folders = std::fs::read_dir(out.join("runs")).into_iter().flatten().flatten();
    let named = folders.map(|folder| (folder.file_name().into_string().unwrap(), folder.path()));
    let complete = named.filter(|(name, _)| !name.ends_with(".partial"));
    let mut read: Vec<_> = complete
        .map(|(name, path)| (name, std::fs::read(path.join("run.json")).unwrap()))
        .collect();
    read.sort();
    read
}

#[test]
fn a_tiny_study_that_was_interrupted_is_continued_to_every_configuration_of_our_own_service() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let dir = out.to_str().unwrap();
    let arguments = [TINY.as_slice(), &["--out", dir]].concat();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(&arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let began = Instant::now();
    while complete(&out).is_empty() {
        assert!(began.elapsed() < PATIENCE, "nothing was measured");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // SAFETY: the child was not waited for yet, so the id is its own.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
    let interrupted = child.wait_with_output().unwrap();
    let message = text(&interrupted);
    assert_eq!(interrupted.status.code(), Some(3), "{message}");
    let kept = complete(&out);
    assert!(kept.len() < 12, "{message}");
    for expected in [
        "stopped; complete runs are kept in",
        "--resume continues there",
        "0/12 round 1: configuration ",
        "(time left: known after this)",
        " left)",
    ] {
        assert!(message.contains(expected), "{expected} is missing in\n{message}");
    }
    assert!(!out.join("summary.json").exists() && !out.join("report.html").exists());

    let again = tidegate(&arguments);
    assert_eq!(again.status.code(), Some(2), "{}", text(&again));
    assert!(text(&again).contains("--resume continues it"), "{}", text(&again));
    let other = tidegate(&[arguments.as_slice(), &["--resume", "--seed", "2"]].concat());
    assert_eq!(other.status.code(), Some(2), "{}", text(&other));
    let differs = "was run with another --seed; give the same file and flags, or another --out";
    assert!(text(&other).contains(differs), "{}", text(&other));
    let other =
        tidegate(&[&arguments[..arguments.len() - 3], &["3", "--out", dir, "--resume"]].concat());
    assert_eq!(other.status.code(), Some(2), "{}", text(&other));
    assert!(text(&other).contains("other --rounds or --requests"), "{}", text(&other));
    assert_eq!(complete(&out), kept, "nothing was touched");

    let output = tidegate(&[arguments.as_slice(), &["--resume"]].concat());
    assert!(output.status.success(), "{}", text(&output));
    let all = complete(&out);
    assert_eq!(all.len(), 12);
    assert!(kept.iter().all(|one| all.contains(one)), "what is complete is not measured again");
    check_results(folder.path());

    let finished = tidegate(&[arguments.as_slice(), &["--resume"]].concat());
    assert!(finished.status.success(), "{}", text(&finished));
    assert_eq!(complete(&out), all, "a finished study only analyses its measurements again");

    let compared = text(&tidegate(&["study", "compare", dir, dir, "--all"]));
    assert!(compared.contains("0 of ") && compared.contains("rust-xml"), "{compared}");
    assert!(compared.contains("same machine, commit and settings"), "{compared}");
}

#[test]
fn without_tomcat_the_configurations_on_java_are_left_out_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let made = ["pom.xml", "bin/java", "messages/target/messages.war"];
    for file in made.map(|name| folder.path().join(name)) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }
    std::fs::create_dir_all(folder.path().join("messages/target/messages/WEB-INF")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(["study", "messages", "--requests", "20", "--rounds", "1", "--out"]);
    command.arg(folder.path().join("out")).stdin(Stdio::null());
    command.env("TIDEGATE_SERVICES", folder.path()).env("JAVA_HOME", folder.path());
    command.env("CATALINA_HOME", folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let expected = "left out: there is no Tomcat 10 in ";
    assert!(text(&output).contains(expected), "{}", text(&output));
    assert_eq!(complete(&folder.path().join("out")).len(), 6);
}

fn check_results(folder: &Path) {
    let read = |name: &str| std::fs::read_to_string(folder.join("out").join(name)).unwrap();
    let summary: Value = serde_json::from_str(&read("summary.json")).unwrap();
    assert_eq!(summary["study"], "messages");
    let rows = |name: &str| summary["tables"][name].as_array().unwrap().clone();
    let names: Vec<String> = rows("points")
        .iter()
        .map(|row| row["configuration"].as_str().unwrap().to_owned())
        .collect();
    let expected =
        ["rust-clear", "rust-https", "rust-jose", "rust-cose", "rust-http-signatures", "rust-xml"];
    assert_eq!(names, expected);
    for row in rows("points") {
        for column in ["ready_s", "first_request_ms", "warm_up_ms", "overall_per_s"] {
            assert!(row[column].as_f64().unwrap() > 0.0, "{column}: {row:#}");
        }
    }
    let of_course = |name: &str| rows("courses").iter().filter(|row| row["course"] == name).count();
    assert_eq!((of_course("first_requests"), of_course("batches")), (6 * 17, 6 * 10));
    assert_eq!(of_course("server_cpu"), 6 * 5);
    assert_eq!(rows("series").len(), 6 * 9 + 1, "one's sessions are resumed as well");
    bytes_are_those_of_the_wire(&rows("series"));
    for row in rows("ratios") {
        let clear = if row["configuration"] == "rust-clear" { "none" } else { "rust-clear" };
        assert_eq!(row["compared_with"], clear, "{row:#}");
        assert!(row["two_clients_ms_by_reference"].as_f64().unwrap() > 0.0, "{row:#}");
    }
    assert_eq!(rows("ratios").len(), 5);
    let java = |claim: &&Value| claim["id"].as_str().unwrap().contains("jsp");
    let claims = summary["claims"].as_array().unwrap();
    assert!(claims.iter().filter(java).all(|claim| claim["verdict"] == "undecided"));
    let page = read("report.html");
    assert!(page.contains("left out") && page.contains("<svg"), "the page says what is missing");
    // Per round: the long series and that of two clients; connections; five payloads.
    let each = 20 + 20 + 20 * 2 + 20 * 5;
    let out = folder.join("out");
    for (run, _) in complete(&out) {
        let expected = if run.ends_with("rust-https") { each + 20 } else { each };
        assert_eq!(
            rows_of(&out.join("runs").join(&run).join("requests.parquet")),
            expected,
            "{run}"
        );
    }
    assert_eq!(rows_of(&out.join("results.parquet")), 2 * 6);
}

/// The rows of a table.
fn rows_of(file: &Path) -> i64 {
    let reader = SerializedFileReader::try_from(file).unwrap();
    reader.metadata().file_metadata().num_rows()
}

/// What is counted contains the payload, and a full handshake is more than a resumed one.
fn bytes_are_those_of_the_wire(series: &[Value]) {
    for row in series {
        let size = row["series"].as_str().unwrap().strip_prefix("size_");
        let payload = size.map_or(200.0, |size| size.parse().unwrap());
        assert!(row["bytes_out"].as_f64().unwrap() > payload, "{row:#}");
    }
    let received = |connection: &str| {
        let found = series
            .iter()
            .find(|row| row["configuration"] == "rust-https" && row["series"] == connection);
        found.unwrap()["bytes_in"].as_f64().unwrap()
    };
    assert!(received("keep") < received("resumed"));
    assert!(received("resumed") < received("new"), "the certificate is sent again");
}

#[test]
fn keys_are_made_once_and_needed_by_every_security() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    let keys = keys.to_str().unwrap();
    let made = tidegate(&["site", "messages", "--make-keys", keys]);
    assert!(made.status.success(), "{}", text(&made));
    let again = tidegate(&["site", "messages", "--make-keys", keys]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again).contains("give another folder"), "{}", text(&again));
    let client = format!("{keys}/client.json");
    for (arguments, expected) in [
        (vec!["--security", "jose"], "needs --keys FILE"),
        (vec!["--security", "xml"], "needs --keys FILE"),
        (vec!["--security", "saml"], "none, jose, cose, http-signatures, xml"),
        (vec!["--security", "cose", "--keys", &client], "are keys of the client"),
        (vec!["--tls", "1.1"], "must be 1.2, 1.3 or both"),
    ] {
        let output = tidegate(&[["site", "messages"].as_slice(), &arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(expected), "{}", text(&output));
    }
}
