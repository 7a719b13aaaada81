//! `tidegate study ciphers --target URL --scenario FILE`: what TLS costs a site of the user's own,
//! and what to choose.

use std::path::Path;
use std::time::Duration;

use tidegate_host::Provenance;
use tidegate_study::ciphers::{self, Event, Options};

use super::capacity::{step, time_left};
use super::run::{RunArgs, files};
use crate::exit::{Outcome, bad_input};
use crate::load::{command_line, scenario};
use crate::own_site::{SiteArgs, check_scheme};
use crate::signals::stop_on_signal;
use crate::stdout::print;

/// The study that measures a site of the user's own.
const STUDY: &str = "ciphers";

/// Flags of a site of the user's own.
#[derive(clap::Args)]
#[command(next_help_heading = "A site of your own, with `tidegate study ciphers`")]
pub struct OwnSite {
    /// The site, such as https://127.0.0.1:8443: what it offers is measured, in place of the study
    /// that ships
    #[arg(long, value_name = "URL", requires = "scenario",
          conflicts_with_all = ["resume", "requests", "server_cores", "without_java"])]
    pub target: Option<String>,
    /// What customers do: a scenario file, or the name of a built-in scenario
    #[arg(long, value_name = "FILE|NAME", requires = "target")]
    scenario: Option<String>,
    /// The gate before the site: its admin address, such as http://127.0.0.1:9443, whose clocks
    /// tell handshakes apart
    #[arg(long, value_name = "URL", requires = "target")]
    gate_admin: Option<String>,
    /// Measured time of a run [default: four sessions, at least 0.8s with --quick, else 2.5s]
    #[arg(long, value_name = "TIME", value_parser = step, requires = "target")]
    step: Option<Duration>,
    #[command(flatten)]
    site: SiteArgs,
}

/// Measures the site.
///
/// # Errors
/// A mistake of the operator's, or what failed.
pub fn run(args: &RunArgs, target: &str) -> anyhow::Result<Outcome> {
    let mut options = options(args, target)?;
    let mut provenance = Provenance::read();
    provenance.command = command_line();
    options.plan.stop = stop_on_signal()?;
    let report = ciphers::study(&options, provenance, &mut |event| {
        let text = match event {
            Event::Note(text) => tidegate_load::paragraph("", &text),
            Event::Trial(trial, kind, left) => {
                format!("{}  {}", ciphers::line(trial, kind), time_left(left))
            }
        };
        // A reader that is gone does not affect the measurement.
        drop(print(format!("{}\n", text.trim_end())));
    })?;
    print(ciphers::terminal(&report))?;
    print(files(&options.out))?;
    if options.quick {
        print("The figures of --quick are rough.\n")?;
    }
    Ok(Outcome::Done)
}

fn options(args: &RunArgs, target: &str) -> anyhow::Result<Options> {
    let own = &args.own;
    let study = args.study.as_deref().unwrap_or_default();
    if study != STUDY {
        return Err(bad_input(format!(
            "--target {target}: the study {study} has systems of its own; `tidegate study {STUDY}` measures a site of yours, `tidegate study capacity` finds what it carries"
        )));
    }
    check_scheme(target)?;
    let scenario = scenario(own.scenario.as_deref().unwrap_or_default())?;
    let mut plan = own.site.plan(scenario, target)?;
    plan.cores = args.driver_cores.as_ref().map(|it| it.list().to_vec()).unwrap_or_default();
    plan.seed = args.seed;
    Ok(Options {
        plan,
        quick: args.quick,
        out: args.out.clone().unwrap_or_else(|| Path::new("out/study/ciphers-of-site").to_owned()),
        processes: own.site.process.clone(),
        gate_admin: own.gate_admin.clone(),
        rounds: args.rounds,
        window: own.step,
    })
}
