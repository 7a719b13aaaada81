//! `tidegate study`: runs experiments end to end, lists those that ship, compares results.

mod compare;
mod list;
mod messages;
mod progress;
mod run;

use clap::Subcommand;

use crate::exit::Outcome;

/// Flags of `tidegate study`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: run::RunArgs,
}

/// What `tidegate study` does beside running an experiment.
#[derive(Subcommand)]
enum Command {
    /// List the studies that ship, or print one as a file to start from
    List(list::Args),
    /// Compare the results of two runs of the same study, combination by combination
    Compare(compare::Args),
    /// What security per message and per connection costs
    Messages(messages::Args),
}

/// Runs the subcommand, else the experiment.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.command {
        Some(Command::List(args)) => list::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::Messages(args)) => messages::run(&args),
        None => run::run(&args.run),
    }
}
