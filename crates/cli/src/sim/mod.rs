//! `tidegate sim`: policies under scenarios, in virtual time, and for comparison
//! on the real gate.

mod costs;
mod real;
mod report;
mod summary;
mod table;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use tidegate_control::sim::{CATALOGUE, Scenario, judged, policies};

use crate::cores::Cores;
use crate::exit::{Outcome, bad_input};
use summary::{Result, Summary};

/// Flags of `tidegate sim`.
#[derive(clap::Args)]
pub struct Args {
    /// Scenarios of the catalogue, or files of your own [default: the whole
    /// catalogue; with --real, six of it]
    #[arg(value_name = "SCENARIO|FILE.toml")]
    scenarios: Vec<String>,
    /// Policies side by side, or "all" [default: tide; with --real, off,eac,tide]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    policy: Vec<String>,
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

/// Simulates, prints the table, writes the page.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if args.costs {
        return costs::run(args);
    }
    if args.list {
        for name in CATALOGUE {
            let scenario = Scenario::named(name).expect("it is in the catalogue");
            println!("{name:<20} {}", scenario.about);
        }
        return Ok(Outcome::Done);
    }
    if let Some(name) = &args.show {
        let text = tidegate_control::sim::text(name).ok_or_else(|| unknown(name))?;
        print!("{text}");
        return Ok(Outcome::Done);
    }
    let (usual, usual_policies): (&[&str], &[&str]) = match args.real {
        true => (&real::SCENARIOS, &real::POLICIES),
        false => (CATALOGUE, &["tide"]),
    };
    let scenarios = all(&or(&args.scenarios, usual), scenario)?;
    let policies = policies(&or(&args.policy, usual_policies))?;
    if args.real {
        let cores = Cores::apart(&args.server_cores, &args.driver_cores)?;
        return real::run(&scenarios, &policies, args.seeds, cores, &args.out);
    }
    let results = simulate(&scenarios, &policies, args.seeds);
    let summary = Summary::new(&scenarios, results, args.seeds);
    print!("{}", table::text(&summary));
    write(&args.out, &summary)?;
    let unanswered = summary.unanswered();
    if !unanswered.is_empty() {
        anyhow::bail!("no request was answered in any run of {}", unanswered.join(", "));
    }
    Ok(if summary.missed() == 0 { Outcome::Done } else { Outcome::GoalMissed })
}

/// What was asked for, or what is usual.
fn or<'a>(asked: &'a [String], usual: &[&'a str]) -> Vec<&'a str> {
    match asked {
        [] => usual.to_vec(),
        asked => asked.iter().map(String::as_str).collect(),
    }
}

/// All scenarios, or every mistake in what was asked for.
fn all(
    asked: &[&str],
    scenario: impl Fn(&str) -> anyhow::Result<Scenario>,
) -> anyhow::Result<Vec<Scenario>> {
    let (found, mistakes): (Vec<_>, Vec<_>) =
        asked.iter().map(|name| scenario(name)).partition(std::result::Result::is_ok);
    if mistakes.is_empty() {
        return Ok(found.into_iter().flatten().collect());
    }
    let lines = mistakes.into_iter().filter_map(std::result::Result::err);
    let lines: Vec<_> = lines.map(|error| format!("{error:#}")).collect();
    Err(bad_input(lines.join("\n")))
}

fn scenario(name: &str) -> anyhow::Result<Scenario> {
    if !name.ends_with(".toml") {
        return Scenario::named(name).ok_or_else(|| unknown(name));
    }
    let text = std::fs::read_to_string(name).with_context(|| format!("cannot read {name}"))?;
    Scenario::from_toml(&text, name).map_err(anyhow::Error::msg)
}

fn unknown(name: &str) -> anyhow::Error {
    bad_input(format!(
        "{name}: no such scenario; `tidegate sim --list` names them, and a file of your own ends \
         in .toml"
    ))
}

fn policies(asked: &[&str]) -> anyhow::Result<Vec<&'static str>> {
    if asked.contains(&"all") {
        return Ok(policies::NAMES.to_vec());
    }
    let known = |name: &&str| policies::NAMES.into_iter().find(|known| known == name);
    match asked.iter().find(|name| known(name).is_none()) {
        None => Ok(asked.iter().filter_map(known).collect()),
        Some(name) => Err(bad_input(format!(
            "--policy {name}: no such policy; known are {} and all",
            policies::NAMES.join(", ")
        ))),
    }
}

/// Runs everything, on as many threads as there are processors; in the order of
/// scenarios, then policies.
fn simulate(scenarios: &[Scenario], policies: &[&'static str], seeds: u64) -> Vec<Result> {
    let tasks: Vec<(usize, &str)> = (0..scenarios.len())
        .flat_map(|scenario| policies.iter().map(move |policy| (scenario, *policy)))
        .collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((scenario, policy)) = tasks.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let runs = judged(&scenarios[*scenario], policy, seeds);
                    let runs = runs.expect("policies were looked up");
                    let mut done = done.lock().expect("nobody panics with it");
                    done.push(Result { scenario: *scenario, policy, runs });
                }
            });
        }
    });
    let mut done = done.into_inner().expect("nobody panics with it");
    let rank = |policy: &str| policies.iter().position(|name| *name == policy);
    done.sort_by_key(|result| (result.scenario, rank(result.policy)));
    done
}

fn write(out: &Path, summary: &Summary) -> anyhow::Result<()> {
    save(out, "summary.json", serde_json::to_string_pretty(&summary.json())? + "\n")?;
    let page = save(out, "report.html", report::page(summary))?;
    println!("plots: {}", page.display());
    Ok(())
}

/// Writes a file into a folder, which is made if it is not there.
fn save(out: &Path, name: &str, text: String) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let file = out.join(name);
    std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}
