//! The testbed: the auction site and gates before it, each a process of its own on the
//! server's processors.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_auction::{Options, Prepared};
use tidegate_host::Cores;
use tidegate_sitekit::password::PasswordCost;

use crate::error::{Error, Fault, Result};
use crate::gate_config::{GateTimes, gate_config};
use crate::process::Launch;
use crate::service::Service;

/// Size of the site's population, relative to that of RUBiS.
pub const SITE_SCALE: f64 = 0.01;

/// How a testbed is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Processors of the site and the gates.
    pub cores: Cores,
    /// CPU time that every page but the front page uses in addition.
    pub extra_cpu: Duration,
    /// Time from the site's start until that applies.
    pub extra_cpu_after: Duration,
    /// Times of the gates.
    pub times: GateTimes,
}

impl Setup {
    /// A site without additional CPU time, and gates for customers whose times are
    /// multiplied by `time_scale`.
    pub fn new(cores: &Cores, time_scale: f64) -> Self {
        Self {
            cores: cores.clone(),
            extra_cpu: Duration::ZERO,
            extra_cpu_after: Duration::ZERO,
            times: GateTimes::scaled(time_scale),
        }
    }
}

/// The site and the gates before it. They end when this is dropped.
#[derive(Debug)]
pub struct Testbed {
    out: PathBuf,
    customers: u64,
    setup: Setup,
    // Gates end before the site that they forward to.
    gates: Vec<(String, Service)>,
    site: Service,
}

impl Testbed {
    /// Creates the site's database in `out` if it does not exist, and starts the site.
    ///
    /// # Errors
    /// [`Error::Operator`] if the database cannot be created there; otherwise the site does not
    /// start.
    pub fn open(setup: Setup, out: &Path) -> Result<Self> {
        let data = out.join("site");
        let prepared = prepare(&data)?;
        let args = ["site", "auction", "--listen", "127.0.0.1:0", "--password-cost", "light"];
        let mut args: Vec<String> = args.map(String::from).to_vec();
        for (flag, value) in [
            ("--scale", SITE_SCALE.to_string()),
            ("--extra-cpu", (1e3 * setup.extra_cpu.as_secs_f64()).to_string()),
            ("--extra-cpu-after", setup.extra_cpu_after.as_secs_f64().to_string()),
            ("--data", data.display().to_string()),
        ] {
            args.extend([flag.to_owned(), value]);
        }
        let site = service("site", args, &setup, &out.join("site.log"))?;
        let customers = u64::try_from(prepared.users)
            .map_err(|_| Error::Internal("the population has no users".into()))?;
        Ok(Self { out: out.to_owned(), customers, setup, gates: Vec::new(), site })
    }

    /// Starts a gate with this policy before the site. A gate without customers uses next
    /// to no CPU time, so the gates of several policies may run side by side and keep what
    /// they have learned.
    ///
    /// # Errors
    /// The gate does not start.
    pub fn open_gate(&mut self, policy: &str) -> Result<()> {
        let config = self.out.join(format!("gate-{policy}.toml"));
        let text = gate_config(policy, self.site.address("site")?, self.setup.times);
        std::fs::write(&config, text).of_writing(&config)?;
        let args = ["gate".into(), "--config".into(), config.display().to_string()];
        let log = self.out.join(format!("gate-{policy}.log"));
        let gate = service("gate", args, &self.setup, &log)?;
        self.gates.push((policy.to_owned(), gate));
        Ok(())
    }

    /// Ends all gates. Gates that are started later have learned nothing yet.
    pub fn close_gates(&mut self) {
        self.gates.clear();
    }

    /// The URL of the gate with this policy.
    ///
    /// # Errors
    /// No such gate runs.
    pub fn target(&self, policy: &str) -> Result<String> {
        Ok(self.gate(policy)?.address("gate")?.to_owned())
    }

    /// The admin URL of the gate with this policy.
    ///
    /// # Errors
    /// No such gate runs.
    pub fn admin(&self, policy: &str) -> Result<String> {
        Ok(self.gate(policy)?.address("admin")?.to_owned())
    }

    /// CPU seconds that the site and the gate with this policy have used so far.
    ///
    /// # Errors
    /// One of them has ended.
    pub fn cpu_s(&self, policy: &str) -> Result<f64> {
        Ok(self.site.cpu_s()? + self.gate(policy)?.cpu_s()?)
    }

    /// CPU seconds that the site has used so far.
    ///
    /// # Errors
    /// It has ended.
    pub fn site_cpu_s(&self) -> Result<f64> {
        self.site.cpu_s()
    }

    /// The process ids of the site and all gates.
    pub fn processes(&self) -> Vec<u32> {
        let gates = self.gates.iter().map(|(_, gate)| gate.process().id());
        gates.chain([self.site.process().id()]).collect()
    }

    /// The number of registered users of the site.
    pub fn customers(&self) -> u64 {
        self.customers
    }

    /// The number of the server's processors.
    pub fn cpus(&self) -> f64 {
        self.setup.cores.list().len() as f64
    }

    /// The URLs of all processes, for people.
    ///
    /// # Errors
    /// A process announced none.
    pub fn addresses(&self) -> Result<String> {
        let mut text = format!("The site without a gate: {}\n", self.site.address("site")?);
        for (policy, gate) in &self.gates {
            let (url, admin) = (gate.address("gate")?, gate.address("admin")?);
            text += &format!("The gate with policy {policy}: {url} (status: {admin}/status)\n");
        }
        Ok(text)
    }

    fn gate(&self, policy: &str) -> Result<&Service> {
        let gate = self.gates.iter().find(|(name, _)| name == policy);
        gate.map(|(_, gate)| gate)
            .ok_or_else(|| Error::Internal(format!("no gate with policy {policy} runs")))
    }
}

/// Starts a service of this program on the server's processors.
fn service(
    name: &str,
    args: impl IntoIterator<Item = String>,
    setup: &Setup,
    log: &Path,
) -> Result<Service> {
    Service::start(Launch::this_program(name).args(args).on(&setup.cores).log(log)?)
}

/// Creates the site's database if it does not exist, with a progress bar.
fn prepare(data: &Path) -> Result<Prepared> {
    let options = Options {
        data: data.to_owned(),
        scale: Some(SITE_SCALE),
        password_cost: PasswordCost::LIGHT,
        ..Options::default()
    };
    Ok(tidegate_auction::prepare(&options)?)
}
