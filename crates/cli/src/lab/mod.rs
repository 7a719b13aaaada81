//! The demo's site and gate: what runs on the server's processors.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::plan::{CERTIFICATE, Plan, TIME_SCALE};
use super::service::Service;
use crate::cores::Cores;

/// The site and a gate for each policy, as processes of their own.
pub struct Lab {
    out: PathBuf,
    customers: u64,
    cores: Cores,
    site: Service,
    gates: Vec<(String, Service)>,
}

impl Lab {
    /// Creates the site's database if it is not there, and starts the site.
    pub fn open(plan: &Plan, out: &Path) -> anyhow::Result<Self> {
        let data = out.join("site");
        let prepared = crate::site::prepare_demo(&data, plan.site_scale)?;
        let scale = plan.site_scale.to_string();
        let args = [
            "site",
            "auction",
            "--listen",
            "127.0.0.1:0",
            "--password-cost",
            "light",
            "--scale",
            &scale,
            "--data",
        ];
        let mut args: Vec<String> = args.map(String::from).to_vec();
        args.push(data.display().to_string());
        let cores = plan.server_cores.clone();
        let site = Service::start("site", &args, &cores, &out.join("site.log"))?;
        let customers = u64::try_from(prepared.users).context("the population has no users")?;
        Ok(Self { out: out.to_owned(), customers, cores, site, gates: Vec::new() })
    }

    /// Starts a gate with this policy before the site. A gate without
    /// customers uses next to nothing, so that those of all policies may stand
    /// side by side and keep what they have learned.
    pub fn open_gate(&mut self, policy: &str) -> anyhow::Result<()> {
        let config = self.out.join(format!("gate-{policy}.toml"));
        let text = gate_config(policy, self.site.address("site")?);
        std::fs::write(&config, text)
            .with_context(|| format!("cannot write {}", config.display()))?;
        let args = ["gate".into(), "--config".into(), config.display().to_string()];
        let log = self.out.join(format!("gate-{policy}.log"));
        let gate = Service::start("gate", &args, &self.cores, &log)?;
        self.gates.push((policy.to_owned(), gate));
        Ok(())
    }

    /// Where customers come in.
    pub fn target(&self, policy: &str) -> anyhow::Result<String> {
        Ok(self.gate(policy)?.address("gate")?.to_owned())
    }

    /// CPU seconds that the site and this gate have used so far.
    pub fn cpu_s(&self, policy: &str) -> anyhow::Result<f64> {
        Ok(self.site.cpu_s()? + self.gate(policy)?.cpu_s()?)
    }

    /// How many registered people the site has.
    pub fn customers(&self) -> u64 {
        self.customers
    }

    /// The processors of the server, as a number of them.
    pub fn cpus(&self) -> f64 {
        self.cores.list().len() as f64
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
    pub fn close(self) {
        self.gates.into_iter().for_each(|(_, gate)| gate.stop());
        self.site.stop();
    }

    fn gate(&self, policy: &str) -> anyhow::Result<&Service> {
        let gate = self.gates.iter().find(|(name, _)| name == policy);
        gate.map(|(_, gate)| gate).with_context(|| format!("no gate with `{policy}` runs"))
    }
}

/// The gate's configuration: its defaults, with human times scaled as the
/// customers' are, and the interval of the rule of 2007 with them.
fn gate_config(policy: &str, upstream: &str) -> String {
    let ms = |seconds: f64| (seconds * 1000.0 * TIME_SCALE).round();
    format!(
        "[listen]\naddress = \"127.0.0.1:0\"\n\n[tls]\nself_signed = \"{CERTIFICATE}\"\n\n\
         [upstream]\nurl = \"{upstream}\"\n\n\
         [admission]\npolicy = \"{policy}\"\nhold_time = \"{hold}ms\"\n\
         interval = \"{interval}ms\"\nsession_linger = \"{linger}ms\"\n\n\
         [limits]\nidle_deadline = \"{idle}ms\"\n\n\
         [admin]\naddress = \"127.0.0.1:0\"\n",
        hold = ms(3.0),
        interval = ms(2.0),
        linger = ms(60.0),
        idle = ms(10.0),
    )
}
