//! `tidegate sim`: policies under scenarios, in virtual time, and for comparison
//! on the real gate.

mod ablation;
mod asked;
mod costs;
mod goals_page;
mod overview;
mod progress;
mod real;
mod report;
mod results;
mod runs;
mod summary;
mod table;

use std::path::{Path, PathBuf};

use anyhow::Context;
use tidegate_sim::{CATALOGUE, Scenario};

use crate::exit::{Outcome, bad_input};
use crate::stdout::print;
use asked::Numbers;
use progress::Progress;
use summary::Summary;
use tidegate_host::Cores;

/// Flags of `tidegate sim`.
#[derive(clap::Args)]
pub struct Args {
    /// Scenarios of the catalogue, drawn ones (drawn-17), or files of your own
    /// [default: the whole catalogue; with --real, six of it]
    #[arg(value_name = "SCENARIO|FILE.toml")]
    scenarios: Vec<String>,
    /// Scenarios that are drawn at random, 1 to N or those numbers: nothing was
    /// tuned on them
    #[arg(long, value_name = "N|FROM-TO", conflicts_with = "real")]
    drawn: Option<Numbers>,
    /// Policies side by side, or "all" [default: tide; with --real, off,eac,tide]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    policy: Vec<String>,
    /// Compare tide with tide without each of its parts, in one table; figures alone, no
    /// verdict
    #[arg(long, conflicts_with_all = ["policy", "real", "costs", "goals"])]
    ablation: bool,
    /// Exit with 1 where tide misses a goal as well (without tide, where the last
    /// policy does); else goals are information
    #[arg(long, conflicts_with = "real")]
    goals: bool,
    /// Play the scenarios with the real site, gate and customers as well, on two
    /// processors, and show measured beside simulated
    #[arg(long)]
    real: bool,
    /// Compare ways to learn what a connection costs instead of policies, with the
    /// truth beside them; SCENARIO is then a course of `--costs --list`, a scenario
    /// or a file. With --real, by readings of the real gate
    #[arg(long, conflicts_with = "policy")]
    costs: bool,
    /// With --real, processors of site and gate [default: the first allowed]
    #[arg(long, value_name = "LIST", requires = "real")]
    server_cores: Option<Cores>,
    /// With --real, processors of the customers [default: the second allowed]
    #[arg(long, value_name = "LIST", requires = "real")]
    driver_cores: Option<Cores>,
    /// Runs of each, with seeds 1 to N; figures are their means
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// Folder for the page with plots and for summary.json
    #[arg(long, value_name = "DIR", default_value = "out/sim")]
    out: PathBuf,
    /// Name the scenarios of the catalogue and stop
    #[arg(long)]
    list: bool,
    /// Print the text of a scenario, to begin one of your own from, and stop
    #[arg(long, value_name = "SCENARIO")]
    show: Option<String>,
}

/// Simulates, writes the page and the figures, prints the tables.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if args.costs {
        return costs::run(args);
    }
    if args.list {
        return list(CATALOGUE, Scenario::named);
    }
    if let Some(name) = &args.show {
        print(asked::file(name)?)?;
        return Ok(Outcome::Done);
    }
    let (scenarios, mut policies) = asked(&args)?;
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

/// Names scenarios that ship, each with what it is about.
fn list(names: &[&str], named: impl Fn(&str) -> Option<Scenario>) -> anyhow::Result<Outcome> {
    for name in names {
        let scenario = named(name).expect("it ships");
        print(format!("{name:<20} {}\n", scenario.about))?;
    }
    Ok(Outcome::Done)
}

/// Scenarios and policies: those asked for, else those that are usual.
fn asked(args: &Args) -> anyhow::Result<(Vec<Scenario>, Vec<&'static str>)> {
    let (scenarios, policies): (&[&str], &[&str]) = match args.real {
        true => (&real::SCENARIOS, &real::POLICIES),
        false => (CATALOGUE, &["tide"]),
    };
    let mut names = args.scenarios.clone();
    names.extend(args.drawn.iter().flat_map(|drawn| drawn.0.clone()).map(|n| format!("drawn-{n}")));
    let names = asked::or_usual(names, scenarios);
    let policies = asked::or_usual(args.policy.clone(), policies);
    match (asked::scenarios(&names), asked::policies(&policies)) {
        (Ok(scenarios), Ok(policies)) => Ok((scenarios, policies)),
        (Err(one), Err(other)) => Err(bad_input(format!("{one:#}\n{other:#}"))),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

/// Makes the folder for the results, and makes sure that they can be written there,
/// before anything takes time.
fn make(out: &Path) -> anyhow::Result<()> {
    let probe = out.join(format!(".tidegate-{}", std::process::id()));
    let tried = std::fs::create_dir_all(out)
        .and_then(|()| std::fs::write(&probe, ""))
        .and_then(|()| std::fs::remove_file(&probe));
    tried.map_err(|error| {
        let out = out.display();
        bad_input(format!("--out {out}: {error}; name a folder that may be made and written to"))
    })
}

fn write(out: &Path, summary: &Summary) -> anyhow::Result<PathBuf> {
    save(out, "summary.json", serde_json::to_string_pretty(&summary.json())? + "\n")?;
    save(out, "report.html", report::page(summary))
}

/// Writes a file into a folder that is there.
fn save(out: &Path, name: &str, text: String) -> anyhow::Result<PathBuf> {
    let file = out.join(name);
    std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}
