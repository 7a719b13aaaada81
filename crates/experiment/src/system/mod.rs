//! The system of one run: the service, and the gate before it.

mod brokerage;
mod gate;
mod own;
mod servers;
mod site;

use std::path::{Path, PathBuf};

use tidegate_host::{Cores, Files, processes, scheduling};
use tidegate_lab::services::{Node, Tomcat};
use tidegate_lab::{Certificate, Key, Launch, Process, Service, http};
use tidegate_load::Stop;

use crate::experiment::Settings;
use crate::folder::MAKE_ROOM;
use crate::{Error, Result};
use brokerage::Brokerage;
pub use gate::{TRACE, check_policies};
pub use site::TRACE as SITE_TRACE;
pub use tidegate_brokerage::TIERS;
use tidegate_sitekit::password::PasswordCost;

/// Name of the customers' trace in the folder of a run.
pub const LOAD_TRACE: &str = "load.trace";

/// What the systems of a study share.
#[derive(Debug)]
pub struct Workshop {
    /// Folder of certificates and of the sites' databases.
    shared: PathBuf,
    /// Folder of the experiment's file, in which a command starts.
    pub folder: PathBuf,
    certificates: [(&'static str, Certificate); 3],
}

impl Workshop {
    /// Makes the certificates in the study's folder.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn open(out: &Path, folder: &Path) -> Result<Self> {
        let shared = out.join("shared");
        std::fs::create_dir_all(&shared).map_err(|error| {
            Error::Machine(format!("cannot create {}: {error}; {MAKE_ROOM}", shared.display()))
        })?;
        let certificates = [
            ("rsa-2048", Certificate::make(Key::Rsa2048, &shared)?),
            ("ecdsa-p256", Certificate::make(Key::P256, &shared)?),
            ("ed25519", Certificate::make(Key::Ed25519, &shared)?),
        ];
        Ok(Self { shared, folder: folder.to_owned(), certificates })
    }

    /// Folder of a site's database. Each cost of a password has one of its own: a run replaces
    /// hashes of another cost, which would change what later runs measure.
    fn data(&self, site: &str, settings: &Settings) -> PathBuf {
        match settings.password_cost.as_str() {
            "light" => self.shared.join(site),
            cost => self.shared.join(format!("{site}-{cost}")),
        }
    }

    fn certificate(&self, kind: &str) -> Result<&Certificate> {
        let found = self.certificates.iter().find(|(name, _)| *name == kind);
        found
            .map(|(_, certificate)| certificate)
            .ok_or_else(|| Error::Internal(format!("no certificate of kind {kind}")))
    }
}

/// Makes what a site needs before it starts, such as its database, if it is not there.
///
/// # Errors
/// It cannot be made.
pub fn prepare(settings: &Settings, workshop: &Workshop) -> Result<()> {
    match settings.site.as_str() {
        _ if !settings.command.is_empty() => Ok(()),
        "auction" => site::prepare(settings, workshop),
        "brokerage" => brokerage::prepare(settings, workshop),
        _ => Ok(()),
    }
}

/// A system that is ready. Its processes end when this is dropped, the gate first.
#[derive(Debug)]
pub struct System {
    gate: Option<Service>,
    service: Running,
    customers: Option<u64>,
}

/// The service of a system.
#[derive(Debug)]
enum Running {
    /// One that announces its address.
    Site(Service),
    /// A brokerage of three tiers.
    Brokerage(Brokerage),
    /// Tomcat with an auction.
    Tomcat(Tomcat),
    /// A shop on Node.
    Node(Node),
    /// One at a given address.
    Own(Process, String),
}

/// CPU seconds since the start of a system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuSeconds {
    /// Of the service.
    pub service: f64,
    /// Of the gate.
    pub gate: f64,
    /// Of the service, that of each of [`TIERS`]; 0 for a service without tiers.
    pub tiers: [f64; 3],
}

impl System {
    /// Starts service and gate on these cores, and waits until both are ready. Their logs and
    /// the gate's configuration are written to `folder`.
    ///
    /// # Errors
    /// One of them does not start, ends, or is not ready in time; with the last lines of its
    /// log. The operator stops the study before Tomcat or a command's service is ready.
    pub fn start(
        settings: &Settings,
        cores: &Cores,
        workshop: &Workshop,
        folder: &Path,
        stop: &Stop,
    ) -> Result<Self> {
        let (service, customers) = match settings.site.as_str() {
            _ if !settings.command.is_empty() => {
                let process = own::start(settings, cores, workshop, folder, stop)?;
                let address = settings.address.clone().unwrap_or_default();
                (Running::Own(process, address), None)
            }
            "tomcat" => (Running::Tomcat(servers::tomcat(settings, cores, folder, stop)?), None),
            "brokerage" => {
                let brokerage = Brokerage::start(settings, cores, workshop, folder)?;
                let customers = Some(brokerage::CUSTOMERS);
                (Running::Brokerage(brokerage), customers)
            }
            "node" => (Running::Node(servers::node(settings, cores, folder)?), None),
            _ => {
                let (service, users) = site::start(settings, cores, workshop, folder)?;
                (Running::Site(service), Some(users))
            }
        };
        let mut system = Self { gate: None, service, customers };
        if settings.gate {
            let upstream = system.service_url(true)?;
            system.gate = Some(gate::start(settings, &upstream, cores, workshop, folder)?);
        }
        Ok(system)
    }

    /// The URL for customers.
    ///
    /// # Errors
    /// The gate announced none.
    pub fn target(&self) -> Result<String> {
        match &self.gate {
            Some(gate) => Ok(gate.address("gate")?.to_owned()),
            None => self.service_url(false),
        }
    }

    /// The URL of the service, for a gate or for customers.
    fn service_url(&self, behind_a_gate: bool) -> Result<String> {
        match (&self.service, behind_a_gate) {
            (Running::Site(service), _) => Ok(service.address("site")?.to_owned()),
            (Running::Brokerage(brokerage), _) => Ok(brokerage.url()),
            (Running::Tomcat(tomcat), true) => Ok(tomcat.url()),
            (Running::Tomcat(tomcat), false) => Ok(tomcat.secure_url()),
            (Running::Node(node), true) => Ok(node.url()?),
            (Running::Node(node), false) => Ok(node.secure_url()?),
            (Running::Own(_, address), _) => Ok(address.clone()),
        }
    }

    fn service(&self) -> &Process {
        match &self.service {
            Running::Site(service) => service.process(),
            Running::Brokerage(brokerage) => brokerage.process(),
            Running::Tomcat(tomcat) => tomcat.process(),
            Running::Node(node) => node.process(),
            Running::Own(process, _) => process,
        }
    }

    /// The number of the site's users, where it is known.
    pub fn customers(&self) -> Option<u64> {
        self.customers
    }

    /// CPU seconds so far.
    ///
    /// # Errors
    /// A process has ended; with the last lines of its log.
    pub fn cpu(&self) -> Result<CpuSeconds> {
        let gate = self.gate.as_ref().map(Service::cpu_s).transpose()?;
        let service = self.service().cpu_time()?.as_secs_f64();
        let tiers = match &self.service {
            Running::Brokerage(brokerage) => brokerage.tiers()?,
            _ => [0.0; 3],
        };
        Ok(CpuSeconds { service, gate: gate.unwrap_or_default(), tiers })
    }

    /// Every process, descendants included.
    pub fn processes(&self) -> Vec<u32> {
        let files = Files::new("/");
        let own = [Some(self.service().id()), self.gate.as_ref().map(|gate| gate.process().id())];
        own.into_iter().flatten().flat_map(|id| processes::family(&files, id)).collect()
    }

    /// The brokerage's application servers; none for other services.
    pub fn application_servers(&self) -> &[u32] {
        match &self.service {
            Running::Brokerage(brokerage) => brokerage.application_servers(),
            _ => &[],
        }
    }

    /// The log of the service's garbage collector, where it has one.
    pub fn gc_log(&self) -> Option<PathBuf> {
        match &self.service {
            Running::Tomcat(tomcat) => Some(tomcat.gc_log().to_owned()),
            _ => None,
        }
    }

    /// Resident memory of service and gate, in bytes.
    pub fn memory(&self) -> u64 {
        let files = Files::new("/");
        let of = |id| scheduling::resident_bytes(&files, id);
        self.processes().into_iter().filter_map(of).sum()
    }

    /// A page of the gate's admin address, such as `/status`; `None` without a gate, or if it
    /// does not answer.
    pub fn admin(&self, page: &str) -> Option<String> {
        let address = self.gate.as_ref()?.address("admin").ok()?;
        http::get_at(address, page).ok().filter(|answer| answer.status == 200).map(|it| it.body)
    }
}

/// The cost of a password hash of these settings.
fn password_cost(settings: &Settings) -> Result<PasswordCost> {
    let cost = settings.password_cost.parse::<PasswordCost>();
    cost.map_err(|error| Error::Operator(format!("system: {error}")))
}

/// A process of this program.
fn of_this_program(name: &str, cores: &Cores, log: &Path) -> Result<Launch> {
    Launch::this_program(name).on(cores).log(log)
}
