//! `tidegate load`: generates load as customers do.

mod args;
mod check;
mod command;
mod compare;
mod drivers;
mod exporters;
pub(crate) mod fleet;
mod import;
mod junit;
mod merge;
mod metrics;
mod names;
mod otlp;
mod page;
mod plan;
mod report;
mod results;
mod run;
mod target;
pub(crate) mod values;
mod view;

use tidegate_load::Scenario;
use tidegate_load::scenario::BUILT_IN;

use crate::exit::{Outcome, bad_input};
use crate::signals::stop_on_signal;
use crate::stdout::{leave_to_result, print};
pub use args::Args;
pub(crate) use command::line as command_line;
use exporters::Exporters;
pub(crate) use plan::scenario;

#[derive(clap::Subcommand)]
enum Command {
    /// Report which figures of two sets of runs differ significantly
    Compare(compare::Args),
    /// Make a scenario from a recording of a browser's session (HAR)
    Import(import::Args),
    /// Add up the results of the shards of one test
    Merge(merge::Args),
    /// Make a page (HTML) from a result
    Report(report::Args),
}

/// Runs the subcommand, prints the requested information, or runs the scenario.
pub fn run(mut args: Args) -> anyhow::Result<Outcome> {
    if std::env::var_os(drivers::message::DRIVER).is_some() {
        return drivers::child::run(|job| {
            target::find(&mut args)?;
            match (&args.command, &args.target) {
                (None, Some(_)) => plan::shard_plan(&args, job),
                _ => Err(bad_input("the arguments of a driver are those of a test")),
            }
        });
    }
    match &args.command {
        Some(Command::Compare(args)) => return compare::run(args),
        Some(Command::Import(args)) => return import::run(args),
        Some(Command::Merge(args)) => return merge::run(args),
        Some(Command::Report(args)) => return report::run(args),
        None => {}
    }
    target::find(&mut args)?;
    if args.list {
        BUILT_IN.iter().try_for_each(|name| {
            let scenario = Scenario::built_in(name).expect("every name of the list is known");
            print(format!("{name:28} {}\n", scenario.description()))
        })?;
        return Ok(Outcome::Done);
    }
    if let Some(name) = &args.show {
        let text = Scenario::built_in_text(name).ok_or_else(|| {
            bad_input(format!("--show {name}: is no built-in scenario; {}", names::built_in(name)))
        })?;
        print(text)?;
        return Ok(Outcome::Done);
    }
    if args.reference {
        print(tidegate_load::scenario::reference())?;
        return Ok(Outcome::Done);
    }
    run_scenario(&args)
}

fn run_scenario(args: &Args) -> anyhow::Result<Outcome> {
    if args.json.as_deref().is_some_and(results::is_stdout) {
        leave_to_result();
    }
    check::check_tls_flags(args)?;
    if args.requests.is_some() {
        eprintln!("--requests is deprecated: give the URL and --rate");
    }
    let plan = plan::plan(args)?;
    check::check(args, &plan)?;
    let mut exporters = Exporters::open(args.metrics, args.otlp.as_deref())?;
    let stop = stop_on_signal()?;
    let (mut runs, mut failed) = (Vec::new(), None);
    for number in 1..=args.repeat {
        let nth = plan::nth(&plan, number, args.repeat);
        match run::run_once(args, nth, number, &stop, &mut exporters) {
            Ok(summary) => runs.push(summary),
            // The results of earlier runs are still written.
            Err(error) => failed = Some(error),
        }
        if failed.is_some() || stop.is_stopped() {
            break;
        }
    }
    let [json, report, junit] = [&args.json, &args.report, &args.junit].map(|it| it.as_deref());
    let files = results::Files { json, report, junit };
    let outcome = if args.repeat == 1 {
        runs.first().map_or(Ok(Outcome::Done), |summary| results::finish_one(summary, files))
    } else {
        results::finish_all(runs, files)
    };
    exporters.finish();
    failed.map_or(outcome, Err)
}
