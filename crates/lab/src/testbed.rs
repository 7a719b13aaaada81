//! The lab: the auction site and gates before it, as processes of their own on
//! the server's processors, and what tells how fast those are.

use std::path::{Path, PathBuf};

use anyhow::Context;

use tidegate_host::Cores;
use tidegate_sites::auction::{self, Options, Prepared};
use tidegate_sites::password::PasswordCost;

use crate::BadInput;
use crate::service::Service;

/// RSA-2048, as most shops still have; its signature is the larger part of a
/// full handshake.
pub const CERTIFICATE: &str = "rsa-2048";

/// What the lab is made of.
pub struct Setup {
    /// Processors of site and gates.
    pub cores: Cores,
    /// Size of the site's population against RUBiS's.
    pub site_scale: f64,
    /// CPU time that every page but the front page takes on top.
    pub extra_cpu_ms: f64,
    /// From how many seconds after the site's start on.
    pub extra_cpu_after_s: f64,
    /// Of the gates.
    pub times: Times,
}

/// Times in a gate that follow the customers' pace, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Longest time in the admission queue.
    pub hold_s: f64,
    /// Time after which an idle connection is closed.
    pub keep_alive_s: f64,
    /// Time after its last request for which a session stays admitted.
    pub linger_s: f64,
    /// Interval of the `eac` policy.
    pub interval_s: f64,
}

impl Times {
    /// The gate's defaults, for customers whose times are multiplied by `scale`.
    pub fn scaled(scale: f64) -> Self {
        Self {
            hold_s: 3.0 * scale,
            keep_alive_s: 10.0 * scale,
            linger_s: 60.0 * scale,
            interval_s: 2.0 * scale,
        }
    }
}

/// The site and the gates before it.
pub struct Lab {
    out: PathBuf,
    customers: u64,
    setup: Setup,
    site: Service,
    gates: Vec<(String, Service)>,
}

impl Lab {
    /// Creates the site's database if it is not there, and starts the site.
    pub fn open(setup: Setup, out: &Path) -> anyhow::Result<Self> {
        let data = out.join("site");
        let prepared = prepare(&data, setup.site_scale)?;
        let args = ["site", "auction", "--listen", "127.0.0.1:0", "--password-cost", "light"];
        let mut args: Vec<String> = args.map(String::from).to_vec();
        for (flag, value) in [
            ("--scale", setup.site_scale.to_string()),
            ("--extra-cpu", setup.extra_cpu_ms.to_string()),
            ("--extra-cpu-after", setup.extra_cpu_after_s.to_string()),
            ("--data", data.display().to_string()),
        ] {
            args.extend([flag.to_owned(), value]);
        }
        let site = Service::start("site", &args, &setup.cores, &out.join("site.log"))?;
        let customers = u64::try_from(prepared.users).context("the population has no users")?;
        Ok(Self { out: out.to_owned(), customers, setup, site, gates: Vec::new() })
    }

    /// Starts a gate with this policy before the site. A gate without
    /// customers uses next to nothing, so that those of all policies may stand
    /// side by side and keep what they have learned.
    pub fn open_gate(&mut self, policy: &str) -> anyhow::Result<()> {
        let config = self.out.join(format!("gate-{policy}.toml"));
        let text = gate_config(policy, self.site.address("site")?, self.setup.times);
        std::fs::write(&config, text)
            .with_context(|| format!("cannot write {}", config.display()))?;
        let args = ["gate".into(), "--config".into(), config.display().to_string()];
        let log = self.out.join(format!("gate-{policy}.log"));
        let gate = Service::start("gate", &args, &self.setup.cores, &log)?;
        self.gates.push((policy.to_owned(), gate));
        Ok(())
    }

    /// Ends all gates; with the next ones nothing has been learned yet.
    pub fn close_gates(&mut self) {
        self.gates.drain(..).for_each(|(_, gate)| gate.stop());
    }

    /// Where customers come in.
    pub fn target(&self, policy: &str) -> anyhow::Result<String> {
        Ok(self.gate(policy)?.address("gate")?.to_owned())
    }

    /// CPU seconds that the site and this gate have used so far.
    pub fn cpu_s(&self, policy: &str) -> anyhow::Result<f64> {
        Ok(self.site.cpu_s()? + self.gate(policy)?.cpu_s()?)
    }

    /// CPU seconds that the site has used so far.
    pub fn site_cpu_s(&self) -> anyhow::Result<f64> {
        self.site.cpu_s()
    }

    /// Where this gate tells what it does.
    pub fn admin(&self, policy: &str) -> anyhow::Result<String> {
        Ok(self.gate(policy)?.address("admin")?.to_owned())
    }

    /// The processes of the site and all gates.
    pub fn processes(&self) -> Vec<u32> {
        let gates = self.gates.iter().map(|(_, gate)| gate.process());
        gates.chain([self.site.process()]).collect()
    }

    /// How many registered people the site has.
    pub fn customers(&self) -> u64 {
        self.customers
    }

    /// The processors of the server, as a number of them.
    pub fn cpus(&self) -> f64 {
        self.setup.cores.list().len() as f64
    }

    /// Where everything runs, for people.
    pub fn addresses(&self) -> anyhow::Result<String> {
        let mut text = format!("The shop itself: {}\n", self.site.address("site")?);
        for (policy, gate) in &self.gates {
            let (shop, admin) = (gate.address("gate")?, gate.address("admin")?);
            text +=
                &format!("behind the gate with `{policy}`: {shop}, its status: {admin}/status\n");
        }
        Ok(text)
    }

    /// Ends all processes.
    pub fn close(mut self) {
        self.close_gates();
        self.site.stop();
    }

    fn gate(&self, policy: &str) -> anyhow::Result<&Service> {
        let gate = self.gates.iter().find(|(name, _)| name == policy);
        gate.map(|(_, gate)| gate).with_context(|| format!("no gate with `{policy}` runs"))
    }
}

/// Creates the site's database where it is not there yet, with a progress bar.
fn prepare(data: &Path, scale: f64) -> anyhow::Result<Prepared> {
    let options = Options {
        data: data.to_owned(),
        scale: Some(scale),
        password_cost: PasswordCost::LIGHT,
        ..Options::default()
    };
    auction::prepare(&options).map_err(|error| match error {
        tidegate_sites::Error::Operator(_) => anyhow::Error::new(BadInput(error.to_string())),
        other => other.into(),
    })
}

/// The gate's configuration: its defaults, but for times.
fn gate_config(policy: &str, upstream: &str, times: Times) -> String {
    let ms = |seconds: f64| (seconds * 1000.0).round();
    format!(
        "[listen]\naddress = \"127.0.0.1:0\"\n\n[tls]\nself_signed = \"{CERTIFICATE}\"\n\n\
         [upstream]\nurl = \"{upstream}\"\n\n\
         [admission]\npolicy = \"{policy}\"\nhold_time = \"{hold}ms\"\n\
         interval = \"{interval}ms\"\nsession_linger = \"{linger}ms\"\n\n\
         [limits]\nidle_deadline = \"{idle}ms\"\n\n\
         [admin]\naddress = \"127.0.0.1:0\"\n",
        hold = ms(times.hold_s),
        interval = ms(times.interval_s),
        linger = ms(times.linger_s),
        idle = ms(times.keep_alive_s),
    )
}
