//! A server that is not ours under overload, alone and behind the gate:
//!
//!     cargo run --release -p tidegate-lab --example others -- tomcat target/release/tidegate out/tomcat
//!     cargo run --release -p tidegate-lab --example others -- node target/release/tidegate out/node
//!
//! One processor has the server and the gate, another the customers. After the server's start its
//! warm-up is measured step by step; then server and gate are limited to a part of their processor,
//! and windows follow at multiples of the capacity, alone and behind the gate in random turns. docs/studies/tomcat.md reads the result.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tidegate_host::Cores;
use tidegate_lab::services::{Node, NodeSetup, Services, Tomcat, TomcatSetup};
use tidegate_lab::turns::Order;
use tidegate_lab::{Launch, Quota, Service, apart};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Factor of all times of customers, server and gate: customers think 0.35 s instead of 7 s and
/// wait 0.5 s instead of 10 s.
const TIME_SCALE: f64 = 0.05;
const TIMEOUT: Duration = Duration::from_millis(500);
/// Multiples of the capacity.
const LOADS: [f64; 4] = [0.8, 1.0, 2.0, 4.0];
const ROUNDS: u32 = 3;
/// Times of a window, as flags.
const WINDOW: [&str; 2] = ["3s", "9s"];
/// Sessions per second when the warm-up begins.
const GENTLE_PER_S: f64 = 5.0;
/// Steps of the warm-up at most, 8 s each.
const STEPS: u32 = 20;
/// Share of a processor that server and gate have together, once warm: work of others on this
/// machine then takes nothing from them.
const SHARE: f64 = 0.3;

/// Whichever runs.
enum Server {
    Tomcat(Tomcat),
    Node(Node),
}

impl Server {
    fn cpu_s(&self) -> tidegate_lab::Result<f64> {
        match self {
            Self::Tomcat(tomcat) => tomcat.cpu_s(),
            Self::Node(node) => node.cpu_s(),
        }
    }

    fn id(&self) -> u32 {
        match self {
            Self::Tomcat(tomcat) => tomcat.process().id(),
            Self::Node(node) => node.process().id(),
        }
    }

    fn urls(&self) -> tidegate_lab::Result<[String; 2]> {
        Ok(match self {
            Self::Tomcat(tomcat) => [tomcat.secure_url(), tomcat.url()],
            Self::Node(node) => [node.secure_url()?, node.url()?],
        })
    }
}

struct Bench {
    tidegate: PathBuf,
    scenario: PathBuf,
    out: PathBuf,
    driver: Cores,
}

/// What a window showed.
#[derive(Clone, Copy, Debug)]
struct Window {
    offered: f64,
    completed: f64,
    requests: f64,
    p95_ms: f64,
    full: f64,
}

impl Bench {
    /// Customers before a target, for a warm-up and a window; the result as JSON.
    fn run(
        &self,
        target: &str,
        per_s: f64,
        times: [&str; 2],
        seed: u32,
    ) -> Outcome<serde_json::Value> {
        let json = self.out.join("window.json");
        let output = Command::new(&self.tidegate)
            .arg("load")
            .arg(&self.scenario)
            .args(["--target", target, "--insecure", "--plain", "--rate", &per_s.to_string()])
            .args(["--warm-up", times[0], "--duration", times[1], "--seed", &seed.to_string()])
            .args(["--time-scale", &TIME_SCALE.to_string(), "--cores", &self.driver.to_string()])
            .arg("--json")
            .arg(&json)
            .output()?;
        let text = std::fs::read_to_string(&json)
            .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
        std::fs::remove_file(&json)?;
        Ok(serde_json::from_str(&text)?)
    }
}

fn window(result: &serde_json::Value) -> Outcome<Window> {
    let number = |path: &str| {
        result.pointer(path).and_then(serde_json::Value::as_f64).ok_or(format!("no {path}"))
    };
    if result["driver_saturated"] == true {
        eprintln!("the load generator was saturated in this window");
    }
    Ok(Window {
        offered: number("/offered_per_s")?,
        completed: number("/completed_per_s")?,
        requests: number("/requests_per_s")?,
        p95_ms: number("/response/p95_ms").unwrap_or(f64::NAN),
        full: number("/full_handshake_share")?,
    })
}

fn start(name: &str, cores: &Cores, out: &Path) -> Outcome<Server> {
    let services = Services::find()?;
    if name == "node" {
        let mut setup = NodeSetup::new(cores);
        setup.timeout = TIMEOUT;
        return Ok(Server::Node(Node::start(&setup, &services, &out.join("node"))?));
    }
    let mut setup = TomcatSetup::new(cores, &services.war("auction")?, "/healthz");
    setup.timeout = TIMEOUT;
    Ok(Server::Tomcat(Tomcat::start(&setup, &out.join("tomcat"))?))
}

/// Customers at half of what the server can carry by its CPU time, until that no longer changes by
/// more than a fifteenth in three steps; returns it, in sessions per second.
fn warm_up(bench: &Bench, server: &Server, target: &str) -> Outcome<f64> {
    println!("\nwarm-up");
    let (mut capacity, mut steady) = (GENTLE_PER_S, 0);
    for step in 0..STEPS {
        print!("{:>3} s: ", step * 8);
        let next = probe(bench, server, target, 0.5 * capacity, step)?;
        steady = if (next / capacity - 1.0).abs() < 1.0 / 15.0 { steady + 1 } else { 0 };
        capacity = next;
        if steady == 3 {
            break;
        }
    }
    Ok(capacity)
}

/// Sessions per second that the server can carry, by its CPU time when so many begin.
fn probe(bench: &Bench, server: &Server, target: &str, per_s: f64, seed: u32) -> Outcome<f64> {
    let before = server.cpu_s()?;
    let result = bench.run(target, per_s, ["0s", "8s"], seed)?;
    let cpu = server.cpu_s()? - before;
    let number = |path: &str| result.pointer(path).and_then(serde_json::Value::as_f64);
    let requests = number("/totals/requests_ok").unwrap_or(0.0).max(1.0);
    let seen = window(&result)?;
    println!(
        "{requests:.0} requests, {:.2} ms CPU per request, p95 {:.0} ms, {:.2} of handshakes full",
        1e3 * cpu / requests,
        seen.p95_ms,
        seen.full
    );
    Ok(requests / cpu / number("/session_length/mean_requests").unwrap_or(1.0))
}

/// The gate with its defaults, but for times at the customers' pace. It is told the address alone.
fn gate(bench: &Bench, upstream: &str, cores: &Cores) -> Outcome<Service> {
    let file = bench.out.join("gate.toml");
    let ms = |seconds: f64| format!("{}ms", (1000.0 * seconds * TIME_SCALE).round());
    let text = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\n[tls]\nself_signed = \"rsa-2048\"\n\
         [upstream]\nurl = \"{upstream}\"\n[admission]\npolicy = \"tide\"\nhold_time = \"{}\"\n\
         session_linger = \"{}\"\n[limits]\nidle_deadline = \"{}\"\n[admin]\naddress = \"127.0.0.1:0\"\n",
        ms(3.0),
        ms(60.0),
        ms(10.0)
    );
    std::fs::write(&file, text)?;
    let mut command = Command::new(&bench.tidegate);
    command.arg("gate").arg("--config").arg(&file);
    Ok(Service::start(Launch::new("gate", command).on(cores).log(&bench.out.join("gate.log"))?)?)
}

/// Mean and the widest distance from it.
fn spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max))
}

fn main() -> Outcome<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [name, tidegate, out] = given.as_slice() else {
        return Err("usage: others tomcat|node TIDEGATE OUT".into());
    };
    let scenario = if name == "node" { "node" } else { "tomcat-auction" };
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../load/scenarios");
    let (cores, driver) = apart(&None, &None)?;
    std::fs::create_dir_all(out)?;
    let bench = Bench {
        tidegate: std::fs::canonicalize(tidegate)?,
        scenario: scenarios.join(format!("{scenario}.toml")),
        out: std::fs::canonicalize(out)?,
        driver,
    };
    // Made first: a group can only be removed when its processes have ended.
    let quota = Quota::new()?;
    let server = start(name, &cores, &bench.out)?;
    let [alone, upstream] = server.urls()?;
    println!("start: {:.1} CPU seconds until the first answer", server.cpu_s()?);

    let capacity = warm_up(&bench, &server, &alone)?;
    println!("capacity alone, by CPU time: {:.1} sessions per second and processor", capacity);

    let gate = gate(&bench, &upstream, &cores)?;
    let gated = gate.address("gate")?.to_owned();
    // The code paths of plain HTTP and the gate's own estimates warm up as well.
    bench.run(&gated, 0.5 * capacity, ["0s", "16s"], 99)?;
    quota.add(&[server.id(), gate.process().id()])?;
    quota.set(Some(SHARE))?;
    print!("limited: ");
    let capacity = SHARE * probe(&bench, &server, &alone, 0.8 * SHARE * capacity, 98)?;
    println!("at {SHARE} of a processor: {capacity:.1} sessions per second");
    let contenders: Vec<(&str, f64)> =
        LOADS.iter().flat_map(|load| [("alone", *load), ("gate", *load)]).collect();
    let mut windows = vec![Vec::<Window>::new(); contenders.len()];
    for turn in Order::seeded(1).turns(contenders.len(), ROUNDS) {
        let (who, load) = contenders[turn.contender];
        let target = if who == "gate" { &gated } else { &alone };
        let seen = window(&bench.run(target, load * capacity, WINDOW, turn.round + 1)?)?;
        println!("round {}: {who} at {load}: {seen:?}", turn.round + 1);
        windows[turn.contender].push(seen);
    }

    println!(
        "\n| server | load | offered/s | completed/s | requests/s | of its peak | p95 ms | full |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for who in ["alone", "gate"] {
        let rows: Vec<_> =
            contenders.iter().zip(&windows).filter(|((of, _), _)| *of == who).collect();
        let mean = |seen: &[Window], of: fn(&Window) -> f64| {
            spread(&seen.iter().map(of).collect::<Vec<_>>())
        };
        let peak = rows.iter().map(|(_, seen)| mean(seen, |it| it.completed).0).fold(0.0, f64::max);
        for ((_, load), seen) in rows {
            let (completed, by) = mean(seen, |it| it.completed);
            println!(
                "| {who} | {load} | {:.1} | {completed:.1} ± {by:.1} | {:.0} | {:.0} % | {:.0} | {:.2} |",
                mean(seen, |it| it.offered).0,
                mean(seen, |it| it.requests).0,
                100.0 * completed / peak,
                mean(seen, |it| it.p95_ms).0,
                mean(seen, |it| it.full).0
            );
        }
    }
    println!("\nCPU seconds of the server in all: {:.1}", server.cpu_s()?);
    Ok(())
}
