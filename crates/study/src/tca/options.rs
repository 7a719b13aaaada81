//! What is measured, and how long.

use std::path::PathBuf;
use std::time::Duration;

use tidegate_load::Plan;
use tidegate_plan::profile::Profile;

use super::resources::Named;
use crate::site::step::Limit;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// The load, but for its rates and times: the site, the scenario, the threads and the seed.
    pub plan: Plan,
    /// At most ten minutes, with rougher figures; else up to an hour.
    pub quick: bool,
    /// Folder of the results.
    pub out: PathBuf,
    /// The site's processes; empty for those that listen at the target's address.
    pub processes: Vec<u32>,
    /// Groups of processes that the operator names.
    pub resources: Vec<Named>,
    /// What customers do, where it is not what the scenario does.
    pub profile: Option<Profile>,
    /// The page that is an order.
    pub order: Option<String>,
    /// Use that processors may come to, above 0, at most 1.
    pub target_use: f64,
    /// Megahertz of a processor, to print costs in megacycles.
    pub mhz: Option<f64>,
    /// The response times that count as served in the verification.
    pub limit: Limit,
    /// Factor on think times in the verification.
    pub time_scale: Option<f64>,
    /// Length of a run.
    pub window: Option<Duration>,
}

/// The times and numbers of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Design {
    /// Loads of an operation, as multiples of the rate at which its busiest resource is used for
    /// seven tenths of the time.
    pub(super) loads: &'static [f64],
    /// Times that every load of every operation is measured.
    pub(super) rounds: u32,
    /// Trials of a search at most.
    pub(super) trials: usize,
    /// Length of a run and of a trial.
    pub(super) window: Duration,
    pub(super) trial: Duration,
    /// Of the look at what customers do.
    pub(super) mix: Duration,
    /// Of the look at the site while nobody comes.
    pub(super) idle: Duration,
    /// For all steps of the verification together.
    pub(super) verification: Duration,
    /// Least measured window of one of them.
    pub(super) shortest: Duration,
}

const QUICK: [f64; 4] = [0.3, 0.6, 0.9, 1.2];
const FULL: [f64; 8] = [0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 1.1, 1.3];

impl Options {
    /// The design for so many operations: it keeps to ten minutes with `quick`, else to an hour.
    pub(super) fn design(&self, operations: usize) -> Design {
        let seconds = Duration::from_secs_f64;
        let (loads, rounds, trials, budget): (&[f64], u32, usize, f64) = match self.quick {
            true => (&QUICK, 1, 3, 390.0),
            false => (&FULL, 2, 5, 2400.0),
        };
        let operations = operations.max(1) as f64;
        // A trial is half as long as a run; a probe of one customer is as long as a trial.
        let runs =
            operations * (loads.len() as f64 * f64::from(rounds) + 0.5 * (1.0 + trials as f64));
        let (shortest, longest) = if self.quick { (1.0, 8.0) } else { (3.0, 20.0) };
        let window =
            self.window.unwrap_or_else(|| seconds((budget / runs).clamp(shortest, longest)));
        let long = |full: f64| seconds(if self.quick { full / 2.0 } else { full });
        Design {
            loads,
            rounds,
            trials,
            window,
            trial: window.div_f64(2.0).max(seconds(0.2)),
            mix: self.window.map_or(long(16.0), |it| 2 * it),
            idle: self.window.unwrap_or(long(6.0)),
            verification: self
                .window
                .map_or(seconds(if self.quick { 150.0 } else { 900.0 }), |it| 30 * it),
            shortest: self.window.unwrap_or(long(10.0)),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use tidegate_load::Scenario;

    pub(in crate::tca) fn options(scenario: &str) -> Options {
        let scenario = Scenario::from_toml(scenario, "shop.toml").unwrap();
        Options {
            plan: Plan { insecure: true, ..Plan::new(scenario, "https://127.0.0.1:8443") },
            quick: true,
            out: "out".into(),
            processes: Vec::new(),
            resources: Vec::new(),
            profile: None,
            order: None,
            target_use: 1.0,
            mhz: None,
            limit: Limit { ms: 500.0, percentile: 95 },
            time_scale: None,
            window: None,
        }
    }

    const PAGE: &str = "[session]\nsteps = [\"A\"]\n[pages]\nA = { path = \"/\" }\n";

    #[test]
    fn a_quick_design_keeps_to_ten_minutes_with_every_site() {
        for operations in [1, 9, 26, 60] {
            let design = options(PAGE).design(operations);
            let trials = design.trial * (1 + design.trials as u32);
            let each = design.window * design.loads.len() as u32 * design.rounds + trials;
            let all = each * operations as u32 + design.mix + design.idle + design.verification;
            assert!(all <= Duration::from_secs(600) || operations > 40, "{operations}: {all:?}");
        }
    }

    #[test]
    fn loads_rise_from_light_to_beyond_the_rate_that_they_are_shares_of() {
        for quick in [true, false] {
            let loads = Options { quick, ..options(PAGE) }.design(9).loads;
            assert!(loads.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(loads[0] <= 0.3 && loads[loads.len() - 1] > 1.0 && loads.len() >= 4);
        }
    }
}
