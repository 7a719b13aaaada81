//! A capacity estimate by CPU time: sessions per second that the processors can carry, by
//! what one costs under a load that they carry easily.

use tidegate_load::{RunStage, Snapshot, Summary};

use crate::error::{Error, Result};

/// Observes a run.
#[derive(Debug, Default)]
pub struct CapacityEstimate {
    /// The server's CPU seconds and the requests when the warm-up ended. Caches are cold
    /// and tables are empty at first, so the warm-up is left out.
    since: Option<(f64, u64)>,
}

impl CapacityEstimate {
    /// Adds a snapshot and the server's CPU seconds at that time.
    pub fn observe(&mut self, snapshot: &Snapshot, cpu_s: f64) {
        if snapshot.stage == RunStage::Measure {
            self.since.get_or_insert((cpu_s, snapshot.totals.requests_ok));
        }
    }

    /// Sessions per second of `requests_each` requests that `cpus` processors can carry:
    /// `cpus · requests / requests_each / CPU seconds`.
    ///
    /// # Errors
    /// No request was completed.
    pub fn sessions_per_s(
        self,
        summary: &Summary,
        cpu_s: f64,
        cpus: f64,
        requests_each: f64,
    ) -> Result<f64> {
        let failed = |what: &str| Error::Process(format!("the probe {what}"));
        let (began_s, requests) =
            self.since.ok_or_else(|| failed("ended before it was measured"))?;
        let spent = cpu_s - began_s;
        // Sessions that are unfinished at the end cost less than a whole one, so requests are
        // counted rather than sessions.
        let requests = (summary.totals.requests_ok - requests) as f64;
        if requests < 1.0 || spent <= 0.0 {
            return Err(failed("completed no request"));
        }
        Ok(cpus * requests / requests_each / spent)
    }
}
