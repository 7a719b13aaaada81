//! `tidegate agent` as its own process: on another network, as another user, killed, and wrong
//! on the command line.

use crate::common::{Running, Text, tidegate, wait_until};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use tidegate_lab::Network;

/// A folder with a secret that only its owner may read.
fn secret() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    std::fs::write(&path, [b'x'; 44]).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    (folder, path)
}

fn text(path: &std::path::Path) -> String {
    path.display().to_string()
}

/// A service of some HTTP at any port of `host`, Python's, in a process of its own; and its
/// address.
fn service(command: &mut Command, host: &str) -> (Ended, String) {
    command.args(["-u", "-m", "http.server", "--bind", host, "0"]).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut service = Ended(child.expect("python3 is installed"));
    let mut line = String::new();
    BufReader::new(service.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (_, rest) = line.split_once(" port ").expect("it says where it serves");
    let port = rest.split(' ').next().unwrap();
    (service, format!("{host}:{port}"))
}

/// A gate whose upstream's load an agent tells.
fn gate(folder: &TempDir, secret: &std::path::Path, upstream: &str, agent: &str) -> Running {
    let file = folder.path().join("gate.toml");
    let config = format!(
        "[upstream]\nurl = \"http://{upstream}\"\nload_from = \"agent://{agent}\"\n\
         agent_secret = {:?}\n",
        text(secret)
    );
    std::fs::write(&file, config).unwrap();
    let any = "127.0.0.1:0";
    let args = ["--listen", any, "--clear", any, "--admin", any];
    Running::tidegate(&[&["gate", "--config", &text(&file)], &args[..]].concat())
}

/// The processors of the upstream, as the gate sees them.
fn upstream_cpus(gate: &Running) -> Option<f64> {
    let status = gate.status();
    let resources = status["control"]["resources"].as_array()?.clone();
    let upstream = resources.iter().find(|resource| resource["resource"] == "upstream")?;
    upstream["used_cpus"].as_f64()?;
    upstream["capacity_cpus"].as_f64()
}

fn note(gate: &Running) -> String {
    gate.status()["upstream_note"].as_str().unwrap_or_default().to_owned()
}

/// Ends a process when dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_agent_on_another_network_tells_the_load_of_the_service_there() {
    let Some(network) = Network::unless_refused(&["service"]) else { return };
    let (folder, secret) = secret();
    let listen = network.socket("service", 9444).unwrap();
    let mut python = network.command("service", "python3").unwrap();
    let (_service, address) = service(&mut python, &listen.ip().to_string());
    let (port, listen) = (address.rsplit_once(':').unwrap().1, listen.to_string());
    let mut agent = network.command("service", env!("CARGO_BIN_EXE_tidegate")).unwrap();
    agent.args(["agent", "--listen", &listen, "--secret", &text(&secret), "--port", port]);
    let agent = Running::announced(&mut agent, Stdio::inherit()).unwrap();
    assert_eq!(agent.address("agent"), format!("udp://{listen}"));
    let gate = gate(&folder, &secret, &address, &listen);
    wait_until("the service is in view", || upstream_cpus(&gate).is_some());
    assert_eq!(note(&gate), "");
}

#[test]
fn an_agent_that_is_killed_is_missed_and_one_that_is_started_again_is_used() {
    let (folder, secret) = secret();
    let (_service, address) = service(&mut Command::new("python3"), "127.0.0.1");
    let port = address.rsplit_once(':').unwrap().1.to_owned();
    let start = |listen: &str| {
        Running::tidegate(&[
            "agent",
            "--listen",
            listen,
            "--secret",
            &text(&secret),
            "--port",
            &port,
        ])
    };
    let first = start("127.0.0.1:0");
    let listen = first.address("agent").strip_prefix("udp://").unwrap().to_owned();
    let gate = gate(&folder, &secret, &address, &listen);
    wait_until("the service is in view", || upstream_cpus(&gate).is_some());
    first.kill();
    wait_until("the agent is missed", || note(&gate).contains(&format!("the agent {listen}")));
    assert_eq!(upstream_cpus(&gate), None);
    assert_eq!(gate.metric("tidegate_upstream_cpu_known"), 0.0);
    let again = start(&listen);
    wait_until("the service is in view again", || upstream_cpus(&gate).is_some());
    assert_eq!((note(&gate).as_str(), gate.metric("tidegate_upstream_cpu_known")), ("", 1.0));
    assert_eq!(again.end(), Some(0));
}

#[test]
fn a_gate_of_another_user_sees_nothing_and_says_that_an_agent_helps() {
    let Some(nobody) = as_nobody() else { return };
    let (_folder, secret) = secret();
    let (_service, address) = service(&mut Command::new("python3"), "127.0.0.1");
    let port = address.rsplit_once(':').unwrap().1.to_owned();
    let any = "127.0.0.1:0";
    let url = format!("http://{address}");
    let mut gate = nobody();
    gate.args(["gate", "--upstream", &url, "--listen", any, "--admin", any]);
    let gate = Running::announced(&mut gate, Stdio::inherit()).unwrap();
    wait_until("it says so", || note(&gate).contains("run tidegate agent as that user"));

    // The agent of the service's user tells it.
    let secret = text(&secret);
    let agent = ["agent", "--listen", any, "--secret", &secret, "--port", &port];
    let agent = Running::tidegate(&agent);
    let listen = agent.address("agent").strip_prefix("udp://").unwrap();
    // A folder and a secret of that other user.
    let own = tempfile::tempdir().unwrap();
    std::fs::set_permissions(own.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (config, key) = (own.path().join("gate.toml"), own.path().join("secret"));
    std::fs::copy(&secret, &key).unwrap();
    std::os::unix::fs::chown(&key, Some(NOBODY), Some(NOBODY)).unwrap();
    let lines = format!(
        "[upstream]\nurl = \"{url}\"\nload_from = \"agent://{listen}\"\nagent_secret = \"secret\"\n"
    );
    std::fs::write(&config, lines).unwrap();
    let mut gate = nobody();
    gate.args(["gate", "--config", &text(&config), "--listen", any, "--admin", any]);
    let gate = Running::announced(&mut gate, Stdio::inherit()).unwrap();
    wait_until("the service is in view", || upstream_cpus(&gate).is_some());
}

/// The number of the user `nobody` on Debian and Ubuntu.
const NOBODY: u32 = 65_534;

/// Commands of this binary as another user; `None`, said aloud, where this one may not do that.
fn as_nobody() -> Option<impl Fn() -> Command> {
    let user = NOBODY.to_string();
    let command = move || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
        command.arg(env!("CARGO_BIN_EXE_tidegate"));
        command
    };
    let may = command().arg("--version").output().is_ok_and(|output| output.status.success());
    if !may {
        eprintln!("SKIPPED: another user needs root, setpriv and a binary that others may read");
    }
    may.then_some(command)
}

#[test]
fn what_is_wrong_on_the_command_line_is_told_with_a_remedy() {
    let (folder, secret) = secret();
    let short = folder.path().join("short");
    std::fs::write(&short, "hunter2").unwrap();
    std::fs::set_permissions(&short, std::fs::Permissions::from_mode(0o600)).unwrap();
    let (secret, short) = (text(&secret), text(&short));
    for (args, message) in [
        (&["--secret", &*secret][..], "--port"),
        (&["--secret", &secret, "--port", "80", "--machine"], "cannot be used with"),
        (&["--secret", &short, "--port", "80"], "has a secret of 7 bytes, and 32 are needed"),
        (&["--secret", "/no/file", "--port", "80"], "--secret /no/file: cannot be read"),
        (
            &["--secret", &secret, "--port", "80", "--listen", "192.0.2.1:1"],
            "--listen 192.0.2.1:1: ",
        ),
    ] {
        let output = tidegate(&[&["agent"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stderr_text().contains(message), "{args:?}: {}", output.stderr_text());
    }
}
