//! `tidegate site messages` and `tidegate study messages` over real processes. Nothing here
//! depends on how fast anything is.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn tidegate(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8([output.stdout.clone(), output.stderr.clone()].concat()).unwrap()
}

#[test]
fn a_tiny_study_measures_every_configuration_of_our_own_service() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let arguments = ["study", "messages", "--without-java", "--requests", "20", "--rounds", "2"];
    let output = tidegate(&[&arguments, ["--out", out].as_slice()].concat());
    assert!(output.status.success(), "{}", text(&output));
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name)).unwrap();
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
    let lines = read("requests.csv").lines().count();
    // Per round: the long series and that of two clients; connections; five payloads.
    let each = 20 + 20 + 20 * 2 + 20 * 5;
    assert_eq!(lines, 1 + 2 * (6 * each + 20), "the sessions of one are resumed as well");
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
