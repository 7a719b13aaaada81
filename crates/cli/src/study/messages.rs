//! `tidegate study messages`: what the security of messages costs.

use std::path::PathBuf;

use tidegate_study::messages::{self, Options, Volume};

use super::progress::Progress;
use super::run::claims;
use crate::exit::Outcome;
use crate::signals::stop_on_signal;
use crate::stdout::print;

/// Flags of the study.
#[derive(clap::Args)]
pub struct Args {
    /// One round of shorter series, at most ten minutes; its figures are rough
    #[arg(long)]
    quick: bool,
    /// Folder of the results
    #[arg(long, value_name = "DIR", default_value = "out/study/messages")]
    out: PathBuf,
    /// Continue a study that stopped: what is complete is not measured again
    #[arg(long)]
    resume: bool,
    /// Seed of the order of the configurations
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Requests of each long series, 20 to 1000000; shorter series are in proportion
    /// [default: 3900, with --quick 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(20..=1_000_000))]
    requests: Option<u32>,
    /// How often every configuration is measured, 1 to 100 [default: 3, with --quick 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// Leave out the configurations on Java; they are left out as well where Java, Tomcat or
    /// the built services are missing
    #[arg(long)]
    without_java: bool,
}

/// Runs the study, and prints its claims.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut volume = Volume::usual(args.quick);
    if let Some(requests) = args.requests {
        volume.requests = requests as usize;
    }
    if let Some(rounds) = args.rounds {
        volume.rounds = rounds;
    }
    let options = Options {
        out: args.out.clone(),
        quick: args.quick,
        resume: args.resume,
        seed: args.seed,
        volume: Some(volume),
        without_java: args.without_java,
    };
    let stop = stop_on_signal()?;
    let mut progress = Progress::new();
    let summary = messages::run(&options, &stop, &mut |event| progress.show(&event))?;
    progress.end();
    print(claims(&summary))?;
    let file = |name: &str| options.out.join(name).display().to_string();
    print(format!("\nreport: {}\nfigures: {}\n", file("report.html"), file("summary.json")))?;
    Ok(Outcome::Done)
}
