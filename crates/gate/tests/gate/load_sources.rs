//! Upstreams whose load others tell: an agent, a page of node_exporter, the upstream itself.

use crate::common::plain::{clear_gate, connect_plain};
use crate::common::*;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tempfile::TempDir;
use tidegate_agent::{Agent, Sampler, Secret};
use tidegate_control::{Resource, ResourceName};
use tidegate_gate::Gate;
use tidegate_host::service::Target;

/// A service: a process that works until it is dropped.
struct Busy(Child);

impl Busy {
    fn start() -> Self {
        Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An agent in a thread.
struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    fn start(address: &str, secret: &Path, target: Target) -> Self {
        let agent = Agent::bind(address, Secret::read(secret).unwrap()).unwrap();
        let (address, stop) = (agent.address().unwrap(), Arc::new(AtomicBool::new(false)));
        let stopped = stop.clone();
        let serve = move || {
            agent.serve(Sampler::new(target), &stopped).unwrap();
        };
        Self { address, stop, thread: Some(std::thread::spawn(serve)) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

/// A file with a secret.
fn secret(folder: &TempDir, name: &str, byte: u8) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, [byte; 40]).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

fn gate_from(load_from: &str, more: &str) -> Gate {
    let lines = format!("url = \"http://{}\"\nload_from = \"{load_from}\"\n{more}", hello());
    gate_of(&lines, "", |_| {})
}

fn resource(gate: &Gate, name: ResourceName) -> Option<Resource> {
    let control = gate.snapshot().control?;
    control.resources.into_iter().find(|resource| resource.resource == name)
}

/// The upstream's processors once some of them are known to be used.
fn used(gate: &Gate) -> Option<Resource> {
    resource(gate, ResourceName::Upstream).filter(|it| it.used_cpus.is_some_and(|used| used > 0.05))
}

fn note(gate: &Gate) -> String {
    gate.snapshot().upstream_note.unwrap_or_default()
}

#[test]
fn an_agent_tells_capacity_and_use_and_its_silence_is_reported_until_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let secret = secret(&folder, "secret", 7);
    let busy = Busy::start();
    let target = Target::Processes(vec![busy.0.id()]);
    let agent = Running::start("127.0.0.1:0", &secret, target.clone());
    let address = agent.address.to_string();
    let key = format!("agent_secret = {:?}", secret.display().to_string());
    let gate = gate_from(&format!("agent://{address}"), &key);
    until("the agent's readings are used", || used(&gate).is_some());
    let cpus = used(&gate).unwrap().capacity_cpus;
    assert!(cpus >= 0.01, "{cpus}");
    // It is on the gate's own processors, and counts with the gate.
    assert!(resource(&gate, ResourceName::Host).is_some());
    assert_eq!(note(&gate), "");
    let known =
        |gate: &Gate| gate.snapshot().prometheus().contains("tidegate_upstream_cpu_known 1");
    assert!(known(&gate));

    drop(agent);
    until("its silence is reported", || note(&gate).contains("start tidegate agent there"));
    assert!(resource(&gate, ResourceName::Upstream).is_none() && !known(&gate));

    let agent = Running::start(&address, &secret, target);
    until("the agent is back", || used(&gate).is_some() && note(&gate).is_empty());
    drop(busy);
    until("its blindness is reported", || note(&gate).contains("cannot see the service"));
    drop(agent);
}

#[test]
fn an_agent_with_another_secret_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let (own, other) = (secret(&folder, "own", 7), secret(&folder, "other", 8));
    let agent = Running::start("127.0.0.1:0", &other, Target::Processes(vec![std::process::id()]));
    let key = format!("agent_secret = {:?}", own.display().to_string());
    let gate = gate_from(&format!("agent://{}", agent.address), &key);
    until("it is reported", || note(&gate).contains("whether it has the same secret"));
    assert!(resource(&gate, ResourceName::Upstream).is_none());
}

#[test]
fn a_page_of_node_exporter_tells_the_load_of_a_whole_machine() {
    let (seconds, is_broken) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (clock, broken) = (seconds.clone(), is_broken.clone());
    let page = answering(move |got| {
        assert!(got.line.starts_with("GET /metrics "), "{}", got.line);
        if broken.load(Ordering::Relaxed) {
            return ok("node_load1 0.3\n");
        }
        // Of four processors one works.
        let at = clock.fetch_add(1, Ordering::Relaxed) as f64;
        let mut body = format!("node_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} {at}\n");
        for cpu in 0..4 {
            body += &format!("node_cpu_seconds_total{{cpu=\"{cpu}\",mode=\"idle\"}} {at}\n");
        }
        ok(&body)
    });
    let gate = gate_from(&format!("http://{page}"), "");
    until("the page is used", || used(&gate).is_some());
    assert_eq!(used(&gate).unwrap().capacity_cpus, 4.0);
    assert!(resource(&gate, ResourceName::Host).is_none(), "it is another machine");
    is_broken.store(true, Ordering::Relaxed);
    until("the broken page is reported", || note(&gate).contains("no node_cpu_seconds_total"));
    assert!(resource(&gate, ResourceName::Upstream).is_none());
}

/// An upstream that tells its load in each response.
fn reporting(value: &'static str) -> SocketAddr {
    answering(move |_| {
        format!("HTTP/1.1 200 OK\r\nEndpoint-Load-Metrics: {value}\r\nContent-Length: 2\r\n\r\nhi")
    })
}

#[test]
fn an_upstream_tells_its_load_in_responses_and_customers_do_not_receive_that() {
    let upstream = reporting("TEXT cpu_utilization=0.5,rps_fractional=9");
    let gate = clear_gate(upstream, "load_from = \"orca\"\ncpus = 8\n");
    let mut connection = connect_plain(&gate);
    // Half of eight. The report and the tick read the clock one after the other.
    until("reports are used", || {
        let response = get(&mut connection, "/").unwrap();
        assert_eq!(response.text(), "hi");
        assert!(!response.head.to_lowercase().contains("endpoint-load-metrics"));
        used(&gate).is_some_and(|it| (it.used_cpus.unwrap() - 4.0).abs() < 0.1)
    });
    assert_eq!(used(&gate).unwrap().capacity_cpus, 8.0);
}

#[test]
fn responses_without_reports_are_reported_and_reports_that_nobody_asked_for_pass() {
    let gate = clear_gate(hello(), "load_from = \"orca\"\ncpus = 8\n");
    let mut connection = connect_plain(&gate);
    until("their absence is reported", || {
        get(&mut connection, "/").unwrap();
        note(&gate).contains("carry no endpoint-load-metrics")
    });
    let gate = clear_gate(reporting("TEXT cpu_utilization=0.5"), "");
    let response = get(&mut connect_plain(&gate), "/").unwrap();
    assert!(response.head.to_lowercase().contains("endpoint-load-metrics: text cpu_"));
}

#[test]
fn what_is_wrong_with_the_sources_is_told_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let open = secret(&folder, "open", 7);
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mut file = std::fs::File::create(folder.path().join("short")).unwrap();
    file.write_all(b"hunter2").unwrap();
    file.set_permissions(std::fs::Permissions::from_mode(0o600)).unwrap();
    let name = folder.path().join("test.toml").display().to_string();
    for (lines, mistake) in [
        ("load_from = \"agent://h\"", "must be set where load_from names an agent"),
        ("agent_secret = \"open\"", "has no effect without an agent"),
        (
            "load_from = \"agent://h\"\nagent_secret = \"open\"",
            "can be used by others (mode 0644); chmod 600",
        ),
        (
            "load_from = \"agent://h\"\nagent_secret = \"short\"",
            "has a secret of 7 bytes, and 32 are needed",
        ),
        ("load_from = \"orca\"", "must be set where load_from is orca; add cpus = 8"),
        ("cpus = 8", "has no effect without load_from"),
        ("load_from = \"http://h/m\"\nprocesses = [1]", "upstream.processes"),
        ("load_from = [\"agent://h\", \"agent://h:9444\"]", "occurs twice"),
        ("load_from = [\"orca\", \"agent://h\"]", "stands alone"),
        ("load_from = \"h:9444\"", "try \"agent://h:9444\""),
    ] {
        let text = format!("[upstream]\nurl = \"http://127.0.0.1:9\"\n{lines}\n");
        let mistakes = tidegate_gate::config::Config::from_toml(&text, &name).unwrap_err();
        assert!(mistakes.to_string().contains(mistake), "{lines}: {mistakes}");
    }
}
