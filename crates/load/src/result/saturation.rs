//! Detects saturation of the load generator: its figures are then not those of the target.

use std::time::Duration;

use crate::result::driver::Driver;
use crate::result::totals::{Totals, share};

/// A start later than this is missed. Timers of an idle load generator fire within 0.2 ms,
/// so 10 ms is the delay of its own queue, and still small compared to the response times
/// of an overloaded site.
pub const MISSED: Duration = Duration::from_millis(10);

/// Largest share of missed starts without saturation.
pub const MISSED_SHARE: f64 = 0.01;

/// Largest CPU share of a thread without saturation. Beyond it the queueing delay of the
/// load generator grows steeply and cannot be separated from the target's.
pub const CPU_SHARE: f64 = 0.95;

/// Largest share of the time for which an event loop is late by more than [`MISSED`] without
/// saturation.
pub const STALLED_SHARE: f64 = 0.01;

/// Delays of less than this in total are ignored, whatever share of the run they are.
pub const STALLED: Duration = Duration::from_millis(500);

/// Reasons why the load generator counts as saturated; empty if it does not.
pub(crate) fn diagnose(driver: &Driver, totals: &Totals) -> Vec<String> {
    let mut reasons = Vec::new();
    if driver.cpu_share > CPU_SHARE {
        reasons.push(format!(
            "a load generator thread used {:.0} % of its processor; use more --cores",
            driver.cpu_share * 100.0
        ));
    }
    let missed = share(totals.missed_starts, totals.starts);
    if missed > MISSED_SHARE && totals.missed_starts >= 10 {
        reasons.push(format!(
            "{:.1} % of starts came more than {} ms late; give the load generator a \
             processor of its own",
            missed * 100.0,
            MISSED.as_millis()
        ));
    }
    if driver.stalled_share > STALLED_SHARE && driver.stalled_s >= STALLED.as_secs_f64() {
        reasons.push(format!(
            "{:.1} % of the time a load generator thread was more than {} ms behind, which adds to \
             response times; give it processors of its own, or more --cores",
            driver.stalled_share * 100.0,
            MISSED.as_millis()
        ));
    }
    if totals.not_started > 0 {
        reasons.push(format!(
            "{} sessions were not started: too many in flight (open files, or max_in_flight)",
            totals.not_started
        ));
    }
    for (kind, what) in [
        ("no_ports", "source ports ran out; spread the source addresses, or close by reset"),
        ("no_resources", "file descriptors or memory ran out; raise the limit on open files"),
    ] {
        if let Some(count) = totals.failed_by_kind.get(kind) {
            reasons.push(format!("{count} connections failed: {what}"));
        }
    }
    if driver.events_lost > 0 {
        reasons.push(format!("{} events were lost before they were counted", driver.events_lost));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_load_generator_is_not_saturated_and_each_limit_has_a_reason() {
        let well = Driver { cpu_share: 0.5, ..Driver::default() };
        let mut totals = Totals { starts: 1000, missed_starts: 10, ..Totals::default() };
        assert!(diagnose(&well, &totals).is_empty());
        totals.missed_starts = 11;
        assert!(diagnose(&well, &totals)[0].contains("1.1 % of starts"));
        let busy = Driver { cpu_share: 0.97, ..Driver::default() };
        assert!(diagnose(&busy, &Totals::default())[0].contains("97 %"));
        let stalled = |share, s| Driver { stalled_share: share, stalled_s: s, ..well.clone() };
        assert!(diagnose(&stalled(0.4, 0.4), &Totals::default()).is_empty());
        assert!(diagnose(&stalled(0.01, 0.6), &Totals::default()).is_empty());
        assert!(diagnose(&stalled(0.02, 0.6), &Totals::default())[0].starts_with("2.0 % of the"));
        let full = Totals { not_started: 3, ..Totals::default() };
        assert!(diagnose(&well, &full)[0].starts_with("3 sessions"));
    }
}
