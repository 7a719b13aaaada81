//! A site of the user's own, as the commands that measure one take it. They name it by `--target`.

use std::path::{Path, PathBuf};

use tidegate_load::{HeaderField, Plan, Resolve, Scenario};

use crate::exit::bad_input;

/// Flags of the site and its customers.
#[derive(clap::Args)]
pub struct SiteArgs {
    /// The site is yours, though it is not on this machine
    #[arg(long, requires = "target")]
    yes_this_is_mine: bool,
    /// The site's processes on this machine, with those behind it, such as 12,34 [default: those
    /// that listen at the target's address]
    #[arg(long, value_name = "PID", value_delimiter = ',', requires = "target")]
    pub process: Vec<u32>,
    /// Addresses of the target in place of those of its name, as in curl
    #[arg(long, value_name = "HOST:PORT:ADDR", value_parser = Resolve::parse, requires = "target")]
    pub resolve: Vec<Resolve>,
    /// Accept any server certificate
    #[arg(short = 'k', long, requires = "target")]
    insecure: bool,
    /// Certificate authorities to trust instead of the system's (PEM)
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", requires = "target")]
    ca: Option<PathBuf>,
    /// Header field of every request, such as 'Accept: text/html'; repeat the flag for several
    #[arg(short = 'H', long = "header", value_name = "FIELD", value_parser = HeaderField::parse,
          requires = "target")]
    headers: Vec<HeaderField>,
    /// Number of customer accounts that the scenario draws from
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
          requires = "target")]
    customers: Option<u64>,
}

impl SiteArgs {
    /// The load of this scenario on the site.
    ///
    /// # Errors
    /// The file of authorities cannot be read.
    pub fn plan(&self, mut scenario: Scenario, target: &str) -> anyhow::Result<Plan> {
        scenario.add_headers(&self.headers);
        let mut plan = Plan::new(scenario, target);
        plan.threads = threads(target, &self.resolve);
        plan.resolve.clone_from(&self.resolve);
        (plan.insecure, plan.attack_remote) = (self.insecure, self.yes_this_is_mine);
        plan.ca = self.ca.clone().map(|ca| readable(&ca).map(|()| ca)).transpose()?;
        plan.customers = self.customers;
        Ok(plan)
    }
}

/// Checks that a target has a scheme.
///
/// # Errors
/// It has none; with the remedy.
pub fn check_scheme(target: &str) -> anyhow::Result<()> {
    match target.contains("://") {
        true => Ok(()),
        false => Err(bad_input(format!(
            "--target {target}: the scheme is missing; write https://{target}"
        ))),
    }
}

/// On the site's own machine the load generator takes no more than one processor from it.
fn threads(target: &str, resolve: &[Resolve]) -> usize {
    let addresses = tidegate_load::addresses_of(target, resolve).unwrap_or_default();
    match addresses.iter().any(|address| tidegate_host::is_own_address(address.ip())) {
        true => 1,
        false => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

fn readable(file: &Path) -> anyhow::Result<()> {
    std::fs::File::open(file)
        .map(drop)
        .map_err(|error| bad_input(format!("--ca {}: {error}; name a PEM file", file.display())))
}
