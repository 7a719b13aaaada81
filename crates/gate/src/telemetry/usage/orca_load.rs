//! The load of an upstream by the reports in its responses.

use std::time::{Duration, Instant};

use super::load::Load;

/// How long a report counts while responses come without one.
const STALE_AFTER: Duration = Duration::from_secs(2);

/// Where the count of reports begins in a sum of them; below it are their utilizations, in
/// ten-thousandths: of the greatest that is read, 100, a million reports between two ticks.
const COUNT: u32 = 40;

/// A report as a number to be added up, so that the count of reports and the sum of their
/// utilizations are read at once: read one after the other, a report may come between them.
pub fn addend(utilization: f64) -> u64 {
    1 << COUNT | (utilization * 1e4).round() as u64
}

/// The mean of the reports between two ticks.
#[derive(Debug)]
pub struct OrcaLoad {
    cpus: f64,
    /// Responses, and the sum of the reports, as of the last tick.
    before: (u64, u64),
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
        Self { cpus, before: (0, 0), last: None, silent: None, responded: None }
    }

    /// Takes the number of responses since the gate's start, and the sum of the reports in them
    /// ([`addend`]).
    pub fn reported(&mut self, now: Instant, responses: u64, reports: u64) {
        let before = std::mem::replace(&mut self.before, (responses, reports));
        // Sums that have wrapped around have the same difference.
        let new = reports.wrapping_sub(before.1);
        let (count, utilizations) = (new >> COUNT, new & ((1 << COUNT) - 1));
        if responses > before.0 {
            self.responded = Some(now);
        }
        if count > 0 {
            let mean = utilizations as f64 * 1e-4 / count as f64;
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

    /// The sum of such reports.
    fn sum(utilizations: &[f64]) -> u64 {
        utilizations.iter().map(|&utilization| addend(utilization)).sum()
    }

    #[test]
    fn the_load_is_the_mean_of_the_last_reports() {
        let (mut orca, start) = (OrcaLoad::new(8.0), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(orca.latest(start), Err(None));
        let first = sum(&[0.3, 0.7, 0.5, 0.5]);
        orca.reported(at(100), 10, first);
        assert_eq!(orca.latest(at(100)).unwrap().used_cpus, Some(4.0));
        orca.reported(at(200), 12, first + sum(&[0.9, 0.6]));
        let load = orca.latest(at(250)).unwrap();
        assert_eq!((load.capacity_cpus, load.used_cpus), (8.0, Some(6.0)));
    }

    #[test]
    fn reports_are_read_right_after_their_sum_has_wrapped_around() {
        let (mut orca, start) = (OrcaLoad::new(1.0), Instant::now());
        let near_the_end = 0_u64.wrapping_sub(sum(&[100.0]));
        orca.reported(start, 1, near_the_end);
        orca.reported(start, 4, near_the_end.wrapping_add(sum(&[100.0, 50.0, 0.0])));
        assert_eq!(orca.latest(start).unwrap().used_cpus, Some(50.0));
    }

    #[test]
    fn without_responses_nothing_is_used_and_without_reports_nothing_is_known() {
        let (mut orca, start) = (OrcaLoad::new(8.0), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        let reports = sum(&[0.5; 10]);
        orca.reported(at(0), 10, reports);
        orca.reported(at(2500), 10, reports);
        assert_eq!(orca.latest(at(2500)).unwrap().used_cpus, Some(0.0));
        orca.reported(at(2600), 11, reports);
        assert_eq!(orca.latest(at(2600)), Err(None), "the next response may have one");
        orca.reported(at(4700), 12, reports);
        let why = orca.latest(at(4700)).unwrap_err().unwrap();
        assert!(why.starts_with("responses of the upstream carry no endpoint-load"), "{why}");
        orca.reported(at(4800), 13, reports + sum(&[0.1]));
        let used_cpus = orca.latest(at(4800)).unwrap().used_cpus.unwrap();
        assert!((used_cpus - 0.8).abs() < 1e-9, "{used_cpus}");
    }
}
