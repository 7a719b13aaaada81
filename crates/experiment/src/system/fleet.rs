//! Gates, servers of the site and NATS on hosts of their own, and the faults that come to them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidegate_host::{Cores, Files, processes};
use tidegate_lab::{Launch, Network, Process, Relay, Service, http};
use tidegate_load::{Avoided, Resolve};
use tidegate_sitekit::private_file;

use super::{System, Workshop, gate, of_this_program, site};
use crate::experiment::Settings;
use crate::faults::{Faults, What};
use crate::{Error, Result};

/// The name by which customers know all gates, with their port.
const NAME: &str = "fleet.test";
const HTTPS: u16 = 8443;
const ADMIN: u16 = 9443;
const SITE: u16 = 8080;
const AGENT: u16 = 9444;
const NATS: u16 = 4222;
const CLUSTER: u16 = 6222;
/// Where `scripts/bootstrap test` puts it.
const NATS_SERVER: &str = "target/nats/bin/nats-server";

/// A fleet that serves. Its processes end before the hosts that they run on.
#[derive(Debug)]
pub struct Fleet {
    /// Processes by host, but for agents.
    state: Mutex<State>,
    /// One on each host of a server of the site, which no fault ends.
    agents: Vec<Service>,
    plan: Plan,
}

/// What a host needs to be started, at first and again.
#[derive(Debug)]
struct Plan {
    faults: Faults,
    settings: Settings,
    cores: Cores,
    folder: PathBuf,
    /// The command line of a server of the site, at its place of `ADDRESS`.
    site: Vec<String>,
    /// The text of each gate's configuration file.
    gates: BTreeMap<String, PathBuf>,
    /// Of gates whose messages are delayed: a relay to each server of NATS.
    relays: BTreeMap<String, Vec<Relay>>,
    customers: u64,
    network: Network,
    /// Gates that customers do not come to.
    avoided: Avoided,
}

#[derive(Debug, Default)]
struct State {
    running: BTreeMap<String, Running>,
    /// Which faults have begun, and which are mended.
    begun: Vec<(bool, bool)>,
    /// CPU seconds of services and gates that were killed.
    ended: (f64, f64),
}

/// The process of a host.
#[derive(Debug)]
enum Running {
    Service(Service),
    Server(Process),
}

impl Running {
    fn process(&self) -> &Process {
        match self {
            Self::Service(service) => service.process(),
            Self::Server(process) => process,
        }
    }

    fn kill(&mut self) {
        match self {
            Self::Service(service) => service.kill(),
            Self::Server(process) => process.kill(),
        }
    }
}

/// Sessions that a gate decided on so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decided {
    admitted: f64,
    refused: f64,
}

/// Starts the hosts of a fleet one after the other, gates last.
pub(super) fn start(
    settings: &Settings,
    faults: &str,
    cores: &Cores,
    workshop: &Workshop,
    folder: &Path,
) -> Result<Fleet> {
    let faults = Faults::named(faults).map_err(Error::Operator)?;
    if faults.nats > 0 && !Path::new(NATS_SERVER).is_file() {
        return Err(Error::Operator(format!(
            "system.faults: {NATS_SERVER} is missing: run scripts/bootstrap test, or set nats = 0"
        )));
    }
    let hosts = faults.hosts();
    let network = Network::make(&hosts.iter().map(String::as_str).collect::<Vec<_>>())?;
    let customers = site::prepare(settings, workshop)?;
    let folder = std::path::absolute(folder)
        .map_err(|error| Error::Machine(format!("no current folder: {error}")))?;
    let secret = folder.join("secret");
    let bytes = format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>());
    private_file::replace(&secret, bytes.as_bytes())?;
    let plan = Plan {
        site: site::arguments("ADDRESS", settings, workshop, &folder),
        settings: settings.clone(),
        gates: BTreeMap::new(),
        relays: BTreeMap::new(),
        cores: cores.clone(),
        customers,
        folder,
        faults,
        network,
        avoided: Avoided::default(),
    };
    let state = Mutex::default();
    let mut fleet = Fleet { state, agents: Vec::new(), plan };
    fleet.plan.relays = fleet.plan.start_relays()?;
    for host in fleet.plan.faults.of_kind("gate") {
        let file = fleet.plan.write_gate(&host, &secret, workshop)?;
        fleet.plan.gates.insert(host, file);
    }
    for host in hosts {
        if host.starts_with("service") {
            fleet.agents.push(fleet.plan.start_agent(&host, &secret)?);
        }
        let running = fleet.plan.start(&host)?;
        fleet.state().running.insert(host, running);
    }
    fleet.wait_until_joined()?;
    Ok(fleet)
}

impl Plan {
    fn url(&self, scheme: &str, host: &str, port: u16) -> Result<String> {
        Ok(format!("{scheme}://{}", self.network.socket(host, port)?))
    }

    fn urls(&self, scheme: &str, kind: &str, port: u16) -> Result<String> {
        let hosts = self.faults.of_kind(kind);
        let urls: Result<Vec<_>> = hosts.iter().map(|host| self.url(scheme, host, port)).collect();
        Ok(format!("{:?}", urls?))
    }

    fn start_relays(&self) -> Result<BTreeMap<String, Vec<Relay>>> {
        let relay = |nats: &String| {
            let to = self.network.socket(nats, NATS)?;
            Relay::start_at(self.network.here(), to, &self.cores)
        };
        let servers = self.faults.of_kind("nats");
        let relays = |gate: &String| -> Result<(String, Vec<Relay>)> {
            let each: Result<_> = servers.iter().map(relay).collect();
            Ok((gate.clone(), each?))
        };
        self.faults.delayed().map(relays).collect()
    }

    /// The servers of NATS as a gate reaches them.
    fn nats_of(&self, gate: &str) -> Result<String> {
        match self.relays.get(gate) {
            Some(relays) => {
                let url = |relay: &Relay| format!("nats://{}", relay.address());
                Ok(format!("{:?}", relays.iter().map(url).collect::<Vec<_>>()))
            }
            None => self.urls("nats", "nats", NATS),
        }
    }

    /// Delays the messages of gates by so much each way.
    fn delay(&self, gates: &[String], by: Duration) {
        let relays = gates.iter().filter_map(|gate| self.relays.get(gate)).flatten();
        relays.for_each(|relay| relay.set_round_trip(by * 2));
    }

    /// Lets customers open no connections to the gates that they have left, by which faults have
    /// begun, and which are mended.
    fn avoid(&self, begun: &[(bool, bool)]) -> Result<()> {
        let under_way =
            self.faults.faults.iter().zip(begun).filter(|(_, it)| **it == (true, false));
        let gates = under_way.flat_map(|(fault, _)| match &fault.what {
            What::Leave(gates) => gates.as_slice(),
            _ => [].as_slice(),
        });
        let addresses: tidegate_lab::Result<_> =
            gates.map(|gate| self.network.socket(gate, HTTPS)).collect();
        self.avoided.set(addresses?);
        Ok(())
    }

    fn write_gate(&self, host: &str, secret: &Path, workshop: &Workshop) -> Result<PathBuf> {
        let secret = format!("{:?}", secret.display().to_string());
        let fleet = match self.faults.nats {
            0 => String::new(),
            count => format!(
                "\n[fleet]\nnats = {}\nsecret_file = {secret}\ngate = {host:?}\nreplicas = {}\n",
                self.nats_of(host)?,
                if count >= 3 { 3 } else { 1 }
            ),
        };
        let place = gate::Place {
            listen: self.network.socket(host, HTTPS)?.to_string(),
            admin: self.network.socket(host, ADMIN)?.to_string(),
            upstream: format!(
                "url = {}\nload_from = {}\nagent_secret = {secret}\n",
                self.urls("http", "service", SITE)?,
                self.urls("agent", "service", AGENT)?
            ),
            more: fleet,
        };
        gate::write(&self.settings, &place, workshop, &self.folder.join(host))
    }

    /// A process of this program on a host.
    fn launch(&self, name: &str, host: &str) -> Result<Launch> {
        let log = self.folder.join(format!("{host}-{name}.log"));
        of_this_program(name, &self.cores, &log)?.within(&self.network, host)
    }

    fn start_agent(&self, host: &str, secret: &Path) -> Result<Service> {
        let listen = self.network.socket(host, AGENT)?.to_string();
        let (secret, port) = (secret.display().to_string(), SITE.to_string());
        let args = ["agent", "--listen", &listen, "--secret", &secret, "--port", &port];
        Service::start(self.launch("agent", host)?.args(args))
    }

    fn start(&self, host: &str) -> Result<Running> {
        let address = |port| self.network.socket(host, port).map(|it| it.to_string());
        if let Some(file) = self.gates.get(host) {
            let launch = self.launch("gate", host)?.args(["gate", "--config"]).args([file]);
            return Service::start(launch).map(Running::Service);
        }
        if host.starts_with("service") {
            let listen = address(SITE)?;
            let args = self.site.iter().map(|word| if word == "ADDRESS" { &listen } else { word });
            return Service::start(self.launch("site", host)?.args(args)).map(Running::Service);
        }
        let routes = self.urls("nats", "nats", CLUSTER)?;
        let routes = routes.trim_matches(['[', ']']).replace(['"', ' '], "");
        let mut command = Command::new(NATS_SERVER);
        command.args(["--jetstream", "--name", host, "--cluster_name", "fleet"]);
        command.args(["--addr", &self.network.address(host)?.to_string(), "--port"]);
        command.arg(NATS.to_string()).arg("--store_dir").arg(self.folder.join(host));
        if self.faults.nats > 1 {
            let own = self.url("nats", host, CLUSTER)?;
            command.args(["--cluster", &own, "--routes", &routes]);
        }
        let log = self.folder.join(format!("{host}.log"));
        let launch = Launch::new("nats-server", command).on(&self.cores).log(&log)?;
        let launch = launch.within(&self.network, host)?;
        launch.start_listening(&[self.network.socket(host, NATS)?]).map(Running::Server)
    }
}

impl Fleet {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all gates have the fleet's ticket keys and know of each other: a customer of
    /// before would be new at the next gate.
    fn wait_until_joined(&self) -> Result<()> {
        let gates = self.plan.faults.of_kind("gate");
        let deadline = Instant::now() + Duration::from_secs_f64(self.plan.settings.ready_within);
        let joined = |host: &String| {
            let address = self.plan.network.socket(host, ADMIN).ok()?;
            let page = http::get(address, "/status").ok()?.ok().ok()?;
            let fleet = &serde_json::from_str::<serde_json::Value>(&page).ok()?["fleet"];
            let known = fleet["gates"].as_array()?.len() == gates.len();
            (known && fleet["keys_shared"] == true).then_some(())
        };
        while self.plan.faults.nats > 0 && !gates.iter().all(|host| joined(host).is_some()) {
            if Instant::now() > deadline {
                return Err(Error::Process(format!(
                    "the gates have not found each other within {} s; see the logs in {}, or set system.ready_within",
                    self.plan.settings.ready_within,
                    self.plan.folder.display()
                )));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// The faults that come to it.
    pub fn faults(&self) -> &Faults {
        &self.plan.faults
    }

    /// The addresses of the gates, by the name that customers know.
    ///
    /// # Errors
    /// [`Error::Internal`]: a host is missing.
    pub fn resolve(&self) -> Result<Resolve> {
        let gates = self.plan.faults.of_kind("gate");
        let gates: Result<Vec<_>> =
            gates.iter().map(|host| Ok(self.plan.network.address(host)?.to_string())).collect();
        let text = format!("{NAME}:{HTTPS}:{}", gates?.join(","));
        Resolve::parse(&text).map_err(Error::Internal)
    }

    /// Gates that customers do not come to, as faults have it.
    pub fn avoided(&self) -> Avoided {
        self.plan.avoided.clone()
    }

    /// Begins and mends faults, as is due at this time since the measured window began.
    ///
    /// # Errors
    /// A process does not start, or the kernel refuses what a fault needs.
    pub fn play(&self, now: Duration) -> Result<()> {
        let mut state = self.state();
        state.begun.resize(self.plan.faults.faults.len(), (false, false));
        for (index, fault) in self.plan.faults.faults.iter().enumerate() {
            let (begun, mended) = &mut state.begun[index];
            let begins = now >= fault.at && !std::mem::replace(begun, *begun || now >= fault.at);
            let ends =
                now >= fault.until && !std::mem::replace(mended, *mended || now >= fault.until);
            if begins {
                self.begin(&fault.what, &mut state)?;
            }
            if ends {
                self.mend(&fault.what, &mut state)?;
            }
        }
        self.plan.avoid(&state.begun)
    }

    fn begin(&self, what: &What, state: &mut State) -> Result<()> {
        let network = &self.plan.network;
        match what {
            What::Nothing | What::Leave(_) => Ok(()),
            What::Kill(hosts) => {
                for host in hosts {
                    let Some(mut running) = state.running.remove(host) else { continue };
                    let used = running.process().cpu_time()?.as_secs_f64();
                    match host.starts_with("gate") {
                        true => state.ended.1 += used,
                        false => state.ended.0 += used,
                    }
                    running.kill();
                }
                Ok(())
            }
            What::Cut(one, other) => network.cut(one, other),
            What::Delay(gates, by) => {
                self.plan.delay(gates, *by);
                Ok(())
            }
        }
    }

    fn mend(&self, what: &What, state: &mut State) -> Result<()> {
        let network = &self.plan.network;
        match what {
            What::Nothing | What::Leave(_) => Ok(()),
            What::Kill(hosts) => hosts.iter().try_for_each(|host| {
                state.running.insert(host.clone(), self.plan.start(host)?);
                Ok(())
            }),
            What::Cut(one, other) => network.heal(one, other),
            What::Delay(gates, _) => {
                self.plan.delay(gates, Duration::ZERO);
                Ok(())
            }
        }
    }

    /// What each gate decided on so far, new sessions alone; `None` for one that does not answer.
    pub fn decided(&self) -> Vec<Option<Decided>> {
        let of = |host: &String| {
            let address = self.plan.network.socket(host, ADMIN).ok()?;
            self.state().running.contains_key(host).then_some(())?;
            let page = http::get(address, "/metrics").ok()?.ok().ok()?;
            let count = |verdict: &str| {
                let name =
                    format!("tidegate_connections_total{{class=\"new\",verdict=\"{verdict}\"}} ");
                page.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok())
            };
            Some(Decided { admitted: count("admitted")?, refused: count("refused")? })
        };
        self.plan.faults.of_kind("gate").iter().map(of).collect()
    }
}

/// How equal the chances of a new session are at the gates, from what they had decided on at two
/// times: 1 if they admit equal shares, 1/n if one of n admits all. A gate counts that answered both
/// times, without a start between them, and decided on a session. `None` without two such gates.
///
/// Source: Jain, Chiu and Hawe 1984, "A Quantitative Measure of Fairness": (Σx)² / (n·Σx²).
pub fn fairness(from: &[Option<Decided>], to: &[Option<Decided>]) -> Option<f64> {
    let chance = |(from, to): (&Option<Decided>, &Option<Decided>)| {
        let (from, to) = ((*from)?, (*to)?);
        let (admitted, refused) = (to.admitted - from.admitted, to.refused - from.refused);
        let decided = admitted + refused;
        (admitted >= 0.0 && refused >= 0.0 && decided > 0.0).then(|| admitted / decided)
    };
    let chances: Vec<f64> = from.iter().zip(to).filter_map(chance).collect();
    let (sum, squares) = chances.iter().fold((0.0, 0.0), |(a, b), x| (a + x, b + x * x));
    (chances.len() > 1 && squares > 0.0).then(|| sum * sum / (chances.len() as f64 * squares))
}

impl System for Fleet {
    fn url(&self, _: bool) -> Result<String> {
        Ok(format!("https://{NAME}:{HTTPS}"))
    }

    fn process(&self) -> &Process {
        self.agents[0].process()
    }

    fn customers(&self) -> Option<u64> {
        Some(self.plan.customers)
    }

    fn cpu_s(&self) -> Result<(f64, f64)> {
        let state = self.state();
        let mut used = state.ended;
        for (host, running) in &state.running {
            let time = running.process().cpu_time()?.as_secs_f64();
            *(if host.starts_with("gate") { &mut used.1 } else { &mut used.0 }) += time;
        }
        for agent in &self.agents {
            used.0 += agent.cpu_s()?;
        }
        Ok(used)
    }

    fn family(&self) -> Vec<u32> {
        let state = self.state();
        let running = state.running.values().map(|running| running.process().id());
        let agents = self.agents.iter().map(|agent| agent.process().id());
        let files = Files::new("/");
        running.chain(agents).flat_map(|id| processes::family(&files, id)).collect()
    }

    fn fleet(&self) -> Option<&Fleet> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(admitted: f64, refused: f64) -> Option<Decided> {
        Some(Decided { admitted, refused })
    }

    #[test]
    fn gates_are_fair_that_admit_the_same_share_of_those_who_come() {
        let none = vec![decided(0.0, 0.0); 3];
        let same = [decided(10.0, 10.0), decided(1.0, 1.0), decided(5.0, 5.0)];
        assert_eq!(fairness(&none, &same), Some(1.0));
        // Chances of 1, 0 and 0: (1)² / (3 · 1).
        let one = [decided(4.0, 0.0), decided(0.0, 9.0), decided(0.0, 1.0)];
        assert_eq!(fairness(&none, &one), Some(1.0 / 3.0));
        // Chances of 0.5 and 1: 2.25 / (2 · 1.25).
        let two = [decided(5.0, 5.0), decided(3.0, 0.0), None];
        assert_eq!(fairness(&none, &two), Some(0.9));
    }

    #[test]
    fn gates_that_ended_or_had_no_customers_do_not_count() {
        let from = [decided(9.0, 9.0), decided(3.0, 3.0), decided(0.0, 0.0)];
        // The first was started again, the second nobody came to.
        let to = [decided(1.0, 1.0), decided(3.0, 3.0), decided(2.0, 2.0)];
        assert_eq!(fairness(&from, &to), None);
    }
}
