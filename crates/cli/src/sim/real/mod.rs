//! `tidegate sim --real`: scenarios on the real gate, with their measured figures beside
//! the simulated ones.

mod experiment;
mod observed;
mod page;
mod schedule;
mod table;

use std::path::Path;

use tidegate_sim::{Scenario, evaluate};

use super::output::{make, save};
use crate::exit::{Outcome, bad_input};
use crate::stdout::print;
use experiment::{GateExperiment, Run};
use observed::Observed;
use schedule::Schedule;
use tidegate_host::Cores;

pub use page::page;

/// The scenarios that run unless others are named: steady load, a crowd and its end,
/// costly pages behind a front page of low cost, a quota, a neighbour, an attack.
pub const SCENARIOS: [&str; 6] =
    ["demo", "flash-crowd", "heavy-later", "quota-cut", "noisy-neighbour", "forged-tickets"];
/// The gate's policies without parameters.
pub const POLICIES: [&str; 3] = ["off", "eac", "tide"];
/// The highest load that is run, as a multiple of the capacity: the driver on one
/// processor cannot offer more.
const HIGHEST_LOAD: f64 = 4.0;

/// A scenario, measured and simulated.
pub struct Comparison {
    pub scenario: Scenario,
    pub load: f64,
    /// Measured capacity of the server, in sessions per second.
    pub capacity_per_s: f64,
    pub pairs: Vec<Pair>,
}

/// The figures under one policy.
pub struct Pair {
    pub policy: &'static str,
    /// The capacity during this run, by the machine's speed: the simulator's input.
    pub capacity_per_s: f64,
    pub measured: Observed,
    pub simulated: Observed,
    /// Why the measured figures are not the server's; empty where they are.
    pub driver_saturated: Vec<String>,
}

/// Runs and simulates each scenario once, at its highest load up to four times the
/// capacity.
///
/// # Errors
/// Bad input: a scenario or a policy that cannot run on the real gate. Otherwise a run
/// failed.
pub fn run(
    scenarios: &[Scenario],
    policies: &[&'static str],
    seeds: u64,
    (server, driver): (Cores, Cores),
    out: &Path,
) -> anyhow::Result<Outcome> {
    let schedules = schedules(scenarios, policies, server.list().len() as f64)?;
    make(out)?;
    let stop = crate::signals::stop_on_signal()?;
    driver.pin_this_thread()?;
    print(format!(
        "Site and gate on processor {server}, customers on processor {driver}. About {:.0} minutes.\n",
        (minutes(scenarios, policies.len())).ceil()
    ))?;
    let mut comparisons = Vec::new();
    for (scenario, schedule) in scenarios.iter().zip(schedules) {
        let experiment = GateExperiment::open(schedule, (&server, &driver), out, &stop)?;
        let comparison = compare(experiment, scenario, policies, seeds)?;
        print(table::text(&comparison))?;
        comparisons.push(comparison);
    }
    write(&comparisons, seeds, out)?;
    Ok(Outcome::Done)
}

fn schedules(
    scenarios: &[Scenario],
    policies: &[&str],
    cpus: f64,
) -> anyhow::Result<Vec<Schedule>> {
    let (schedules, cannot): (Vec<_>, Vec<_>) =
        scenarios.iter().map(|scenario| Schedule::of(scenario, cpus)).partition(Result::is_ok);
    let mut cannot: Vec<String> = cannot.into_iter().filter_map(Result::err).flatten().collect();
    let rivals = policies.iter().filter(|policy| !POLICIES.contains(policy));
    cannot.extend(rivals.map(|policy| {
        format!("--policy {policy}: simulated only; a gate has {}", POLICIES.join(", "))
    }));
    match cannot.is_empty() {
        true => Ok(schedules.into_iter().flatten().collect()),
        false => Err(bad_input(format!("cannot run on the real gate:\n{}", cannot.join("\n")))),
    }
}

fn compare(
    mut experiment: GateExperiment,
    scenario: &Scenario,
    policies: &[&'static str],
    seeds: u64,
) -> anyhow::Result<Comparison> {
    let load = load(scenario);
    print(format!("\n{}: {}\n", scenario.name, scenario.about))?;
    let capacity = experiment.capacity(scenario)?;
    let capacity_per_s = capacity.sessions_per_s;
    let mut pairs = Vec::new();
    for policy in policies {
        let Run { summary, capacity_per_s: now_per_s } =
            experiment.run(scenario, policy, (load, capacity))?;
        // The same arrivals at a machine of the speed that the real one had.
        let twin = Scenario {
            loads: vec![load * capacity_per_s / now_per_s],
            attacks: scenario.attacks.iter().map(|a| a.times(capacity_per_s / now_per_s)).collect(),
            ..scenario.at_capacity(now_per_s)
        };
        let evaluated = evaluate(&twin, policy, 1..=seeds).expect("policies were looked up");
        let simulated = Observed::simulated(&evaluated[0]);
        let measured = Observed::measured(&summary, simulated.best_per_s);
        let driver_saturated = summary.driver.saturated_because;
        pairs.push(Pair {
            policy,
            capacity_per_s: now_per_s,
            measured,
            simulated,
            driver_saturated,
        });
    }
    let scenario = scenario.clone();
    Ok(Comparison { scenario, load, capacity_per_s, pairs })
}

/// The load at which a scenario runs, as a multiple of the capacity.
fn load(scenario: &Scenario) -> f64 {
    scenario.loads.iter().copied().fold(0.0, f64::max).min(HIGHEST_LOAD)
}

fn minutes(scenarios: &[Scenario], policies: usize) -> f64 {
    let seconds = |scenario: &Scenario| 30.0 + (scenario.duration_s + 1.0) * policies as f64;
    scenarios.iter().map(seconds).sum::<f64>() / 60.0
}

fn write(comparisons: &[Comparison], seeds: u64, out: &Path) -> anyhow::Result<()> {
    let points: Vec<_> = comparisons.iter().flat_map(table::json).collect();
    let json = serde_json::json!({ "seeds": seeds, "points": points });
    let figures = save(out, "real.json", serde_json::to_string_pretty(&json)? + "\n")?;
    let page = save(out, "real.html", page(comparisons))?;
    print(format!("\nplots: {}\nfigures: {}\n", page.display(), figures.display()))?;
    Ok(())
}
