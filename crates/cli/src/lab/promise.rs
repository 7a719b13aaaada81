//! How many sessions per second the processors promise to carry, by the CPU
//! time of one under a load that they carry easily.

use anyhow::{Context, bail};
use tidegate_load::{RunStage, Snapshot, Summary};

/// Sessions per second of the first probe: light for any machine that can
/// compile this.
pub const PROBE_PER_S: f64 = 15.0;

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
