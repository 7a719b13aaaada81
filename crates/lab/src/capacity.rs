//! How many sessions per second the processors promise to carry, by the CPU
//! time of one under a load that they carry easily.

use std::time::Duration;

use anyhow::{Context, bail};
use tidegate_load::{Plan, RunStage, Snapshot, Summary};

use crate::Lab;

/// Sessions per second of the first probe: light for any machine that can
/// compile this.
pub const PROBE_PER_S: f64 = 15.0;

impl Lab {
    /// Sessions per second that the processors promise by customers before this
    /// gate, who are watched for so long after half as long.
    ///
    /// # Errors
    /// When the run fails, or nothing was answered.
    pub fn probe(&self, policy: &str, mut plan: Plan, length: Duration) -> anyhow::Result<f64> {
        (plan.warm_up, plan.measure) = (length / 2, length);
        let requests = plan.scenario.session_length().mean_requests;
        let mut watched = Promise::default();
        let summary = tidegate_load::run(plan, &mut |snapshot| {
            if let Ok(cpu_s) = self.cpu_s(policy) {
                watched.note(snapshot, cpu_s);
            }
        })?;
        watched.sessions_per_s(&summary, self.cpu_s(policy)?, self.cpus(), requests)
    }
}

/// Watches a run.
#[derive(Default)]
pub struct Promise {
    /// CPU seconds and requests when the warm-up ended. Caches are cold and
    /// tables are empty at first: the warm-up tells nothing about a session.
    since: Option<(f64, u64)>,
}

impl Promise {
    /// Takes in what the run shows, and the server's CPU seconds so far.
    pub fn note(&mut self, snapshot: &Snapshot, cpu_s: f64) {
        if snapshot.stage == RunStage::Measure {
            self.since.get_or_insert((cpu_s, snapshot.totals.requests_ok));
        }
    }

    /// Sessions per second of so many requests each that `cpus` processors
    /// promise, after the run.
    ///
    /// # Errors
    /// When nothing was answered.
    pub fn sessions_per_s(
        self,
        summary: &Summary,
        cpu_s: f64,
        cpus: f64,
        requests_each: f64,
    ) -> anyhow::Result<f64> {
        let (began_s, requests) = self.since.context("the probe ended before it began")?;
        let spent = cpu_s - began_s;
        // Sessions cut off at the end spent less than a whole one, so requests
        // are counted rather than sessions.
        let requests = (summary.totals.requests_ok - requests) as f64;
        if requests < 1.0 || spent <= 0.0 {
            bail!("the probe completed no request");
        }
        Ok(cpus * requests / requests_each / spent)
    }
}
