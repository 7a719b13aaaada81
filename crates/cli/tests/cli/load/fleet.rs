//! One test of a fleet: `load --fleet` and `load-agent` as processes, with a real NATS server.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use tidegate_fleet::{Access, Connection, Opener, Sealer, Secret, read_server, unix_now};
use tidegate_lab::Network;
use tidegate_lab::services::Nats;
use tidegate_load::fleet::agent::Agent;
use tidegate_load::fleet::clock::Now;

use crate::common::upstream::Upstream;
use crate::common::{ENDLESS, PATIENCE, Text, wait_until};

/// On a machine that is short of time, nobody is lost who was not killed.
const SILENCE: &str = "20s";

/// Thirty customers in random order of arrival, each with a row of a file.
const THIRTY: &str = r#"
name = "thirty"
[session]
steps = ["Home", "Home"]
think = "20ms"
patience = "60s"
[arrivals]
segments = [{ for = "3s", rate = 10 }, { for = "1s", rate = 0 }]
[feeders.users]
file = "users.csv"
[pages.Home]
path = "/{name}?at={session}"
check = { status = [200], contains = "hello" }
[thresholds]
completed_ratio = { min = 1 }
"#;

/// A NATS server, a target, and a folder with the files of a test.
struct Fleet {
    nats: Nats,
    /// Where sides meet, if not there.
    elsewhere: Option<String>,
    server: Upstream,
    folder: tempfile::TempDir,
    silence: &'static str,
}

impl Fleet {
    /// None where there is no NATS server.
    fn start(scenario: &str) -> Option<Self> {
        let nats = Nats::start()?;
        let (server, folder) = (Upstream::start(), tempfile::tempdir().unwrap());
        let fleet = Self { nats, elsewhere: None, server, folder, silence: SILENCE };
        let users = (0..40).map(|row| format!("user-{row}\n")).collect::<String>();
        for (name, text) in [
            ("scenario.toml", scenario),
            ("users.csv", &format!("name\n{users}")),
            ("secret", "a secret of thirty-two bytes, or more"),
        ] {
            std::fs::write(fleet.path(name), text).unwrap();
        }
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(fleet.path("secret"), private).unwrap();
        Some(fleet)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn target(&self) -> &str {
        self.server.url.strip_prefix("http://").unwrap()
    }

    fn url(&self) -> String {
        self.elsewhere.clone().unwrap_or_else(|| self.nats.url())
    }

    /// An agent that waits in a folder without any file of the test.
    fn agent(&self, name: &str, more: &[&str]) -> Running {
        self.agent_by(Command::new(env!("CARGO_BIN_EXE_tidegate")), name, more)
    }

    fn agent_by(&self, mut command: Command, name: &str, more: &[&str]) -> Running {
        let folder = self.path(name);
        std::fs::create_dir(&folder).unwrap();
        let secret = self.path("secret");
        command.current_dir(folder).args(["load-agent", "--nats", &self.url(), "--name", name]);
        let agent = Running::new(
            command.arg("--secret").arg(secret).args(["--silence", self.silence]).args(more),
        );
        agent.until("waits for tests at");
        agent
    }

    fn agents(&self, names: &[&str]) -> Vec<Running> {
        names.iter().map(|name| self.agent(name, &["--allow", self.target()])).collect()
    }

    /// A load of the scenario in the test's folder.
    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.current_dir(self.folder.path()).args(["load", "scenario.toml", "--plain"]);
        command.args(["--target", &self.server.url, "--warm-up", "0"]).args(more);
        command
    }

    fn coordinator(&self, more: &[&str]) -> Command {
        let nats = self.url();
        let fleet = ["--fleet", &nats, "--secret", "secret", "--silence", self.silence];
        self.command(&[&fleet[..], more].concat())
    }

    fn load(&self, more: &[&str]) -> Output {
        self.coordinator(more).stdin(Stdio::null()).output().unwrap()
    }

    /// Whether no request comes for half a second.
    fn is_quiet(&self) -> bool {
        let before = self.server.requests().len();
        std::thread::sleep(Duration::from_millis(500));
        self.server.requests().len() == before
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.path(name)).unwrap()).unwrap()
    }

    /// A test of an hour that both agents measure.
    fn begun(&self) -> Running {
        let run =
            Running::new(&mut self.coordinator(&["--duration", "1h", "--json", "result.json"]));
        run.until(" s measure ");
        run.until(" s measure ");
        run
    }
}

/// A process whose lines are read as they come. It is killed when this is dropped.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    fn new(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let streams: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for stream in streams {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(stream).lines().map_while(Result::ok);
                lines.for_each(|line| drop(sender.send(line)));
            });
        }
        Self { child, lines }
    }

    /// Waits for a line with these words; returns everything up to it.
    fn until(&self, words: &str) -> String {
        let mut text = String::new();
        while !text.contains(words) {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => text += &(line + "\n"),
                Err(_) => panic!("no line with {words:?} after {text}"),
            }
        }
        text
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the process is a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as libc::pid_t, signal) }, 0);
    }

    /// Waits for its end; what it still wrote, and its exit code.
    fn end(mut self) -> (String, Option<i32>) {
        let code = self.child.wait().unwrap().code();
        (self.lines.iter().map(|line| line + "\n").collect(), code)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// It is complete. A machine that is short of time starts customers late, and says so.
fn assert_sound(output: &Output) {
    let (code, stderr) = (output.status.code(), output.stderr_text());
    let sound = code == Some(0) || (code == Some(3) && stderr.contains("WAS SATURATED"));
    assert!(sound, "{}{stderr}", output.stdout_text());
}

#[test]
fn three_agents_offer_what_one_process_would() {
    let Some(fleet) = Fleet::start(THIRTY) else { return };
    let alone = fleet.command(&["--json", "one.json"]).stdin(Stdio::null()).output().unwrap();
    assert_sound(&alone);
    // The number of the run is part of no path, so that both runs request the same.
    let requests = |skip| {
        let mut requests = fleet.server.requests().split_off(skip);
        requests.sort_unstable();
        requests
    };
    let one = requests(0);
    let _agents = fleet.agents(&["a", "b", "c"]);
    let output = fleet.load(&["--json", "all.json", "--report", "all.html", "--agents", "3"]);
    let text = output.stdout_text();
    assert_sound(&output);
    assert_eq!(requests(one.len()), one);
    let [one, all] = ["one.json", "all.json"].map(|name| fleet.json(name));
    for figure in ["offered", "completed", "requests_ok", "failed"] {
        assert_eq!(all["totals"][figure], one["totals"][figure], "{figure}");
    }
    assert_eq!((&all["seed"], &all["arrivals"]), (&one["seed"], &one["arrivals"]));
    assert_eq!(all["response"]["count"], all["totals"]["requests_ok"]);
    for (index, name) in ["a", "b", "c"].iter().enumerate() {
        let driver = &all["drivers"][index];
        assert_eq!(
            (driver["part"].as_str(), driver["agent"]["name"].as_str()),
            (Some(format!("{}/3", index + 1).as_str()), Some(*name))
        );
        // One machine has one clock.
        let clock = |of: &str| driver["agent"][of].as_f64().unwrap();
        assert!(clock("clock_ahead_ms").abs() <= clock("clock_error_ms"), "{driver}");
        assert!(text.contains(&format!("agent {name}: clock")), "{text}");
        assert!(text.contains(&format!("  {name}: offered")), "{text}");
    }
    let page = std::fs::read_to_string(fleet.path("all.html")).unwrap();
    assert!(page.contains("3/3 by c, clock"));
}

#[test]
fn a_killed_agent_is_told_and_the_others_go_on_to_an_incomplete_result() {
    let Some(fleet) = Fleet::start(ENDLESS) else { return };
    let mut agents = fleet.agents(&["a", "b"]);
    let run = fleet.begun();
    agents.remove(1).child.kill().unwrap();
    run.until("driver 2 on b was not heard for 20 s");
    run.until("  b: has ended");
    run.signal(libc::SIGINT);
    let (text, code) = run.end();
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("INCOMPLETE: driver 2 of 2 on b was not heard for 20 s"), "{text}");
    let result = fleet.json("result.json");
    assert!(result["totals"]["requests_ok"].as_u64().unwrap() > 0);
    assert_eq!(result["drivers"].as_array().unwrap().len(), 1);
}

/// The host of the third driver loses its way to NATS, not that to the target.
#[test]
fn of_drivers_on_three_hosts_one_that_is_cut_off_ends_its_load_and_the_others_go_on() {
    let drivers = ["driver-1", "driver-2", "driver-3"];
    let hosts = [&["nats"], &drivers[..]].concat();
    let Some(network) = Network::unless_refused(&hosts) else { return };
    let Some(mut fleet) = Fleet::start(ENDLESS) else { return };
    let nats = network.socket("nats", 4222).unwrap();
    let mut server = network.command("nats", fleet.nats.program()).unwrap();
    server.args(["--addr", &nats.ip().to_string(), "--port", "4222"]);
    // Its log tells when it listens.
    let server = Running::new(&mut server);
    server.until("Server is ready");
    (fleet.elsewhere, fleet.silence) = (Some(format!("nats://{nats}")), "5s");
    fleet.server = Upstream::on(TcpListener::bind((network.here(), 0)).unwrap());
    let allow = ["--allow", fleet.target()];
    let agents = drivers.map(|driver| {
        let command = network.command(driver, env!("CARGO_BIN_EXE_tidegate")).unwrap();
        fleet.agent_by(command, driver, &allow)
    });
    let run = fleet.begun();
    network.cut(&["driver-3"], &["nats"]).unwrap();
    agents[2].until("the load is ended: has not heard the coordinator for 5 s");
    run.until("driver 3 on driver-3 was not heard for 5 s");
    run.signal(libc::SIGINT);
    let (text, code) = run.end();
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("INCOMPLETE: driver 3 of 3 on driver-3 was not heard"), "{text}");
    assert_eq!(fleet.json("result.json")["drivers"].as_array().unwrap().len(), 2);
    // The network is whole again, and all three take the next test.
    network.heal(&["driver-3"], &["nats"]).unwrap();
    let again = || fleet.load(&["--agents", "3", "--duration", "1s"]);
    wait_until("the third is back", || again().status.code() != Some(3));
}

#[test]
fn an_abort_ends_all_agents_with_a_valid_result_and_they_wait_again() {
    let Some(fleet) = Fleet::start(ENDLESS) else { return };
    let agents = fleet.agents(&["a", "b"]);
    for _ in 0..2 {
        let run = fleet.begun();
        run.signal(libc::SIGINT);
        let (text, code) = run.end();
        assert!(code == Some(0) || text.contains("SATURATED"), "{text}");
        agents.iter().for_each(|agent| drop(agent.until("the test is over")));
        let result = fleet.json("result.json");
        assert_eq!(
            (&result["interrupted"], result["drivers"].as_array().unwrap().len()),
            (&true.into(), 2)
        );
    }
}

#[test]
fn a_lost_coordinator_ends_the_load() {
    let Some(fleet) = Fleet::start(ENDLESS) else { return };
    let agents = fleet.agents(&["a", "b"]);
    let mut run = fleet.begun();
    run.child.kill().unwrap();
    for agent in &agents {
        agent.until("the load is ended: has not heard the coordinator for 20 s");
    }
    wait_until("no request comes", || fleet.is_quiet());
}

#[test]
fn without_nats_for_longer_than_the_silence_each_side_ends_the_test_and_tells_it() {
    let Some(mut fleet) = Fleet::start(ENDLESS) else { return };
    fleet.silence = "5s";
    let agents = fleet.agents(&["a", "b"]);
    let run = fleet.begun();
    fleet.nats.kill();
    for agent in &agents {
        agent.until("the load is ended: has not heard the coordinator for 5 s");
    }
    let (text, code) = run.end();
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("was not heard for 5 s"), "{text}");
    wait_until("no request comes", || fleet.is_quiet());
    // Back again, both wait for the next test.
    fleet.nats.run();
    let run = fleet.begun();
    run.signal(libc::SIGINT);
    let (text, code) = run.end();
    assert!(code == Some(0) || text.contains("SATURATED"), "{text}");
}

#[test]
fn a_test_starts_on_all_agents_or_on_none() {
    let Some(fleet) = Fleet::start(ENDLESS) else { return };
    let _agents = fleet.agents(&["a"]);
    let _other = fleet.agent("b", &["--allow", "192.0.2.1:443", "--allow", "localhost:1"]);
    let output = fleet.load(&[]);
    let stderr = output.stderr_text();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("driver 2 on b: target:") && stderr.contains("may not be loaded"),
        "{stderr}"
    );
    assert!(fleet.server.requests().is_empty());
    let output = fleet.load(&["--agents", "3"]);
    assert!(
        output.stderr_text().contains("3 agents are wanted and 2 wait"),
        "{}",
        output.stderr_text()
    );
}

/// An agent that says it is of another version, until the process ends.
fn of_another_version(fleet: &Fleet, name: &'static str) {
    let secret = Secret::read(&fleet.path("secret"), "tidegate").unwrap();
    let access = Access::new(vec![read_server(&fleet.nats.url()).unwrap()]);
    let (ready, is_ready) = channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let connection = Connection::connect(&access, "tidegate", name).await.unwrap();
            let mut calls = connection.subscribe("tidegate.tidegate.load.call", 9).await.unwrap();
            while !connection.connected() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            ready.send(()).unwrap();
            let sealer = Sealer::new(&secret, name, unix_now()).unwrap();
            let (mut opener, mut agent) =
                (Opener::new(secret), Agent::new("0.0.1", Duration::from_secs(60)));
            loop {
                let call = calls.next().await;
                let call = opener.open::<String>(&call.subject, &call.payload, unix_now()).unwrap();
                let wall_ns = unix_now().as_nanos() as u64;
                let now = Now { at: Duration::ZERO, wall_ns };
                let packet = BASE64_STANDARD.decode(call.content).unwrap();
                assert_eq!(agent.receive(&call.sender, &packet, now), None);
                for (to, packet) in agent.due(now) {
                    let subject = format!("tidegate.tidegate.load.coordinator.{to}");
                    let packet = BASE64_STANDARD.encode(packet);
                    let message = sealer.seal(&subject, &packet, unix_now()).unwrap();
                    connection.publish(&subject, message);
                }
            }
        });
    });
    is_ready.recv().unwrap();
}

#[test]
fn an_agent_of_another_version_is_named_and_can_be_left_out() {
    let Some(fleet) = Fleet::start(THIRTY) else { return };
    let _agents = fleet.agents(&["b"]);
    of_another_version(&fleet, "a");
    let output = fleet.load(&[]);
    let stderr = output.stderr_text();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("a runs tidegate 0.0.1 and this is"), "{stderr}");
    assert!(fleet.server.requests().is_empty());
    let output = fleet.load(&["--agents", "1"]);
    assert_sound(&output);
    assert!(output.stdout_text().contains("driver 1/1"), "{}", output.stdout_text());
}

#[test]
fn an_agent_keeps_its_own_limits_and_reads_only_files_of_the_test() {
    let Some(fleet) = Fleet::start(THIRTY) else { return };
    let short = ["--allow", fleet.target(), "--longest", "2s"];
    let agent = fleet.agent("a", &short);
    let output = fleet.load(&[]);
    let stderr = output.stderr_text();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("at most 2s is allowed here"), "{stderr}");
    drop(agent);
    let output = fleet.load(&[]);
    let stderr = output.stderr_text();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("no agent answers; start `tidegate load-agent`"), "{stderr}");
    let output = fleet.load(&["--raw", "raw.jsonl"]);
    assert!(output.stderr_text().contains("cannot be used with"), "{}", output.stderr_text());
    assert!(fleet.server.requests().is_empty());
}
