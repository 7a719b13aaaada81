//! An experiment: customers on the driver's processors before the gates of a testbed.

use std::time::Duration;

use tidegate_host::Cores;
use tidegate_load::{Arrivals, Plan, Scenario, Snapshot, Summary};

use crate::capacity::CapacityEstimate;
use crate::error::{Error, Result};
use crate::testbed::Testbed;

/// The customers' scenario: the bidding mix with every row divided by its sum, sessions of
/// a dozen requests.
pub const CUSTOMERS: &str = "auction-bidding-normalised";
/// Mean think time and patience of [`CUSTOMERS`], in seconds.
pub const THINK_S: f64 = 7.0;
/// See [`THINK_S`].
pub const PATIENCE_S: f64 = 10.0;
/// Factor of all customers' times. Customers think 175 ms instead of 7 s and leave after
/// 250 ms instead of 10 s, so that a session takes seconds.
pub const TIME_SCALE: f64 = 1.0 / 40.0;

/// Sessions per second of the first probe: a light load for any machine that can compile
/// this program.
const FIRST_PROBE_PER_S: f64 = 15.0;
/// The further probes' shares of the estimate before them. Work costs more on a processor
/// that mostly sleeps, so a light probe underestimates the capacity.
const PROBE_SHARES: [f64; 2] = [0.6, 0.8];

/// What the runs of an experiment have in common.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Processors of the customers.
    pub driver: Cores,
    /// What customers do.
    pub scenario: Scenario,
    /// Factor of all customers' times.
    pub time_scale: f64,
    /// Factor of the customers' patience, on top of that.
    pub patience_scale: f64,
    /// Seed of the customers' choices.
    pub seed: u64,
}

/// Runs a plan, and calls the observer with its snapshots.
pub type Run<'a, E> = &'a mut dyn FnMut(Plan, &mut dyn FnMut(&Snapshot)) -> Result<Summary, E>;

/// How [`Experiment::estimate_capacity`] proceeds.
#[derive(Clone, Copy, Debug)]
pub struct Probing {
    /// Measured time of each probe, after a warm-up of half of it.
    pub length: Duration,
    /// The further probes' shares of the estimate before them.
    pub shares: &'static [f64],
}

impl Probing {
    /// Three probes of this length.
    pub fn new(length: Duration) -> Self {
        Self { length, shares: &PROBE_SHARES }
    }

    /// The time that all probes take together.
    pub fn takes(&self) -> Duration {
        self.length * 3 / 2 * (1 + self.shares.len() as u32)
    }
}

impl Experiment {
    /// An experiment with the usual customers at the usual pace.
    pub fn new(driver: &Cores) -> Self {
        Self {
            driver: driver.clone(),
            scenario: Scenario::built_in(CUSTOMERS).expect("the scenario ships with the binary"),
            time_scale: TIME_SCALE,
            patience_scale: 1.0,
            seed: 1,
        }
    }

    /// The plan of a run before the gate with this policy.
    ///
    /// # Errors
    /// No such gate runs.
    pub fn plan(&self, testbed: &Testbed, policy: &str, arrivals: Arrivals) -> Result<Plan> {
        let mut plan = Plan::new(self.scenario.clone(), &testbed.target(policy)?);
        plan.arrivals = Some(arrivals);
        (plan.time_scale, plan.patience_scale) = (self.time_scale, self.patience_scale);
        plan.seed = self.seed;
        plan.cores = self.driver.list().to_vec();
        plan.insecure = true;
        plan.customers = Some(testbed.customers());
        Ok(plan)
    }

    /// Sessions per second that the server can carry behind the gate with this policy, by
    /// the CPU time of a session: first under a light load, then at shares of the estimate.
    ///
    /// # Errors
    /// A run fails, or completes no request.
    pub fn estimate_capacity<E: From<Error>>(
        &self,
        testbed: &Testbed,
        policy: &str,
        probing: Probing,
        run: Run<E>,
    ) -> Result<f64, E> {
        let mut estimate =
            self.probe(testbed, policy, FIRST_PROBE_PER_S, probing.length, &mut *run)?;
        for share in probing.shares {
            let per_s = share * estimate;
            estimate = self.probe(testbed, policy, per_s, probing.length, &mut *run)?;
        }
        Ok(estimate)
    }

    /// Sessions per second that the server can carry, by the CPU time of a session when
    /// `per_s` begin per second. The warm-up takes half of `length` in addition.
    ///
    /// # Errors
    /// The run fails, or completes no request.
    pub fn probe<E: From<Error>>(
        &self,
        testbed: &Testbed,
        policy: &str,
        per_s: f64,
        length: Duration,
        run: Run<E>,
    ) -> Result<f64, E> {
        let mut plan = self.plan(testbed, policy, Arrivals::poisson(per_s))?;
        (plan.warm_up, plan.measure) = (length / 2, length);
        let mut estimate = CapacityEstimate::default();
        let summary = run(plan, &mut |snapshot| {
            if let Ok(cpu_s) = testbed.cpu_s(policy) {
                estimate.observe(snapshot, cpu_s);
            }
        })?;
        let requests = self.scenario.session_length().mean_requests;
        Ok(estimate.sessions_per_s(&summary, testbed.cpu_s(policy)?, testbed.cpus(), requests)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_take_half_as_long_again_for_their_warm_up() {
        let probing = Probing::new(Duration::from_secs(2));
        assert_eq!(probing.takes(), Duration::from_secs(9));
    }
}
