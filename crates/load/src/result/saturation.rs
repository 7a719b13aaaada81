//! The driver watches itself: a generator that is the limit measures nothing
//! but itself, and says so.

use std::time::Duration;

use crate::result::summary::{Driver, Totals, share};

/// A start this late is missed. Alarms of an idle driver ring within 0.2 ms,
/// so 10 ms of delay is the driver's own queue, and still small beside the
/// response times of a site in trouble.
pub const MISSED: Duration = Duration::from_millis(10);

/// Largest share of missed starts of a driver that is well.
pub const MISSED_SHARE: f64 = 0.01;

/// Largest CPU share of a thread of a driver that is well: beyond it, the
/// driver's own queue grows faster than it can be told from the target's.
pub const CPU_SHARE: f64 = 0.95;

/// Largest share of the time that the event loop of a driver thread that is well is
/// behind by more than [`MISSED`].
pub const STALLED_SHARE: f64 = 0.01;

/// Less than this in all is an accident of a machine, whatever share it is of a run.
pub const STALLED: Duration = Duration::from_millis(500);

/// Reasons to call the driver saturated, in words; empty if it is well.
pub(crate) fn diagnose(driver: &Driver, totals: &Totals) -> Vec<String> {
    let mut reasons = Vec::new();
    if driver.cpu_share > CPU_SHARE {
        reasons.push(format!(
            "a driver thread used {:.0} % of its processor; use more --cores",
            driver.cpu_share * 100.0
        ));
    }
    let missed = share(totals.missed_starts, totals.starts);
    if missed > MISSED_SHARE && totals.missed_starts >= 10 {
        reasons.push(format!(
            "{:.1} % of starts came more than {} ms late; give the driver a processor of its own",
            missed * 100.0,
            MISSED.as_millis()
        ));
    }
    if driver.stalled_share > STALLED_SHARE && driver.stalled_s >= STALLED.as_secs_f64() {
        reasons.push(format!(
            "{:.1} % of the time a driver thread was more than {} ms behind, and so are response \
             times; give the driver processors of its own, or more --cores",
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
    fn an_idle_driver_is_well_and_each_limit_is_named() {
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
