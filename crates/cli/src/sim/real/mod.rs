//! `tidegate sim --real`: scenarios on the real gate, with their measured figures beside
//! the simulated ones.

mod conditions;
mod observed;
mod page;
mod runs;
mod table;

use std::path::Path;

use tidegate_sim::{Scenario, evaluate};

use super::output::{make, save};
use crate::exit::{Outcome, bad_input};
use crate::stdout::print;
use crate::testbed::to_the_end;
use conditions::Conditions;
use observed::Observed;
use runs::{GateRuns, Measured};
use tidegate_experiment::{Bench, Resources, Schedule, conduct};
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
    pub policy: String,
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
    let conditions = conditions(scenarios, policies, server.list().len() as f64)?;
    make(out)?;
    let stop = crate::signals::stop_on_signal()?;
    let resources = Resources::whole_cores(&server, &driver)?;
    let runs = |(scenario, conditions)| {
        GateRuns::new(scenario, conditions, (policies, load(scenario)), &resources)
    };
    let all: Vec<GateRuns> = scenarios.iter().zip(&conditions).map(runs).collect();
    let left: f64 = all.iter().filter_map(|runs| Some(runs.left()?.as_secs_f64())).sum();
    print(format!(
        "Site and gate on processor {server}, customers on processor {driver}. About {:.0} minutes.\n",
        (left / 60.0).ceil()
    ))?;
    let mut bench = Bench::anew(&resources, out, &stop)?;
    let mut comparisons = Vec::new();
    for (scenario, mut runs) in scenarios.iter().zip(all) {
        print(format!("\n{}: {}\n", scenario.name, scenario.about))?;
        to_the_end(conduct(&mut runs, &mut bench, &mut |_| ()), &stop)?;
        let comparison = compare(runs.finish(), scenario, seeds);
        print(table::text(&comparison))?;
        comparisons.push(comparison);
    }
    write(&comparisons, seeds, out)?;
    Ok(Outcome::Done)
}

fn conditions(
    scenarios: &[Scenario],
    policies: &[&str],
    cpus: f64,
) -> anyhow::Result<Vec<Conditions>> {
    let (conditions, cannot): (Vec<_>, Vec<_>) =
        scenarios.iter().map(|scenario| Conditions::of(scenario, cpus)).partition(Result::is_ok);
    let mut cannot: Vec<String> = cannot.into_iter().filter_map(Result::err).flatten().collect();
    let rivals = policies.iter().filter(|policy| !POLICIES.contains(policy));
    cannot.extend(rivals.map(|policy| {
        format!("--policy {policy}: simulated only; a gate has {}", POLICIES.join(", "))
    }));
    match cannot.is_empty() {
        true => Ok(conditions.into_iter().flatten().collect()),
        false => Err(bad_input(format!("cannot run on the real gate:\n{}", cannot.join("\n")))),
    }
}

fn compare(
    (capacity_per_s, measured): (f64, Vec<Measured>),
    scenario: &Scenario,
    seeds: u64,
) -> Comparison {
    let load = load(scenario);
    let pair = |Measured { record, seconds, capacity_per_s: now_per_s }: Measured| {
        let policy = record.planned.settings.policy.clone();
        // The same arrivals at a machine of the speed that the real one had.
        let twin = Scenario {
            loads: vec![load * capacity_per_s / now_per_s],
            attacks: scenario.attacks.iter().map(|a| a.times(capacity_per_s / now_per_s)).collect(),
            ..scenario.at_capacity(now_per_s)
        };
        let evaluated = evaluate(&twin, &policy, 1..=seeds).expect("policies were looked up");
        let simulated = Observed::simulated(&evaluated[0]);
        let measured = Observed::measured(&record, &seconds, simulated.best_per_s);
        let driver_saturated = record.driver_saturated;
        Pair { policy, capacity_per_s: now_per_s, measured, simulated, driver_saturated }
    };
    let pairs = measured.into_iter().map(pair).collect();
    Comparison { scenario: scenario.clone(), load, capacity_per_s, pairs }
}

/// The load at which a scenario runs, as a multiple of the capacity.
fn load(scenario: &Scenario) -> f64 {
    scenario.loads.iter().copied().fold(0.0, f64::max).min(HIGHEST_LOAD)
}

fn write(comparisons: &[Comparison], seeds: u64, out: &Path) -> anyhow::Result<()> {
    let points: Vec<_> = comparisons.iter().flat_map(table::json).collect();
    let json = serde_json::json!({ "seeds": seeds, "points": points });
    let figures = save(out, "real.json", serde_json::to_string_pretty(&json)? + "\n")?;
    let page = save(out, "real.html", page(comparisons))?;
    print(format!("\nplots: {}\nfigures: {}\n", page.display(), figures.display()))?;
    Ok(())
}
