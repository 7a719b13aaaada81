//! `tidegate site brokerage`: the three tiers, together or one alone.

mod all;
mod args;
mod card_processor;
mod files;
mod logging;
mod one;

pub use args::Args;

use tidegate_brokerage::TIERS;
use tidegate_brokerage::web::stub_call;

use super::certificates::make_ca;
use super::error::classify;
use crate::exit::{Outcome, bad_input};

/// Serves until SIGTERM or SIGINT, or makes certificates or a key.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if args.stub_call {
        logging::begin("stub", tracing::Level::WARN);
        stub_call().map_err(classify)?;
        return Ok(Outcome::Done);
    }
    if let Some(folder) = &args.make_ca {
        return make_ca(folder, &TIERS);
    }
    if let Some(file) = &args.make_key {
        return files::make_key(file, args.cipher);
    }
    if let Some(flag) = args.flag_without_tls() {
        return Err(bad_input(format!(
            "{flag}: is for TLS of the browsers, which the default --security none has not; add \
             --security tls, tls+backend or modern"
        )));
    }
    match args.tier {
        None if !args.next.is_empty() => Err(bad_input(
            "--next: is for a tier alone; name the tier with --tier web or --tier app",
        )),
        None => all::run(&args),
        Some(tier) if args.app_servers != 1 => Err(bad_input(format!(
            "--app-servers: is for all tiers together; start each with --tier app and name \
             them all by --next of the web tier, instead of --tier {}",
            tier.name()
        ))),
        Some(tier) if args.card => Err(bad_input(format!(
            "--card: is for all tiers together; start `tidegate site card` by itself, and name it \
             by --card-processor of --tier app, instead of --tier {}",
            tier.name()
        ))),
        Some(tier) => one::run(&args, tier),
    }
}
