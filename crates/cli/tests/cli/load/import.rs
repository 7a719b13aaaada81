//! `tidegate load import`.

use serde_json::json;

use crate::common::upstream::Upstream;
use crate::common::{Text, tidegate};

#[test]
fn a_recording_becomes_a_file_that_is_valid_and_runs() {
    let upstream = Upstream::start();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (har, toml) = (path("visit.har"), path("visit.toml"));
    let entry = |second: u32, method: &str, url: &str| {
        json!({ "startedDateTime": format!("2024-05-01T12:00:0{second}Z"), "time": 5,
                "_resourceType": "document", "request": { "method": method, "url": url },
                "response": { "status": 200, "content": { "mimeType": "text/html" } } })
    };
    let own = |path: &str| format!("{}{path}", upstream.url);
    let entries = [
        entry(0, "GET", &own("/")),
        entry(1, "GET", "https://ads.test/x"),
        json!({ "startedDateTime": "2024-05-01T12:00:00.1Z", "_resourceType": "image",
                "request": { "method": "GET", "url": own("/logo.png") }, "response": { "status": 200 } }),
        entry(2, "POST", &own("/order")),
        json!({ "startedDateTime": 1 }),
    ];
    std::fs::write(&har, json!({ "log": { "entries": entries } }).to_string()).unwrap();

    let output = tidegate(&["load", "import", &har, "--out", &toml]);
    let told = output.stderr_text();
    assert_eq!(output.status.code(), Some(0), "{told}");
    for line in [
        format!("{har}: left out: entry 4 is malformed: "),
        format!("{har}: left out: 1 request to other origins (https://ads.test 1)\n"),
        format!("{toml}: sessions of 2 requests; assets of their pages: 1\n"),
        format!("run it with: tidegate load {toml} --target {}\n", upstream.url),
    ] {
        assert!(told.contains(&line), "{line}\n{told}");
    }
    let output = tidegate(&["check", &toml]);
    let valid = "a valid scenario; sessions of 2.0 requests on average\n";
    assert_eq!(output.stdout_text(), format!("{toml}: {valid}"), "{}", output.stderr_text());
    let flags = ["--target", &upstream.url, "--rate", "50", "-n", "2", "--time-scale", "0.01"];
    let output = tidegate(&[&["load", &toml, "--plain"][..], &flags].concat());
    assert_eq!(output.status.code(), Some(0), "{}{}", output.stdout_text(), output.stderr_text());
    let requests = upstream.requests();
    let count = |line: &str| requests.iter().filter(|known| *known == line).count();
    assert_eq!((count("GET / HTTP/1.1"), count("POST /order HTTP/1.1")), (2, 2), "{requests:?}");
    assert_eq!(count("GET /logo.png HTTP/1.1"), 2, "{requests:?}");

    let output = tidegate(&["load", "import", &har]);
    let written = std::fs::read_to_string(&toml).unwrap();
    assert_eq!(output.stdout_text(), written, "without --out it is printed");
}

#[test]
fn what_cannot_be_imported_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.har").display().to_string();
    std::fs::write(&file, "{\"log\": 1}").unwrap();
    for (args, why) in [
        (vec![file.as_str()], "is no HAR: invalid type"),
        (vec!["/nowhere.har"], "/nowhere.har: cannot be read: "),
        (vec![file.as_str(), "--out", file.as_str()], "would overwrite the recording"),
    ] {
        let output = tidegate(&[&["load", "import"][..], &args].concat());
        let told = output.stderr_text();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(why), "{told}");
    }
}
