//! `tidegate tca`: what an operation costs, and how often customers have it.

mod data;
mod live;
mod measure;
mod mixed;
mod profile;

use clap::Subcommand;

use crate::exit::Outcome;

const AFTER: &str = "A measurement offers more load than the site carries. Run it against a site \
                     that is yours, and whose users can do without it meanwhile. docs/tca.md \
                     describes the method.";

/// Flags of `tidegate tca`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = AFTER)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    data: data::DataArgs,
    #[command(flatten)]
    measure: measure::MeasureArgs,
}

/// What `tidegate tca` does beside measuring and computing costs.
#[derive(Subcommand)]
enum Command {
    /// Tell how often a session has each operation, from an access log or a scenario
    Profile(Box<profile::ProfileArgs>),
    /// Tell what requests cost under live traffic, by the readings of the gate before the site
    Live(Box<live::LiveArgs>),
}

/// Runs the subcommand, else measures a site, or computes costs from a table.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    match (args.command, args.measure.what()) {
        (Some(Command::Profile(args)), _) => profile::run(*args),
        (Some(Command::Live(args)), _) => live::run(*args),
        (None, Some((target, scenario))) => measure::run(args.measure, target, &scenario),
        (None, None) => data::run(args.data),
    }
}
