//! The demo's site and gate: what runs on the server's processors.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::plan::{CERTIFICATE, Plan, TIME_SCALE};
use super::service::Service;
use crate::cores::Cores;

/// Site and gate, as processes of their own.
pub struct Lab {
    out: PathBuf,
    customers: u64,
    cores: Cores,
    site: Service,
    gate: Option<Service>,
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
        Ok(Self { out: out.to_owned(), customers, cores, site, gate: None })
    }

    /// Starts a gate with this policy in place of the one that ran.
    pub fn open_gate(&mut self, policy: &str) -> anyhow::Result<()> {
        if let Some(gate) = self.gate.take() {
            gate.stop();
        }
        let config = self.out.join(format!("gate-{policy}.toml"));
        let text = gate_config(policy, self.site.address("site")?);
        std::fs::write(&config, text)
            .with_context(|| format!("cannot write {}", config.display()))?;
        let args = ["gate".into(), "--config".into(), config.display().to_string()];
        let log = self.out.join(format!("gate-{policy}.log"));
        self.gate = Some(Service::start("gate", &args, &self.cores, &log)?);
        Ok(())
    }

    /// Where customers come in.
    pub fn target(&self) -> anyhow::Result<String> {
        Ok(self.gate()?.address("gate")?.to_owned())
    }

    /// How many registered people the site has.
    pub fn customers(&self) -> u64 {
        self.customers
    }

    /// CPU seconds that site and gate have used so far.
    pub fn cpu_s(&self) -> anyhow::Result<f64> {
        Ok(self.site.cpu_s()? + self.gate()?.cpu_s()?)
    }

    /// The processors of the server, as a number of them.
    pub fn cpus(&self) -> f64 {
        self.cores.list().len() as f64
    }

    /// Where everything runs, for people.
    pub fn addresses(&self) -> anyhow::Result<String> {
        let gate = self.gate()?;
        Ok(format!(
            "The shop behind the gate: {}\nThe shop itself:         {}\nThe gate's status:       {}/status",
            gate.address("gate")?,
            self.site.address("site")?,
            gate.address("admin")?
        ))
    }

    /// Ends both processes.
    pub fn close(self) {
        if let Some(gate) = self.gate {
            gate.stop();
        }
        self.site.stop();
    }

    fn gate(&self) -> anyhow::Result<&Service> {
        self.gate.as_ref().context("no gate runs")
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
