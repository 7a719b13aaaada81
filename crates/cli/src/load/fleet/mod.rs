//! `--fleet`: the agents that wait on other machines generate the load of one test. This process is
//! the coordinator, and leads them as it leads drivers of its own machine.

pub mod agent;
mod post;
mod set;

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tidegate_config::{Files, noting_files, read_bytes};
use tidegate_load::fleet::coordinator::Order;
use tidegate_load::{Plan, Shard, Stop, Summary};

use super::args::Args;
use super::drivers::lead::{Observer, lead};
use super::drivers::message::Job;
use super::drivers::with_files;
use super::plan;
use crate::exit::bad_input;
use post::AccessArgs;
use set::FleetSet;

/// Flags for a test of a fleet.
#[derive(clap::Args)]
pub struct FleetArgs {
    /// Generate the load with the agents (`tidegate load-agent`) that wait at these servers of NATS,
    /// such as nats://10.0.0.2:4222, each with a shard of the test, and print one report
    #[arg(long, value_name = "URL", value_delimiter = ',', help_heading = "Fleet",
          conflicts_with_all = ["drivers", "shard", "cores", "raw", "parquet", "trace", "http_debug"])]
    fleet: Vec<String>,
    /// Number of agents to use [default: all that wait]
    #[arg(long, value_name = "N", requires = "fleet",
          value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Fleet")]
    agents: Option<u32>,
    #[command(flatten)]
    access: AccessArgs,
}

impl FleetArgs {
    /// Whether agents generate the load.
    pub fn is_used(&self) -> bool {
        !self.fleet.is_empty()
    }
}

/// Runs a plan with agents. `run` is the number of the run among those of `--repeat`.
///
/// # Errors
/// The agents cannot all start; then none does. Or every agent was lost.
pub fn run(
    args: &Args,
    plan: &Plan,
    run: u32,
    stop: &Stop,
    notes: &mut dyn Observer,
) -> anyhow::Result<Summary> {
    let files = files_of(args)?;
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let mut set = FleetSet::open(&args.fleet, notes)?;
    let count = set.len() as u32;
    let shards = (1..=count).map(|number| Shard::new(number, count).expect("at most 1000 agents"));
    let shards: Vec<Shard> = shards.collect();
    for (index, shard) in shards.iter().enumerate() {
        let job = Job { files: Some(files.clone()), ..Job::new(*shard, run, Vec::new()) };
        let job = serde_json::to_string(&job)?;
        set.order(index, Order::Take { args: arguments.clone(), job });
    }
    let (summary, _) = lead(plan, set, shards, stop, notes)?;
    Ok(with_files(summary, plan, None))
}

/// The files that the test is made of, in base64 by the path that they are read by.
fn files_of(args: &Args) -> anyhow::Result<BTreeMap<String, String>> {
    let (read, files): (anyhow::Result<()>, Files) = noting_files(|| {
        let plan = plan::plan(args)?;
        if let Some(ca) = &plan.ca {
            read_bytes(ca, 1 << 20)
                .map_err(|error| bad_input(format!("--ca {}: {error}", ca.display())))?;
        }
        Ok(())
    });
    read?;
    Ok(files.into_iter().map(|(path, bytes)| (path, BASE64_STANDARD.encode(bytes))).collect())
}
