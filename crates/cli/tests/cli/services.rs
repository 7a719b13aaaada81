//! Servers that are not ours, alone and behind the gate: Tomcat and Node, walked by customers of
//! the scenarios that ship. They are skipped where `scripts/bootstrap study` and
//! `scripts/services` have not run: `make test` needs no Java.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::{Running, curl, gate};
use tidegate_host::Cores;
use tidegate_lab::services::{
    MessagesKeys, Node, NodeSetup, Services, Tomcat, TomcatSetup, messages_client,
};
use tidegate_load::Stop;

/// A running server with the URLs of its own TLS and of plain HTTP.
struct Server<S> {
    _running: S,
    secure: String,
    clear: String,
    _folder: tempfile::TempDir,
}

/// What the operator must install is a reason to skip; anything else is a failure.
fn unless_missing<T>(result: tidegate_lab::Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error @ tidegate_lab::Error::Operator(_)) => {
            // Past the capture of the test harness, which hides what a passing test prints.
            let line = format!("\nSKIPPED: {error}\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn cores() -> Cores {
    Cores::of_this_thread().unwrap()
}

fn tomcat() -> Option<Server<Tomcat>> {
    let war: PathBuf = unless_missing(Services::find().and_then(|it| it.war("auction")))?;
    let mut setup = TomcatSetup::new(&cores(), &war, "/healthz");
    setup.heap_mib = 256;
    setup.env = vec![("AUCTION_SCALE".into(), "0.002".into())];
    let folder = tempfile::tempdir().unwrap();
    let running = unless_missing(Tomcat::start(&setup, folder.path(), &Stop::default()))?;
    let (secure, clear) = (running.secure_url(), running.url());
    assert!(running.cpu_s().unwrap() > 0.0);
    Some(Server { _running: running, secure, clear, _folder: folder })
}

fn node() -> Option<Server<Node>> {
    let services = unless_missing(Services::find())?;
    let folder = tempfile::tempdir().unwrap();
    let setup = NodeSetup::new(&cores());
    let running = unless_missing(Node::start(&setup, &services, folder.path()))?;
    let (secure, clear) = (running.secure_url().unwrap(), running.url().unwrap());
    Some(Server { _running: running, secure, clear, _folder: folder })
}

/// Customers of a scenario, and what became of them.
fn walk(scenario: &str, target: &str) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("result.json");
    // Patience stays long: this test is about what is answered, not how soon.
    let output = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["load", scenario, "--target", target, "--insecure", "--customers", "200"])
        .args(["--rate", "6", "--sessions", "40", "--warm-up", "0s", "--duration", "90s"])
        .args(["--time-scale", "0.02", "--patience-scale", "100"])
        .arg("--json")
        .arg(&json)
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&json);
    let text = text.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    serde_json::from_str(&text).unwrap()
}

#[track_caller]
fn all_is_well(result: &serde_json::Value) {
    let count = |name: &str| {
        result["totals"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {result:#}"))
    };
    // A session ends when its customer has seen enough, however slow a cold virtual machine is.
    assert_eq!((count("completed"), count("cut_off")), (40, 0), "{result:#}");
    assert!(count("requests_ok") > 200, "{result:#}");
    assert_eq!((count("failed"), count("abandoned")), (0, 0), "{result:#}");
}

fn alone_and_behind_the_gate(scenario: &str, secure: &str, clear: &str) -> Running {
    all_is_well(&walk(scenario, secure));
    let gate = gate(clear, &[]);
    all_is_well(&walk(scenario, gate.address("gate")));
    gate
}

#[test]
fn customers_of_tomcat_find_their_way_alone_and_behind_the_gate() {
    let Some(server) = tomcat() else { return };
    let gate = alone_and_behind_the_gate("tomcat-auction", &server.secure, &server.clear);
    // The gate was told the address alone and has found the process that listens there.
    assert_eq!(gate.status()["upstream_note"], serde_json::Value::Null, "{:#}", gate.status());
}

#[test]
fn customers_of_node_find_their_way_alone_and_behind_the_gate() {
    let Some(server) = node() else { return };
    alone_and_behind_the_gate("node", &server.secure, &server.clear);
}

#[test]
fn the_messages_client_is_answered_in_the_clear_over_https_and_with_secured_messages() {
    let Some(services) = unless_missing(Services::find()) else { return };
    let Some(war) = unless_missing(services.war("messages")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let keys = MessagesKeys::make(&folder.path().join("keys")).unwrap();
    let mut setup = TomcatSetup::new(&cores(), &war, "/healthz");
    (setup.heap_mib, setup.env) = (256, vec![keys.env()]);
    let Some(tomcat) = unless_missing(Tomcat::start(&setup, folder.path(), &Stop::default()))
    else {
        return;
    };
    let client = |keys, url: String, arguments: &[&str]| {
        let mut command = messages_client(&services, keys, &[]).unwrap();
        command.args(["--url", &url, "--requests", "6", "--clients", "2", "--payload", "200"]);
        command.args(arguments).output().unwrap()
    };
    for (url, arguments) in [
        (tomcat.url() + "/small.jsp", ["--connection", "keep", "--security", "none"]),
        (tomcat.secure_url() + "/small.jsp", ["--connection", "keep", "--security", "none"]),
        (tomcat.secure_url() + "/small.jsp", ["--connection", "resumed", "--security", "none"]),
        (tomcat.secure_url() + "/small.jsp", ["--connection", "new", "--security", "none"]),
        (tomcat.url() + "/soap", ["--connection", "keep", "--security", "soap"]),
        (tomcat.url() + "/secure", ["--connection", "keep", "--security", "wss"]),
    ] {
        let output = client(Some(&keys), url, &arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let last = lines.pop().unwrap();
        assert!(last["cpu_us"].as_u64().unwrap() > 0, "{last}");
        assert_eq!(lines.len(), 6);
        for (index, line) in lines.iter().enumerate() {
            assert_eq!(line["request"], index + 1);
            assert!(line["us"].as_u64().unwrap() > 0, "{line}");
            assert!(line["bytes_out"].as_u64().unwrap() > 200, "{line}");
            assert!(line["bytes_in"].as_u64().unwrap() > 50, "{line}");
        }
    }
    // A client without a series takes one of each line, and keeps its connections between them.
    let mut command = messages_client(&services, Some(&keys), &[]).unwrap();
    command.args(["--url", &(tomcat.secure_url() + "/small.jsp")]);
    let mut kept = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let series = |requests, kind| {
        format!("--requests {requests} --clients 1 --payload 200 --connection {kind}\n")
    };
    let lines = series(3, "keep") + &series(2, "keep") + &series(1, "new") + "--requests none\n";
    kept.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = kept.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let out: Vec<Option<u64>> = lines.iter().map(|line| line["bytes_out"].as_u64()).collect();
    let [Some(first), Some(second), Some(third), None, fourth, _, None, Some(new), None] = out[..]
    else {
        panic!("{text}")
    };
    assert!(first > third && new > third, "a handshake is counted: {text}");
    assert_eq!((Some(third), second), (fourth, third), "the connection was kept: {text}");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("--requests none: must be a whole number"), "{error}");
    // What is too long is refused before it is read as XML.
    let long = folder.path().join("long.xml");
    std::fs::write(&long, vec![b'<'; (8 << 20) + 1]).unwrap();
    let data = format!("@{}", long.display());
    let status = ["--output", "/dev/null", "--write-out", "%{http_code}", "--data-binary", &data];
    let output = curl(&[&status[..], &[&(tomcat.url() + "/secure")]].concat());
    assert_eq!(output.stdout, b"413");
    // The server does not open what another client has sealed.
    let stranger = MessagesKeys::make(&folder.path().join("stranger")).unwrap();
    let arguments = ["--connection", "keep", "--security", "wss"];
    let output = client(Some(&stranger), tomcat.url() + "/secure", &arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("messages client:") && error.contains("is not accepted"), "{error}");
    let output = client(None, tomcat.url() + "/secure", &arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--security wss: needs keys"));
}
