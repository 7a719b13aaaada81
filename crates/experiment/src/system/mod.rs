//! The system of one run: the service, and the gate before it.

mod b2b;
mod brokerage;
mod fleet;
mod front;
mod gate;
mod messages;
mod own;
mod served;
mod servers;
mod shop;
mod site;
mod static_tier;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tidegate_host::{Cores, Files, processes, scheduling};
use tidegate_lab::services::Postgresql;
use tidegate_lab::{Certificate, CertificateKey, Launch, Process, http};
use tidegate_load::Stop;

use crate::experiment::{POSTGRESQL, Settings};
use crate::folder::MAKE_ROOM;
use crate::metrics::messages::SITE;
use crate::{Error, Result};
use brokerage::Brokerage;
pub use fleet::{Decided, Fleet, fairness};
use front::Front;
pub use gate::{EAC_PROFILED, GateTimes, Profile, TRACE, check_policies};
pub use messages::{Configuration, Server, leave_out_java};
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
    /// Made when the first system needs them: a long RSA key takes seconds.
    certificates: [(CertificateKey, OnceLock<Certificate>); CertificateKey::ALL.len()],
    /// Folder of the data of [`POSTGRESQL`], which its user can reach wherever the study's is.
    postgresql: TempDir,
    /// Of the next system.
    pub overrides: Overrides,
}

/// What no key of an experiment's file sets.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Times of the gate, if they do not follow the customers' pace.
    pub gate_times: Option<GateTimes>,
    /// Time from the auction site's start until its pages use their additional CPU time.
    pub extra_cpu_after: Duration,
    /// What connections cost, for the policy `eac, profiled`.
    pub profile: Option<Profile>,
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
        let certificates = CertificateKey::ALL.map(|key| (key, OnceLock::new()));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        let postgresql =
            tempfile::Builder::new().prefix("tidegate-data-").permissions(mode).tempdir().map_err(
                |error| {
                    Error::Machine(format!("cannot make a temporary folder: {error}; {MAKE_ROOM}"))
                },
            )?;
        let (folder, overrides) = (folder.to_owned(), Overrides::default());
        Ok(Self { shared, folder, certificates, postgresql, overrides })
    }

    /// Folder of a site's database. Each cost of a password has one of its own: a run replaces
    /// hashes of another cost, which would change what later runs measure.
    fn data(&self, site: &str, settings: &Settings) -> PathBuf {
        match settings.password_cost.as_str() {
            "light" => self.shared.join(site),
            cost => self.shared.join(format!("{site}-{cost}")),
        }
    }

    /// The certificate of this kind, which servers show and customers trust.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn certificate(&self, kind: &str) -> Result<&Certificate> {
        let found = self.certificates.iter().find(|(key, _)| key.name() == kind);
        let (key, made) =
            found.ok_or_else(|| Error::Internal(format!("no certificate of kind {kind}")))?;
        if let Some(made) = made.get() {
            return Ok(made);
        }
        let new = Certificate::make(*key, &self.shared)?;
        Ok(made.get_or_init(|| new))
    }
}

/// Makes what a site needs before it starts, such as its database, if it is not there.
///
/// # Errors
/// It cannot be made.
pub fn prepare(settings: &Settings, workshop: &Workshop) -> Result<()> {
    let cores = Cores::of_this_process()
        .map_err(|error| Error::Machine(format!("cannot read the processors: {error}")))?;
    let (settings, _database) = with_database(settings, &cores, workshop, &workshop.shared)?;
    let settings = &settings;
    match settings.site.as_str() {
        _ if !settings.command.is_empty() => Ok(()),
        "auction" => site::prepare(settings, workshop).map(drop),
        "b2b" => b2b::prepare(settings, workshop).map(drop),
        "brokerage" => brokerage::prepare(settings, workshop),
        "shop" => {
            shop::prepare(settings, workshop)?;
            match settings.static_tier {
                true => static_tier::prepare(settings, &cores, workshop),
                false => Ok(()),
            }
        }
        SITE => messages::prepare(workshop),
        _ => Ok(()),
    }
}

/// A service under load: what starting it gives, and what the engine asks of it. It ends when this
/// is dropped.
pub trait System: std::fmt::Debug + Send + Sync {
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

    /// CPU seconds of the service, and of gates that are part of the system.
    ///
    /// # Errors
    /// A process has ended; with the last lines of its log.
    fn cpu_s(&self) -> Result<(f64, f64)> {
        Ok((self.process().cpu_time()?.as_secs_f64(), 0.0))
    }

    /// Its processes, descendants included.
    fn family(&self) -> Vec<u32> {
        processes::family(&Files::new("/"), self.process().id())
    }

    /// The system as several gates on hosts of their own.
    fn fleet(&self) -> Option<&Fleet> {
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
    if let Some(faults) = &settings.faults {
        return Ok(Box::new(fleet::start(settings, faults, cores, workshop, folder)?));
    }
    Ok(match settings.site.as_str() {
        "tomcat" => Box::new(servers::tomcat(settings, cores, folder, stop)?),
        "node" => Box::new(servers::node(settings, cores, folder)?),
        SITE => messages::start(settings, cores, workshop, folder, stop)?,
        "b2b" => Box::new(b2b::start(settings, cores, workshop, folder)?),
        "brokerage" => Box::new(Brokerage::start(settings, cores, workshop, folder)?),
        "shop" => Box::new(shop::start(settings, cores, workshop, folder)?),
        _ => Box::new(site::start(settings, cores, workshop, folder)?),
    })
}

/// The settings with the URL of their database, and its server if it is the run's own. Its log is
/// written to `folder`.
fn with_database(
    settings: &Settings,
    cores: &Cores,
    workshop: &Workshop,
    folder: &Path,
) -> Result<(Settings, Option<Postgresql>)> {
    let mut settings = settings.clone();
    if settings.database.as_deref() != Some(POSTGRESQL) {
        return Ok((settings, None));
    }
    let data = workshop.postgresql.path().join("data");
    let server = Postgresql::start(&data, cores, &folder.join("postgresql.log"))?;
    // A run replaces hashes of another cost, as in `Workshop::data`.
    let name = format!("{}_{}", settings.site, settings.password_cost);
    settings.database = Some(server.database(&name)?);
    Ok((settings, Some(server)))
}

/// A system that is ready, and the gate before it if there is one. Gates end first, its database
/// last.
#[derive(Debug)]
pub struct Started {
    /// Gates, or other proxies, by policy.
    gates: Vec<(String, Front)>,
    /// The one of them that customers come through.
    front: Option<usize>,
    system: Box<dyn System>,
    database: Option<Postgresql>,
    /// When its start began.
    since: Instant,
    /// Seconds from then until the system was ready.
    pub ready_s: f64,
}

/// CPU seconds since the start of a system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuSeconds {
    /// Of the service, its database server included.
    pub service: f64,
    /// Of the database server of the run's own; 0 without one.
    pub database: f64,
    /// Of the gate.
    pub gate: f64,
    /// Of the service, that of each of [`TIERS`]; 0 for a service without tiers.
    pub tiers: [f64; 3],
}

impl Started {
    /// Starts the service on these cores, and waits until it is ready. Its log is written to
    /// `folder`.
    ///
    /// # Errors
    /// It does not start, ends, or is not ready in time; with the last lines of its log. The
    /// operator stops the study before Tomcat or a command's service is ready.
    pub fn start(
        settings: &Settings,
        cores: &Cores,
        workshop: &Workshop,
        folder: &Path,
        stop: &Stop,
    ) -> Result<Self> {
        let since = Instant::now();
        let (settings, database) = with_database(settings, cores, workshop, folder)?;
        let system = start(&settings, cores, workshop, folder, stop)?;
        let ready_s = since.elapsed().as_secs_f64();
        Ok(Self { gates: Vec::new(), front: None, system, database, since, ready_s })
    }

    /// Lets customers come through a gate with the policy of these settings, if they have one. It
    /// starts unless it runs; its log and its configuration are written to `folder`. Without one they
    /// come to the service itself.
    ///
    /// # Errors
    /// It does not start; with the last lines of its log.
    pub fn put_gate_before(
        &mut self,
        settings: &Settings,
        cores: &Cores,
        workshop: &Workshop,
        folder: &Path,
    ) -> Result<()> {
        let running = self.gates.iter().position(|(policy, _)| *policy == settings.policy);
        self.front = running.filter(|_| settings.gate);
        if settings.gate && self.front.is_none() && self.system.fleet().is_none() {
            let upstream = self.system.url(true)?;
            let gate = Front::start(settings, &upstream, cores, workshop, folder)?;
            self.gates.push((settings.policy.clone(), gate));
            self.front = Some(self.gates.len() - 1);
        }
        Ok(())
    }

    /// Ends its gates, so that the next run has a new one.
    pub fn end_gates(&mut self) {
        self.gates.clear();
        self.front = None;
    }

    fn gate(&self) -> Option<&Front> {
        self.front.map(|front| &self.gates[front].1)
    }

    /// The URL for customers.
    ///
    /// # Errors
    /// The gate announced none.
    pub fn target(&self) -> Result<String> {
        match self.gate() {
            Some(gate) => gate.url(),
            None => self.system.url(false),
        }
    }

    /// The URLs of the admin pages of all gates, by policy.
    pub fn admin_urls(&self) -> impl Iterator<Item = (&str, &str)> {
        self.gates.iter().filter_map(|(policy, gate)| Some((policy.as_str(), gate.admin()?)))
    }

    /// The URLs of the service and of all gates, for people.
    ///
    /// # Errors
    /// A process announced none.
    pub fn addresses(&self) -> Result<String> {
        let mut text = format!("The site without a gate: {}\n", self.system.url(false)?);
        for (policy, gate) in &self.gates {
            let url = gate.url()?;
            text += &format!("The gate with policy {policy}: {url}");
            text += &gate.admin().map_or("\n".into(), |it| format!(" (operator's page: {it}/)\n"));
        }
        Ok(text)
    }

    /// Time since the service's start began.
    pub fn age(&self) -> Duration {
        self.since.elapsed()
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
        let gate = self.gate().map(|gate| gate.process().cpu_time()).transpose()?;
        let gate = gate.map(|time| time.as_secs_f64());
        let database = self.database.as_ref().map(|server| server.process().cpu_time());
        let database = database.transpose()?.unwrap_or_default().as_secs_f64();
        let (service, gates) = self.system.cpu_s()?;
        let tiers = self.system.tiers()?;
        let (service, gate) = (service + database, gates + gate.unwrap_or_default());
        Ok(CpuSeconds { service, database, gate, tiers })
    }

    /// Every process, descendants included.
    pub fn processes(&self) -> Vec<u32> {
        let files = Files::new("/");
        let gates = self.gates.iter().map(|(_, gate)| gate.process().id());
        let database = self.database.iter().map(|server| server.process().id());
        let beside = gates.chain(database).flat_map(|id| processes::family(&files, id));
        beside.chain(self.system.family()).collect()
    }

    /// Those of the database server of the run's own; none without one.
    pub fn database_processes(&self) -> Vec<u32> {
        let server = self.database.as_ref().map(|server| server.process().id());
        server.map(|id| processes::family(&Files::new("/"), id)).unwrap_or_default()
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

    /// The URL of the gate's admin pages; `None` without a gate.
    pub fn admin_url(&self) -> Option<&str> {
        self.gate()?.admin()
    }

    /// One of these pages, such as `/status`; `None` if it does not answer.
    pub fn admin(&self, page: &str) -> Option<String> {
        let answer = http::get_at(self.admin_url()?, page).ok();
        answer.filter(|answer| answer.status == 200).map(|answer| answer.body)
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
