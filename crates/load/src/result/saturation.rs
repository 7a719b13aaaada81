//! Detects saturation of the load generator: its figures are then not those of the target.

use std::time::Duration;

use tidegate_stats::Percentiles;

use crate::result::driver::Driver;
use crate::totals::{Totals, share};

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

/// Share of the median response time from which the load generator's own median delay makes it
/// saturated: more than half of what is measured is then its own. Where it shares processors with
/// the service and both wait for them alike, its delay is about a third: it waits to send and to
/// read, and the service waits in between.
pub const OWN_SHARE: f64 = 0.5;

/// Share of the median response time from which the own median delay is reported: more than that
/// third.
pub const OWN_SHARE_REPORTED: f64 = 0.4;

/// Share of the 95th percentile of response times from which that of the own delay is reported.
/// Where driver and service wait alike it was half to two thirds.
pub const OWN_TAIL_REPORTED: f64 = 0.75;

/// Own delays of less than this are the clocks and timers of the machine.
pub const OWN_DELAY: Duration = Duration::from_millis(1);

/// Shortest measured time by which missed starts are judged. The scheduler of a busy machine takes
/// a processor away for some milliseconds at a time, which is more than 1 % of a shorter one.
const SHORTEST: Duration = Duration::from_millis(500);

/// Fewest delays and response times by which the own share is judged: those of a 95th percentile.
const JUDGED: u64 = 200;

/// The state of a load generator, in reasons.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Diagnosis {
    /// Why it counts as saturated; empty if it does not.
    pub(crate) saturated: Vec<String>,
    /// Why its response times are to be read with care; empty if they are not.
    pub(crate) warned: Vec<String>,
}

/// Judges a load generator by its state and by the response times that it measured, in so long
/// a time.
pub(crate) fn diagnose(
    driver: &Driver,
    totals: &Totals,
    response: &Percentiles,
    measured: Duration,
) -> Diagnosis {
    let mut diagnosis = Diagnosis { saturated: limits(driver, totals), warned: Vec::new() };
    if let Some(missed) = missed(totals) {
        if measured >= SHORTEST {
            diagnosis
                .saturated
                .push(format!("{missed}; give the load generator a processor of its own"));
        } else {
            diagnosis.warned.push(format!(
                "{missed}, in {} ms altogether: too short a time to tell whether the load generator \
                 keeps up; send more requests",
                measured.as_millis()
            ));
        }
    }
    let start = (&driver.start_delay, "half of the starts came", "late");
    let read = (
        &driver.loop_delay,
        "half of the time a thread was",
        "behind, so that responses were read late",
    );
    let is_above = |own: f64, measured: f64, share: f64| {
        own > OWN_DELAY.as_secs_f64() * 1000.0 && own > share * measured
    };
    for (delay, half, how) in [start, read] {
        if delay.count.min(response.count) < JUDGED {
            continue;
        }
        let (own, measured) = (delay.p50_ms, response.p50_ms);
        let median = format!(
            "{half} {own:.1} ms or more {how}, and the median response time is {measured:.1} ms"
        );
        if is_above(own, measured, OWN_SHARE) {
            diagnosis
                .saturated
                .push(format!("{median}: most of it is the load generator's own delay; {REMEDY}"));
        } else if is_above(own, measured, OWN_SHARE_REPORTED) {
            diagnosis.warned.push(format!(
                "{median}: {:.0} % of it may be the load generator's own delay; {REMEDY}",
                own / measured * 100.0
            ));
        }
    }
    // Not of the event loop: in the closed model few requests are under way while it is behind,
    // so that its delay has another distribution over time than over requests.
    let (own, measured) = (driver.start_delay.p95_ms, response.p95_ms);
    if driver.start_delay.count.min(response.count) >= JUDGED
        && is_above(own, measured, OWN_TAIL_REPORTED)
    {
        diagnosis.warned.push(format!(
            "one start in twenty came {own:.1} ms or more late, and the 95th percentile of \
             response times is {measured:.1} ms: this and higher percentiles may be the load \
             generator's own; {REMEDY}"
        ));
    }
    if !diagnosis.saturated.is_empty() {
        diagnosis.warned.clear();
    }
    diagnosis
}

/// What to do about an own delay.
const REMEDY: &str = "give it processors of its own (--cores), or more --threads";

/// Whether so many starts were missed that the load did not come as planned.
fn missed(totals: &Totals) -> Option<String> {
    let missed = share(totals.missed_starts, totals.starts);
    (missed > MISSED_SHARE && totals.missed_starts >= 10).then(|| {
        let (percent, ms) = (missed * 100.0, MISSED.as_millis());
        format!("{percent:.1} % of starts came more than {ms} ms late")
    })
}

/// Limits of the load generator that it met, whatever the response times.
fn limits(driver: &Driver, totals: &Totals) -> Vec<String> {
    let mut reasons = Vec::new();
    if driver.cpu_share > CPU_SHARE {
        reasons.push(format!(
            "a load generator thread used {:.0} % of its processor; use more --cores",
            driver.cpu_share * 100.0
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

    fn saturated(driver: &Driver, totals: &Totals) -> Vec<String> {
        diagnose(driver, totals, &Percentiles::default(), SHORTEST).saturated
    }

    #[test]
    fn an_idle_load_generator_is_not_saturated_and_each_limit_has_a_reason() {
        let well = Driver { cpu_share: 0.5, ..Driver::default() };
        let mut totals = Totals { starts: 1000, missed_starts: 10, ..Totals::default() };
        assert!(saturated(&well, &totals).is_empty());
        totals.missed_starts = 11;
        assert!(saturated(&well, &totals)[0].contains("1.1 % of starts"));
        let busy = Driver { cpu_share: 0.97, ..Driver::default() };
        assert!(saturated(&busy, &Totals::default())[0].contains("97 %"));
        let stalled = |share, s| Driver { stalled_share: share, stalled_s: s, ..well.clone() };
        assert!(saturated(&stalled(0.4, 0.4), &Totals::default()).is_empty());
        assert!(saturated(&stalled(0.01, 0.6), &Totals::default()).is_empty());
        assert!(saturated(&stalled(0.02, 0.6), &Totals::default())[0].starts_with("2.0 % of the"));
        let full = Totals { not_started: 3, ..Totals::default() };
        assert!(saturated(&well, &full)[0].starts_with("3 sessions"));
    }

    #[test]
    fn a_run_of_some_milliseconds_is_too_short_to_be_judged_by_its_missed_starts() {
        let totals = Totals { starts: 1000, missed_starts: 40, ..Totals::default() };
        let of = |ms| {
            let response = Percentiles::default();
            diagnose(&Driver::default(), &totals, &response, Duration::from_millis(ms))
        };
        let short = of(60);
        assert!(short.saturated.is_empty());
        assert!(short.warned[0].starts_with("4.0 % of starts came more than 10 ms late, in 60 ms"));
        assert_eq!(of(500).saturated.len(), 1);
    }

    fn times(count: u64, p50_ms: f64, p95_ms: f64) -> Percentiles {
        Percentiles { count, p50_ms, p95_ms, ..Percentiles::default() }
    }

    /// What is said of starts that were as late, and of an event loop that was as late.
    fn judged(own: Percentiles, response: Percentiles) -> [Diagnosis; 2] {
        let start = Driver { start_delay: own, ..Driver::default() };
        let read = Driver { loop_delay: own, ..Driver::default() };
        [start, read].map(|driver| diagnose(&driver, &Totals::default(), &response, SHORTEST))
    }

    #[test]
    fn a_driver_that_is_late_by_more_than_the_service_takes_is_saturated() {
        // 5 ms late, and a service of 1 ms: response times count from the intended start.
        let [start, read] = judged(times(1000, 5.0, 6.0), times(1000, 6.0, 8.0));
        assert!(start.warned.is_empty() && read.warned.is_empty());
        assert_eq!(
            start.saturated,
            ["half of the starts came 5.0 ms or more late, and the median response time is \
                 6.0 ms: most of it is the load generator's own delay; give it processors of its \
                 own (--cores), or more --threads"]
        );
        assert!(
            read.saturated[0].starts_with("half of the time a thread was 5.0 ms or more behind")
        );
    }

    #[test]
    fn a_material_share_is_reported_and_makes_nothing_saturated() {
        // 7 ms of 15.
        for diagnosis in judged(times(1000, 7.0, 9.0), times(1000, 15.0, 30.0)) {
            assert!(diagnosis.saturated.is_empty(), "{diagnosis:?}");
            assert_eq!(diagnosis.warned.len(), 1);
            assert!(diagnosis.warned[0].contains("47 % of it may be"), "{diagnosis:?}");
        }
        // One start in ten is 5 ms late, and the service takes 1 ms.
        let [start, read] = judged(times(1000, 0.1, 5.0), times(1000, 1.2, 6.3));
        assert!(start.saturated.is_empty(), "{start:?}");
        assert!(start.warned[0].starts_with("one start in twenty came 5.0 ms or more late"));
        assert_eq!(read, Diagnosis::default());
        // Saturated is all that there is to say.
        let driver =
            Driver { start_delay: times(1000, 0.1, 5.0), events_lost: 1, ..Driver::default() };
        let both = diagnose(&driver, &Totals::default(), &times(1000, 1.2, 6.3), SHORTEST);
        assert_eq!((both.saturated.len(), both.warned.len()), (1, 0));
    }

    #[test]
    fn a_healthy_driver_on_a_busy_machine_is_neither() {
        for (own, response) in [
            // Driver and service share one processor, or two with others: all wait in turn.
            (times(1000, 2.6, 16.9), times(1000, 8.4, 28.0)),
            (times(1000, 2.9, 17.0), times(1000, 8.4, 28.0)),
            (times(1000, 1.5, 13.7), times(1000, 6.9, 26.8)),
            (times(1000, 0.1, 12.8), times(1000, 0.8, 21.0)),
            // The timers of the machine beside a service that answers in no time.
            (times(1000, 0.2, 0.9), times(1000, 0.3, 1.1)),
            // A delay of 5 ms does not matter to a service that takes 100.
            (times(1000, 5.0, 9.0), times(1000, 105.0, 240.0)),
            // Too few to judge.
            (times(199, 5.0, 9.0), times(1000, 6.0, 10.0)),
            (times(1000, 5.0, 9.0), times(199, 6.0, 10.0)),
        ] {
            for diagnosis in judged(own, response) {
                assert_eq!(diagnosis, Diagnosis::default(), "{own:?} {response:?}");
            }
        }
        // A closed model beside others: the event loop is behind while few requests are under way.
        let (behind, response) = (times(800, 0.1, 3.9), times(280_000, 0.2, 0.5));
        assert_eq!(judged(behind, response)[1], Diagnosis::default());
    }
}
