//! The load of an upstream by the reports in its responses.

use std::time::{Duration, Instant};

use super::load::Load;

/// How long a report counts while responses come without one.
const STALE_AFTER: Duration = Duration::from_secs(2);

/// The mean of the reports between two ticks.
#[derive(Debug)]
pub struct OrcaLoad {
    cpus: f64,
    /// Responses, reports and their sum in millionths, as of the last tick.
    before: (u64, u64, u64),
    /// The last mean, a share, and when it was told.
    last: Option<(f64, Instant)>,
    /// Since when responses have come without a report.
    silent: Option<Instant>,
    /// When the last response came.
    responded: Option<Instant>,
}

impl OrcaLoad {
    /// Of a service with so many processors.
    pub fn new(cpus: f64) -> Self {
        Self { cpus, before: (0, 0, 0), last: None, silent: None, responded: None }
    }

    /// What all responses have reported so far.
    pub fn reported(&mut self, now: Instant, responses: u64, reports: u64, millionths: u64) {
        let before = std::mem::replace(&mut self.before, (responses, reports, millionths));
        let since = |now: u64, before: u64| now.saturating_sub(before);
        let count = since(reports, before.1);
        if since(responses, before.0) > 0 {
            self.responded = Some(now);
        }
        if count > 0 {
            let mean = since(millionths, before.2) as f64 * 1e-6 / count as f64;
            (self.last, self.silent) = (Some((mean, now)), None);
        } else if self.responded == Some(now) {
            self.silent.get_or_insert(now);
        }
    }

    /// The load by the last reports. Where no responses come, nothing is used.
    ///
    /// # Errors
    /// Why it is not known, a sentence with a remedy; `None` if that may only be a matter of
    /// time.
    pub fn latest(&self, now: Instant) -> Result<Load, Option<String>> {
        let old = |at: Instant| now.saturating_duration_since(at) > STALE_AFTER;
        let load = |share: f64| Load {
            capacity_cpus: self.cpus,
            used_cpus: Some(share * self.cpus),
            ..Load::default()
        };
        match self.last {
            Some((share, at)) if !old(at) => Ok(load(share)),
            _ if self.silent.is_some_and(old) => Err(Some(
                "responses of the upstream carry no endpoint-load-metrics that can be read; let \
                 it send cpu_utilization, or set load_from to another source"
                    .into(),
            )),
            Some(_) if self.responded.is_none_or(old) => Ok(load(0.0)),
            _ => Err(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_the_mean_of_the_last_reports() {
        let (mut orca, start) = (OrcaLoad::new(8.0), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(orca.latest(start), Err(None));
        orca.reported(at(100), 10, 4, 2_000_000);
        assert_eq!(orca.latest(at(100)).unwrap().used_cpus, Some(4.0));
        // Two more of 0.9 and 0.6.
        orca.reported(at(200), 12, 6, 3_500_000);
        let load = orca.latest(at(250)).unwrap();
        assert_eq!((load.capacity_cpus, load.used_cpus), (8.0, Some(6.0)));
    }

    #[test]
    fn without_responses_nothing_is_used_and_without_reports_nothing_is_known() {
        let (mut orca, start) = (OrcaLoad::new(8.0), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        orca.reported(at(0), 10, 10, 5_000_000);
        orca.reported(at(2500), 10, 10, 5_000_000);
        assert_eq!(orca.latest(at(2500)).unwrap().used_cpus, Some(0.0));
        orca.reported(at(2600), 11, 10, 5_000_000);
        assert_eq!(orca.latest(at(2600)), Err(None), "the next response may have one");
        orca.reported(at(4700), 12, 10, 5_000_000);
        let why = orca.latest(at(4700)).unwrap_err().unwrap();
        assert!(why.starts_with("responses of the upstream carry no endpoint-load"), "{why}");
        orca.reported(at(4800), 13, 11, 5_100_000);
        let used_cpus = orca.latest(at(4800)).unwrap().used_cpus.unwrap();
        assert!((used_cpus - 0.8).abs() < 1e-9, "{used_cpus}");
    }
}
