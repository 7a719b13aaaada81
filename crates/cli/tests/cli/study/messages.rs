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

/// The complete measurements of a folder with their contents, by name.
fn complete(out: &Path) -> Vec<(String, Vec<u8>)> {
    let files = std::fs::read_dir(out.join("runs")).into_iter().flatten().flatten();
    let complete = files.filter(|file| file.path().extension().is_some_and(|it| it == "json"));
    let mut read: Vec<_> = complete
        .map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap()))
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
    let expected = format!("stopped; {} of 12 measurements are kept in", kept.len());
    assert!(message.contains(&expected), "{message}");
    assert!(
        message.contains("--resume continues there") && message.contains(" left)"),
        "{message}"
    );
    assert!(!out.join("summary.json").exists() && !out.join("report.html").exists());

    let again = tidegate(&arguments);
    assert_eq!(again.status.code(), Some(2), "{}", text(&again));
    assert!(text(&again).contains("--resume continues it"), "{}", text(&again));
    let other = tidegate(&[arguments.as_slice(), &["--resume", "--seed", "2"]].concat());
    assert_eq!(other.status.code(), Some(2), "{}", text(&other));
    let differs = "was begun with --seed 1 (here --seed 2); give the same flags, or another --out";
    assert!(text(&other).contains(differs), "{}", text(&other));
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
    let names: Vec<String> = rows("key_numbers")
        .iter()
        .map(|row| row["configuration"].as_str().unwrap().to_owned())
        .collect();
    let expected =
        ["rust-clear", "rust-https", "rust-jose", "rust-cose", "rust-http-signatures", "rust-xml"];
    assert_eq!(names, expected);
    for row in rows("key_numbers") {
        for column in ["ready_s", "first_request_ms", "average_ms", "overall_per_s"] {
            assert!(row[column].as_f64().unwrap() > 0.0, "{column}: {row:#}");
        }
    }
    assert_eq!(rows("first_requests").len(), 6 * 17);
    assert_eq!(rows("sizes").len(), 6 * 5);
    bytes_are_those_of_the_wire(&rows("sizes"), &rows("connections"));
    let java = |claim: &&Value| claim["id"].as_str().unwrap().contains("jsp");
    let claims = summary["claims"].as_array().unwrap();
    assert!(claims.iter().filter(java).all(|claim| claim["verdict"] == "undecided"));
    let page = read("report.html");
    assert!(page.contains("left out") && page.contains("<svg"), "the page says what is missing");
    // Per round: the long series and that of two clients; connections; five payloads.
    let each = 20 + 20 + 20 * 2 + 20 * 5;
    let every = 2 * (6 * each + 20);
    assert_eq!(rows_of(folder, "requests.parquet"), every, "one's sessions are resumed as well");
    assert_eq!(rows_of(folder, "results.parquet"), 2 * 6);
}

/// The rows of a table.
fn rows_of(folder: &Path, name: &str) -> i64 {
    let file = folder.join("out").join(name);
    let reader = SerializedFileReader::try_from(file.as_path()).unwrap();
    reader.metadata().file_metadata().num_rows()
}

/// What is counted contains the payload, and a full handshake is more than a resumed one.
fn bytes_are_those_of_the_wire(sizes: &[Value], connections: &[Value]) {
    for row in sizes {
        let payload = row["payload_bytes"].as_f64().unwrap();
        assert!(row["bytes_out"].as_f64().unwrap() > payload, "{row:#}");
    }
    let received = |connection: &str| {
        let found = connections
            .iter()
            .find(|row| row["configuration"] == "rust-https" && row["connection"] == connection);
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
