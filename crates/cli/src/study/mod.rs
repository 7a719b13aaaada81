//! `tidegate study`: experiments from end to end.

mod capacity;

use crate::exit::Outcome;

/// Flags of `tidegate study`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Find how many customers an HTTPS site of your own carries, and what limits it
    Capacity(Box<capacity::Args>),
}

/// Runs a study.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.command {
        Command::Capacity(args) => capacity::run(*args),
    }
}
