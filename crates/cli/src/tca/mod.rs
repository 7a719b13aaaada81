//! `tidegate tca`: what an operation costs.

mod data;
mod mixed;

use crate::exit::Outcome;

/// Flags of `tidegate tca`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    data: data::DataArgs,
}

/// Computes costs from a table.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    data::run(args.data)
}
