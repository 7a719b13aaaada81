//! From what was counted to the result that is shown: the same for one driver
//! and for several.

use std::time::Duration;

use super::shard::Test;
use super::tally::{GroupTally, Tally};
use crate::plan::Http;
use crate::result::summary::{Driver, DriverPart, Machine, Point, Summary, share};
use crate::scenario::thresholds::Threshold;

/// Works the figures out. There is at least one driver.
pub(crate) fn sum_up(
    test: &Test,
    drivers: Vec<DriverPart>,
    tally: &Tally,
    series: Vec<Point>,
    measured: Duration,
) -> Summary {
    let totals = tally.totals.clone();
    let per_s = |count: u64| match measured.as_secs_f64() {
        0.0 => 0.0,
        seconds => count as f64 / seconds,
    };
    let ended = totals.ended();
    let driver = together(&drivers, tally);
    let mut summary = Summary {
        format: Summary::FORMAT,
        scenario: test.scenario.clone(),
        target: test.target.clone(),
        arrivals: test.arrivals.clone(),
        seed: test.seed,
        machine: machine(&drivers),
        started_at_unix_ms: test.started_at_unix_ms,
        warm_up_s: test.warm_up.as_secs_f64(),
        measured_s: measured.as_secs_f64(),
        interrupted: drivers.iter().any(|driver| driver.interrupted),
        http: if test.http2 { Http::Two.name() } else { Http::One.name() },
        time_scale: test.time_scale,
        patience_scale: test.patience_scale,
        patience_ms: test.patience_ms,
        session_length: test.session_length,
        offered_per_s: per_s(totals.offered),
        admitted_per_s: per_s(totals.admitted),
        refused_per_s: per_s(totals.refused),
        completed_per_s: per_s(totals.completed),
        abandoned_per_s: per_s(totals.abandoned),
        failed_per_s: per_s(totals.failed),
        requests_per_s: per_s(totals.requests_ok),
        completed_ratio: totals.completed_ratio(),
        refused_ratio: share(totals.refused, ended),
        abandoned_ratio: share(totals.abandoned, ended),
        failed_ratio: share(totals.failed, ended),
        full_share_asked: test.full_share_asked,
        full_handshake_share: totals.full_handshake_share(),
        response: tally.spreads.response.summary(),
        response_uncorrected: tally.spreads.uncorrected.summary(),
        phases: tally.phases(),
        tls: tally.negotiated(),
        pages: tally.page_figures(),
        unmet: tally.unmet(),
        classes: tally.classes.iter().map(GroupTally::figures).collect(),
        models: tally.models.iter().map(GroupTally::figures).collect(),
        driver_saturated: !driver.saturated_because.is_empty(),
        driver,
        series,
        stretches: tally.stretches.clone(),
        thresholds: Vec::new(),
        raw_error: raw_errors(&drivers),
        incomplete: Vec::new(),
        drivers: if drivers.len() > 1 { drivers } else { Vec::new() },
        portion: None,
        totals,
    };
    let judged: Vec<_> =
        test.thresholds.iter().map(|limit: &Threshold| limit.judge(&summary)).collect();
    summary.thresholds = judged;
    summary
}

/// The condition of all drivers: the busiest is what may have been the limit, and
/// one that was is enough.
fn together(drivers: &[DriverPart], tally: &Tally) -> Driver {
    let all = || drivers.iter().map(|driver| &driver.driver);
    let reasons = drivers.iter().flat_map(|driver| {
        let by = name(driver, drivers);
        driver.driver.saturated_because.iter().map(move |why| format!("{by}{why}"))
    });
    let totals = &tally.totals;
    Driver {
        threads: all().map(|driver| driver.threads).fold(0, usize::saturating_add),
        cpu_share: all().map(|driver| driver.cpu_share).fold(0.0, f64::max),
        cpu_s: all().map(|driver| driver.cpu_s).sum(),
        folding_cpu_s: all().map(|driver| driver.folding_cpu_s).sum(),
        start_delay: tally.spreads.start_delay.summary(),
        loop_delay: tally.spreads.loop_delay.summary(),
        stalled_s: all().map(|driver| driver.stalled_s).fold(0.0, f64::max),
        stalled_share: all().map(|driver| driver.stalled_share).fold(0.0, f64::max),
        missed_share: share(totals.missed_starts, totals.starts),
        events_lost: all().map(|driver| driver.events_lost).fold(0, u64::saturating_add),
        saturated_because: reasons.collect(),
    }
}

/// `driver 2: `, where there are several.
fn name(driver: &DriverPart, all: &[DriverPart]) -> String {
    if all.len() > 1 { format!("driver {}: ", driver.part.number()) } else { String::new() }
}

fn raw_errors(drivers: &[DriverPart]) -> Option<String> {
    let errors: Vec<String> = drivers
        .iter()
        .filter_map(|driver| {
            let error = driver.raw_error.as_ref()?;
            Some(format!("{}{error}", name(driver, drivers)))
        })
        .collect();
    (!errors.is_empty()).then(|| errors.join("; "))
}

/// The drivers' machine; where there are several, the first of them, and how
/// many processors all have.
fn machine(drivers: &[DriverPart]) -> Machine {
    let first = drivers.first().map(|driver| driver.machine.clone()).unwrap_or_default();
    let mut others: Vec<&Machine> = Vec::new();
    for driver in drivers {
        if driver.machine != first && !others.contains(&&driver.machine) {
            others.push(&driver.machine);
        }
    }
    match others.as_slice() {
        [] => first,
        others => Machine { cpu: format!("{} and {} more", first.cpu, others.len()), ..first },
    }
}
