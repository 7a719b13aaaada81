//! `tidegate tca`: what an operation costs, and how often customers have it.

mod data;
mod mixed;
mod profile;

use clap::Subcommand;

use crate::exit::Outcome;

/// Flags of `tidegate tca`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    data: data::DataArgs,
}

/// What `tidegate tca` does beside computing costs.
#[derive(Subcommand)]
enum Command {
    /// Tell how often a session has each operation, from an access log or a scenario
    Profile(Box<profile::ProfileArgs>),
}

/// Runs the subcommand, else computes costs from a table.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.command {
        Some(Command::Profile(args)) => profile::run(*args),
        None => data::run(args.data),
    }
}
