//! `tidegate study`: runs experiments end to end, lists those that ship, compares and
//! publishes results.

pub(crate) mod capacity;
mod ciphers;
mod compare;
mod list;
mod progress;
mod publish;
pub(crate) mod run;

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
    /// Find how many customers an HTTPS site of your own carries, and what limits it
    Capacity(Box<capacity::Args>),
    /// List the studies that ship, or print one as a file to start from
    List(list::Args),
    /// Compare the results of two runs of the same study, combination by combination
    Compare(compare::Args),
    /// Write the tables, figures and first table of a finished study beside its page
    Publish(publish::Args),
}

/// Runs the subcommand, else the experiment.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.command {
        Some(Command::Capacity(args)) => capacity::run(*args),
        Some(Command::List(args)) => list::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::Publish(args)) => publish::run(&args),
        None => match &args.run.own.target {
            Some(target) => ciphers::run(&args.run, target),
            None => run::run(&args.run),
        },
    }
}
