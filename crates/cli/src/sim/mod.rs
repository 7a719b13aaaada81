//! `tidegate sim`: policies under scenarios, in virtual time, and for comparison
//! on the real gate.

mod ablation;
mod args;
mod costs;
mod fleet;
mod goals_page;
mod output;
mod overview;
mod progress;
mod real;
mod report;
mod results;
mod runs;
mod selection;
mod summary;
mod table;

use std::path::{Path, PathBuf};

use tidegate_sim::{CATALOGUE, Scenario};

use crate::exit::{Outcome, bad_input};
use crate::stdout::print;
use output::{list, make, save};
use progress::Progress;
use summary::Summary;

pub use args::Args;

/// Simulates, writes the page and the figures, prints the tables.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if let Some(args::Command::Fleet(args)) = &args.command {
        return fleet::run(args);
    }
    if args.reference {
        print(tidegate_sim::reference())?;
        return Ok(Outcome::Done);
    }
    if args.costs {
        return costs::run(args);
    }
    if args.list {
        return list(CATALOGUE, Scenario::named);
    }
    if let Some(name) = &args.show {
        print(selection::file(name)?)?;
        return Ok(Outcome::Done);
    }
    let (scenarios, mut policies) = select(&args)?;
    if args.ablation {
        policies = ablation::policies();
    }
    if args.real {
        let cores = tidegate_lab::apart(&args.server_cores, &args.driver_cores)?;
        return real::run(&scenarios, &policies, args.seeds, cores, &args.out);
    }
    let progress = Progress::begin(scenarios.len() * policies.len())?;
    make(&args.out)?;
    let results = runs::simulate(&scenarios, &policies, args.seeds, &progress);
    progress.end();
    let summary = Summary::new(&scenarios, results, args.seeds);
    let page = write(&args.out, &summary)?;
    progress.written();
    if args.ablation {
        print(ablation::text(&summary))?;
        return Ok(Outcome::Done);
    }
    print(table::text(&summary, table::width()))?;
    print(format!("plots: {}\n", page.display()))?;
    let unanswered = summary.unanswered();
    if !unanswered.is_empty() {
        anyhow::bail!("no request was answered in any run of {}", unanswered.join(", "));
    }
    let missed = summary.missed() > 0 || (args.goals && summary.misses_a_goal());
    Ok(if missed { Outcome::GoalMissed } else { Outcome::Done })
}

/// The selected scenarios and policies; where none are named, the defaults.
fn select(args: &Args) -> anyhow::Result<(Vec<Scenario>, Vec<&'static str>)> {
    let (scenarios, policies): (&[&str], &[&str]) = match args.real {
        true => (&real::SCENARIOS, &real::POLICIES),
        false => (CATALOGUE, &["tide"]),
    };
    let mut names = args.scenarios.clone();
    names.extend(args.drawn.iter().flat_map(|drawn| drawn.0.clone()).map(|n| format!("drawn-{n}")));
    let names = selection::or_default(names, scenarios);
    let policies = selection::or_default(args.policy.clone(), policies);
    match (selection::scenarios(&names), selection::policies(&policies)) {
        (Ok(scenarios), Ok(policies)) => Ok((scenarios, policies)),
        (Err(one), Err(other)) => Err(bad_input(format!("{one:#}\n{other:#}"))),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

fn write(out: &Path, summary: &Summary) -> anyhow::Result<PathBuf> {
    save(out, "summary.json", serde_json::to_string_pretty(&summary.json())? + "\n")?;
    save(out, "report.html", report::page(summary))
}
