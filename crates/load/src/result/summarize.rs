//! Computes the figures of a result from the tally of one or several shards.

use std::time::Duration;

use tidegate_stats::{Percentiles, fewest_for_quantile};

use super::shard::Test;
use super::tally::{GroupTally, Tally};
use super::threshold_check::{few_answers, verdicts};
use crate::client::connections::Http;
use crate::result::driver::{Driver, DriverShard, Machine};
use crate::result::series::Point;
use crate::result::summary::Summary;
use crate::totals::share;

/// Computes all figures. There is at least one driver.
pub(crate) fn summarize(
    test: &Test,
    drivers: Vec<DriverShard>,
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
    let driver = combine(&drivers, tally);
    let mut warnings = test.warnings.clone();
    warnings.extend(few_answers(&test.thresholds, tally));
    Summary {
        format: Summary::FORMAT,
        scenario: test.scenario.clone(),
        target: test.target.clone(),
        arrivals: test.arrivals.clone(),
        arrival_entries: test.arrival_entries.clone(),
        max_sessions: test.max_sessions,
        seed: test.seed,
        version: test.version.clone(),
        command: String::new(),
        trace: None,
        machine: machine(&drivers),
        started_at_unix_ms: test.started_at_unix_ms,
        warm_up_s: test.warm_up.as_secs_f64(),
        measured_s: measured.as_secs_f64(),
        interrupted: drivers.iter().any(|driver| driver.interrupted),
        http: if test.http2 { Http::Two.name() } else { Http::One.name() }.to_owned(),
        time_scale: test.time_scale,
        patience_scale: test.patience_scale,
        patience_ms: test.patience_ms,
        session_length: test.session_length,
        session_think_ms: Some(test.session_think_ms),
        warnings,
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
        response: tally.distributions.response.percentiles(),
        response_few: few(&tally.distributions.response.percentiles()),
        response_uncorrected: tally.distributions.uncorrected.percentiles(),
        phases: tally.phases(),
        tls: tally.negotiated(),
        addresses: tally.addresses.clone(),
        pages: tally.page_figures(),
        failed_checks: tally.failed_checks(),
        checks: tally.checks(),
        failures: tally.failures(),
        responses_by_status: tally.statuses.clone(),
        classes: tally.classes.iter().map(GroupTally::figures).collect(),
        models: tally.models.iter().map(GroupTally::figures).collect(),
        driver_saturated: !driver.saturated_because.is_empty(),
        driver,
        series,
        stretches: tally.stretches.clone(),
        thresholds: verdicts(&test.thresholds, tally, measured),
        aborted: None,
        raw_error: raw_errors(&drivers),
        incomplete: Vec::new(),
        drivers: if several(&drivers) { drivers } else { Vec::new() },
        shard_result: None,
        totals,
    }
}

/// Percentiles with too few answers behind them.
fn few(response: &Percentiles) -> Vec<String> {
    let fields = ["p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99_9_ms"];
    let usual = response.usual().map(|(q, _)| fewest_for_quantile(q));
    let few = fields.into_iter().zip(usual).filter(|(_, fewest)| response.count < *fewest);
    few.map(|(field, _)| field.to_owned()).collect()
}

/// The state of all drivers. The busiest counts, and one saturated driver is enough.
fn combine(drivers: &[DriverShard], tally: &Tally) -> Driver {
    let all = || drivers.iter().map(|driver| &driver.driver);
    let reasons = |of: fn(&Driver) -> &Vec<String>| {
        let named = drivers.iter().flat_map(|driver| {
            let by = name(driver, drivers);
            of(&driver.driver).iter().map(move |why| format!("{by}{why}"))
        });
        named.collect()
    };
    let totals = &tally.totals;
    Driver {
        threads: all().map(|driver| driver.threads).fold(0, usize::saturating_add),
        cpu_share: all().map(|driver| driver.cpu_share).fold(0.0, f64::max),
        cpu_s: all().map(|driver| driver.cpu_s).sum(),
        folding_cpu_s: all().map(|driver| driver.folding_cpu_s).sum(),
        start_delay: tally.distributions.start_delay.percentiles(),
        loop_delay: tally.distributions.loop_delay.percentiles(),
        stalled_s: all().map(|driver| driver.stalled_s).fold(0.0, f64::max),
        stalled_share: all().map(|driver| driver.stalled_share).fold(0.0, f64::max),
        missed_share: share(totals.missed_starts, totals.starts),
        events_lost: all().map(|driver| driver.events_lost).fold(0, u64::saturating_add),
        saturated_because: reasons(|driver| &driver.saturated_because),
        warned_because: reasons(|driver| &driver.warned_because),
    }
}

/// `driver 2: ` if there are several, `driver 2 on lon-1: ` if an agent ran it.
fn name(driver: &DriverShard, all: &[DriverShard]) -> String {
    let on = driver.agent.as_ref().map(|agent| format!(" on {}", agent.name));
    match several(all) {
        true => format!("driver {}{}: ", driver.shard.number(), on.unwrap_or_default()),
        false => String::new(),
    }
}

/// Whether they are shown one by one; an agent's are also if it was alone.
fn several(all: &[DriverShard]) -> bool {
    all.len() > 1 || all.iter().any(|driver| driver.agent.is_some())
}

fn raw_errors(drivers: &[DriverShard]) -> Option<String> {
    let errors: Vec<String> = drivers
        .iter()
        .filter_map(|driver| {
            let error = driver.raw_error.as_ref()?;
            Some(format!("{}{error}", name(driver, drivers)))
        })
        .collect();
    (!errors.is_empty()).then(|| errors.join("; "))
}

/// The machine of the drivers; for several machines the first, and the number of others.
fn machine(drivers: &[DriverShard]) -> Machine {
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
