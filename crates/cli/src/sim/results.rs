//! What was simulated: runs by scenario and policy.

use tidegate_sim::{Evaluated, Scenario};

/// Runs of one policy under one scenario.
pub struct Result {
    /// Place of the scenario.
    pub scenario: usize,
    pub policy: &'static str,
    /// One per load.
    pub runs: Vec<Evaluated>,
}

/// All runs.
#[derive(Clone, Copy)]
pub struct Results<'r, 's> {
    pub scenarios: &'s [Scenario],
    /// By scenario, then policy.
    pub all: &'r [Result],
    pub seeds: u64,
}

impl<'r, 's> Results<'r, 's> {
    /// The results of each scenario.
    pub fn by_scenario(self) -> impl Iterator<Item = (&'s Scenario, &'r [Result])> {
        self.all
            .chunk_by(|a, b| a.scenario == b.scenario)
            .map(move |results| (&self.scenarios[results[0].scenario], results))
    }
}
