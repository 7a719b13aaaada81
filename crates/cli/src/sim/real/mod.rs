//! Scenarios on the real gate: site, gate and customers play them, and what came
//! of it stands beside what the simulator says.

mod act;
mod page;
mod seen;
mod stage;
mod table;

use std::path::Path;

use tidegate_sim::{Scenario, judged};

use crate::exit::{Outcome, bad_input};
use crate::stdout::print;
use act::Act;
use seen::Seen;
use stage::{Played, Stage};
use tidegate_host::Cores;

pub use page::page;

/// What is played if nothing else is asked for: steady load, a crowd and its
/// end, dear pages behind a cheap one, a quota, a neighbour, an attack.
pub const SCENARIOS: [&str; 6] =
    ["demo", "flash-crowd", "heavy-later", "quota-cut", "noisy-neighbour", "forged-tickets"];
/// The policies that a gate has and that need no parameter.
pub const POLICIES: [&str; 3] = ["off", "eac", "tide"];
/// The heaviest load that is played, in capacities: more is more than a driver
/// on one processor puts on.
const HEAVIEST: f64 = 4.0;

/// A scenario played and simulated.
pub struct Comparison {
    pub scenario: Scenario,
    pub load: f64,
    /// Sessions per second that the server was found to carry.
    pub capacity_per_s: f64,
    pub pairs: Vec<Pair>,
}

/// What came of it under one policy.
pub struct Pair {
    pub policy: &'static str,
    /// What it carried in this run, by its speed: what the simulator was told.
    pub capacity_per_s: f64,
    pub measured: Seen,
    pub simulated: Seen,
    /// Why the measured figures are not the server's; empty if they are.
    pub driver_saturated: Vec<String>,
}

/// Plays and simulates each scenario, once, at its heaviest load up to four
/// times the capacity.
///
/// # Errors
/// Bad input: a scenario or a policy that cannot be played, processors that are
/// not there. Otherwise when a run fails.
pub fn run(
    scenarios: &[Scenario],
    policies: &[&'static str],
    seeds: u64,
    (server, driver): (Cores, Cores),
    out: &Path,
) -> anyhow::Result<Outcome> {
    let acts = acts(scenarios, policies, server.list().len() as f64)?;
    super::make(out)?;
    let stop = crate::signals::stop_on_signal()?;
    driver.pin_this_thread()?;
    print(format!(
        "Site and gate on processor {server}, customers on processor {driver}. About {:.0} minutes.\n",
        (minutes(scenarios, policies.len())).ceil()
    ))?;
    let mut comparisons = Vec::new();
    for (scenario, act) in scenarios.iter().zip(acts) {
        let stage = Stage::open(act, (&server, &driver), out, &stop)?;
        let comparison = compare(stage, scenario, policies, seeds)?;
        print(table::text(&comparison))?;
        comparisons.push(comparison);
    }
    write(&comparisons, seeds, out)?;
    Ok(Outcome::Done)
}

fn acts(scenarios: &[Scenario], policies: &[&str], cpus: f64) -> anyhow::Result<Vec<Act>> {
    let (acts, cannot): (Vec<_>, Vec<_>) =
        scenarios.iter().map(|scenario| Act::of(scenario, cpus)).partition(Result::is_ok);
    let mut cannot: Vec<String> = cannot.into_iter().filter_map(Result::err).flatten().collect();
    let rivals = policies.iter().filter(|policy| !POLICIES.contains(policy));
    cannot.extend(rivals.map(|policy| {
        format!("--policy {policy}: simulated only; a gate has {}", POLICIES.join(", "))
    }));
    match cannot.is_empty() {
        true => Ok(acts.into_iter().flatten().collect()),
        false => Err(bad_input(format!("cannot be played for real:\n{}", cannot.join("\n")))),
    }
}

fn compare(
    mut stage: Stage,
    scenario: &Scenario,
    policies: &[&'static str],
    seeds: u64,
) -> anyhow::Result<Comparison> {
    let load = load(scenario);
    print(format!("\n{}: {}\n", scenario.name, scenario.about))?;
    let capacity = stage.capacity(scenario)?;
    let capacity_per_s = capacity.sessions_per_s;
    let mut pairs = Vec::new();
    for policy in policies {
        let Played { summary, capacity_per_s: now_per_s } =
            stage.play(scenario, policy, (load, capacity))?;
        // As many customers come to a machine that is as fast as the real one was.
        let twin = Scenario {
            loads: vec![load * capacity_per_s / now_per_s],
            attacks: scenario.attacks.iter().map(|a| a.times(capacity_per_s / now_per_s)).collect(),
            ..scenario.at_capacity(now_per_s)
        };
        let judged = judged(&twin, policy, 1..=seeds).expect("policies were looked up");
        let simulated = Seen::simulated(&judged[0]);
        let measured = Seen::measured(&summary, simulated.best_per_s);
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

/// The heaviest load of a scenario that is played.
fn load(scenario: &Scenario) -> f64 {
    scenario.loads.iter().copied().fold(0.0, f64::max).min(HEAVIEST)
}

fn minutes(scenarios: &[Scenario], policies: usize) -> f64 {
    let seconds = |scenario: &Scenario| 30.0 + (scenario.duration_s + 1.0) * policies as f64;
    scenarios.iter().map(seconds).sum::<f64>() / 60.0
}

fn write(comparisons: &[Comparison], seeds: u64, out: &Path) -> anyhow::Result<()> {
    let points: Vec<_> = comparisons.iter().flat_map(table::json).collect();
    let json = serde_json::json!({ "seeds": seeds, "points": points });
    let figures = super::save(out, "real.json", serde_json::to_string_pretty(&json)? + "\n")?;
    let page = super::save(out, "real.html", page(comparisons))?;
    print(format!("\nplots: {}\nfigures: {}\n", page.display(), figures.display()))?;
    Ok(())
}
