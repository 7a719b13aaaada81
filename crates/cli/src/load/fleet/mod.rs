//! `--fleet`: the agents that wait on other machines generate the load of one test. This process is
//! the coordinator, and leads them as it leads drivers of its own machine.

pub mod agent;
pub mod args;
mod post;
mod set;

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tidegate_config::{Files, noting_files, read_bytes};
use tidegate_load::fleet::coordinator::Order;
use tidegate_load::{Plan, Shard, Stop, Summary};

use super::drivers::lead::{Observer, lead};
use super::drivers::message::Job;
use super::drivers::with_files;
use crate::exit::bad_input;
use args::FleetArgs;
use set::FleetSet;

/// Runs a plan with agents; `make` makes it of its files once more. `run` is the number of the run among those of `--repeat`.
///
/// # Errors
/// The agents cannot all start; then none does. Or every agent was lost.
pub fn run(
    args: &FleetArgs,
    make: impl FnOnce() -> anyhow::Result<Plan>,
    plan: &Plan,
    run: u32,
    stop: &Stop,
    notes: &mut dyn Observer,
) -> anyhow::Result<Summary> {
    let files = files_of(make)?;
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let mut set = FleetSet::open(args, notes)?;
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
fn files_of(
    make: impl FnOnce() -> anyhow::Result<Plan>,
) -> anyhow::Result<BTreeMap<String, String>> {
    let (read, files): (anyhow::Result<()>, Files) = noting_files(|| {
        let plan = make()?;
        if let Some(ca) = &plan.ca {
            read_bytes(ca, 1 << 20)
                .map_err(|error| bad_input(format!("--ca {}: {error}", ca.display())))?;
        }
        Ok(())
    });
    read?;
    Ok(files.into_iter().map(|(path, bytes)| (path, BASE64_STANDARD.encode(bytes))).collect())
}
