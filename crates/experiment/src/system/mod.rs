//! The system of one run: the service, and the gate before it.

mod brokerage;
mod gate;
mod own;
mod servers;
mod site;

use std::path::{Path, PathBuf};

use tidegate_host::{Cores, Files, processes, scheduling};
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

/// A service under load: what starting it gives, and what the engine asks of it. It ends when this
/// is dropped.
pub trait System: std::fmt::Debug {
    /// Its URL. Behind a gate it may speak plain HTTP.
    ///
    /// # Errors
    /// It announced none.
    fn url(&self, behind_a_gate: bool) -> Result<String>;

    /// The process that it began with.
    fn process(&self) -> &Process;

    /// The number of its users, where it is known.
    fn customers(&self) -> Option<u64> {
        None
    }

    /// CPU seconds of each of [`TIERS`], where it has them.
    ///
    /// # Errors
    /// A tier has ended.
    fn tiers(&self) -> Result<[f64; 3]> {
        Ok([0.0; 3])
    }

    /// Its application servers, where each may be limited.
    fn application_servers(&self) -> &[u32] {
        &[]
    }

    /// The log of its garbage collector, where it has one.
    fn gc_log(&self) -> Option<PathBuf> {
        None
    }
}

/// Starts the system of these settings.
fn start(
    settings: &Settings,
    cores: &Cores,
    workshop: &Workshop,
    folder: &Path,
    stop: &Stop,
) -> Result<Box<dyn System>> {
    if !settings.command.is_empty() {
        return Ok(Box::new(own::start(settings, cores, workshop, folder, stop)?));
    }
    Ok(match settings.site.as_str() {
        "tomcat" => Box::new(servers::tomcat(settings, cores, folder, stop)?),
        "node" => Box::new(servers::node(settings, cores, folder)?),
        "brokerage" => Box::new(Brokerage::start(settings, cores, workshop, folder)?),
        _ => Box::new(site::start(settings, cores, workshop, folder)?),
    })
}

/// A system that is ready, and the gate before it if there is one. The gate ends first.
#[derive(Debug)]
pub struct Started {
    gate: Option<Service>,
    system: Box<dyn System>,
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

impl Started {
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
        let system = start(settings, cores, workshop, folder, stop)?;
        let mut started = Self { gate: None, system };
        if settings.gate {
            let upstream = started.system.url(true)?;
            started.gate = Some(gate::start(settings, &upstream, cores, workshop, folder)?);
        }
        Ok(started)
    }

    /// The URL for customers.
    ///
    /// # Errors
    /// The gate announced none.
    pub fn target(&self) -> Result<String> {
        match &self.gate {
            Some(gate) => Ok(gate.address("gate")?.to_owned()),
            None => self.system.url(false),
        }
    }

    /// The number of the site's users, where it is known.
    pub fn customers(&self) -> Option<u64> {
        self.system.customers()
    }

    /// CPU seconds so far.
    ///
    /// # Errors
    /// A process has ended; with the last lines of its log.
    pub fn cpu(&self) -> Result<CpuSeconds> {
        let gate = self.gate.as_ref().map(Service::cpu_s).transpose()?;
        let service = self.system.process().cpu_time()?.as_secs_f64();
        let tiers = self.system.tiers()?;
        Ok(CpuSeconds { service, gate: gate.unwrap_or_default(), tiers })
    }

    /// Every process, descendants included.
    pub fn processes(&self) -> Vec<u32> {
        let files = Files::new("/");
        let own =
            [Some(self.system.process().id()), self.gate.as_ref().map(|gate| gate.process().id())];
        own.into_iter().flatten().flat_map(|id| processes::family(&files, id)).collect()
    }

    /// The system itself.
    pub fn system(&self) -> &dyn System {
        &*self.system
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
