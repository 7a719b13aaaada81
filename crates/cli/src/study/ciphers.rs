//! `tidegate study ciphers --target URL --scenario FILE`: what TLS costs a site of the user's own,
//! and what to choose.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_host::Provenance;
use tidegate_load::{HeaderField, Plan, Resolve};
use tidegate_study::ciphers::{self, Event, Options};

use super::capacity::{readable, step, threads, time_left};
use super::run::{RunArgs, files};
use crate::exit::{Outcome, bad_input};
use crate::load::{command_line, scenario};
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
    /// The site's processes on this machine, with those behind it, such as 12,34 [default: those
    /// that listen at the target's address]
    #[arg(long, value_name = "PID", value_delimiter = ',', requires = "target")]
    process: Vec<u32>,
    /// Measured time of a run [default: four sessions, at least 0.8s with --quick, else 2.5s]
    #[arg(long, value_name = "TIME", value_parser = step, requires = "target")]
    step: Option<Duration>,
    /// The site is yours, though it is not on this machine
    #[arg(long, requires = "target")]
    yes_this_is_mine: bool,
    /// Addresses of the target in place of those of its name, as in curl
    #[arg(long, value_name = "HOST:PORT:ADDR", value_parser = Resolve::parse, requires = "target")]
    resolve: Vec<Resolve>,
    /// Accept any server certificate
    #[arg(short = 'k', long, requires = "target")]
    insecure: bool,
    /// Certificate authorities to trust instead of the system's (PEM)
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", requires = "target")]
    ca: Option<PathBuf>,
    /// Header field of every request, such as 'Accept: text/html'; repeat the flag for several
    #[arg(short = 'H', long = "header", value_name = "FIELD", value_parser = HeaderField::parse,
          requires = "target")]
    headers: Vec<HeaderField>,
    /// Number of customer accounts that the scenario draws from
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
          requires = "target")]
    customers: Option<u64>,
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
    if !target.contains("://") {
        return Err(bad_input(format!(
            "--target {target}: the scheme is missing; write https://{target}"
        )));
    }
    let mut scenario = scenario(own.scenario.as_deref().unwrap_or_default())?;
    scenario.add_headers(&own.headers);
    let mut plan = Plan::new(scenario, target);
    plan.threads = threads(target, &own.resolve);
    plan.cores = args.driver_cores.as_ref().map(|it| it.list().to_vec()).unwrap_or_default();
    plan.resolve.clone_from(&own.resolve);
    (plan.insecure, plan.attack_remote) = (own.insecure, own.yes_this_is_mine);
    plan.ca = own.ca.clone().map(|ca| readable(&ca).map(|()| ca)).transpose()?;
    (plan.customers, plan.seed) = (own.customers, args.seed);
    Ok(Options {
        plan,
        quick: args.quick,
        out: args.out.clone().unwrap_or_else(|| Path::new("out/study/ciphers-of-site").to_owned()),
        processes: own.process.clone(),
        gate_admin: own.gate_admin.clone(),
        rounds: args.rounds,
        window: own.step,
    })
}
