//! Runs a plan: checks it, probes the target, starts the worker threads, aggregates their
//! events, and returns the result.

pub(crate) mod handshake;
mod machine;
mod probe;
mod sites;
mod source;
mod trace;
pub(crate) mod worker;

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tidegate_host::{cpu_clock, open_files};

use crate::client::target::Target;
use crate::client::tls::rules::TicketsOf;
use crate::error::Error;
use crate::plan::shard::{CommonStart, Shard};
use crate::plan::{Plan, Stop};
use crate::recorder::event::{Batch, Event};
use crate::recorder::fold::Recorder;
use crate::result::driver::DriverShard;
use crate::result::shard::{ShardResult, Test};
use crate::result::snapshot::Snapshot;
use crate::result::summarize::summarize;
use crate::result::summary::Summary;
use sites::{RunSite, Sites};
use trace::RunTrace;
use worker::{Assignment, work};

/// Capacity of the channel of batches from the worker threads.
const BATCHES: usize = 256;
/// How long before a common start the worker threads begin, so that they wait for it.
const THREADS_BEGIN: Duration = Duration::from_millis(50);
/// Emptied vectors kept for each worker thread, and the most events of one.
const SPARE: usize = 4;
const SPARE_EVENTS: usize = 64 * 1024;
/// Open files that are not connections.
const OTHER_FILES: u64 = 64;

/// Runs a plan to its end and returns the result. Blocks; the observer is called on this
/// thread about four times a second and does not disturb the worker threads. Before the
/// run, one connection without a request probes the target.
///
/// # Errors
/// The plan is invalid, the target cannot be reached, TLS with it fails, a file cannot be
/// created, or a worker thread could not start.
pub fn run(plan: Plan, observer: &mut dyn FnMut(&Snapshot)) -> Result<Summary, Error> {
    run_when(plan, &mut || None, observer)
}

/// As [`run`], but calls `ready` when everything is prepared, and starts at the time that
/// it returns; `None` is the plan's start.
///
/// # Errors
/// As [`run`]; also, the start has passed.
pub fn run_when(
    plan: Plan,
    ready: &mut dyn FnMut() -> Option<CommonStart>,
    observer: &mut dyn FnMut(&Snapshot),
) -> Result<Summary, Error> {
    plan.check()?;
    let arrivals = plan.arrivals()?;
    let target = Target::parse(&plan.target)?;
    if plan.full_share.is_some() && !target.tls {
        return Err(Error::Plan {
            key: "full_share",
            rule: format!("{} has no TLS handshakes", plan.target),
            remedy: "give an https:// target, or leave the share out",
        });
    }
    let mut sites = Sites::probe(&plan, target)?;
    if plan.tickets_of() == TicketsOf::One
        && let RunSite { target, addresses, tls: Some(tls), .. } = &mut sites.all[0]
    {
        probe::get_one_ticket(tls, target, addresses[0], probe::TIMEOUT)?;
    }
    let threads = if plan.cores.is_empty() { plan.threads.max(1) } else { plan.cores.len() };
    let mut recorder = Recorder::new(&plan, threads)?;
    let trace = RunTrace::start(&plan)?;
    recorder.addresses(&sites.reached().collect::<Vec<_>>(), &sites.unreachable);
    let rules = *plan.scenario.session();
    let files = open_files::raise_limit().saturating_sub(OTHER_FILES) as usize;
    let files = files / plan.connections_of_a_customer();
    // The simulation of session lengths must not run while load is generated.
    plan.scenario.session_length();
    let (start, started_at) =
        wait_for_start(ready().or(plan.start_at.map(CommonStart::from)), &plan.stop)?;
    let started_at_unix_ms =
        started_at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    recorder.begins(started_at_unix_ms);
    let test = Test::of(&plan, started_at_unix_ms, &arrivals);
    let shard = plan.shard.unwrap_or(Shard::WHOLE);
    let assignment = Assignment {
        thread: 0,
        threads,
        shard: shard.of_thread(0, threads),
        core: None,
        definition: plan.scenario.definition().clone(),
        sites: sites.all,
        sources: plan.sources.clone(),
        avoided: plan.avoided.clone(),
        keep: plan.keep,
        close: plan.close,
        accept_encoding: plan.accept_encoding,
        arrivals,
        patience_factor: plan.patience_factor(),
        time_scale: plan.time_scale,
        customers: plan.customers.unwrap_or(rules.customers),
        seed: plan.seed,
        run: started_at_unix_ms,
        max_in_flight: (plan.max_in_flight.min(files) / threads).max(1),
        max_sessions: plan.max_sessions,
        start,
        length: plan.warm_up + plan.measure,
        stop: plan.stop.clone(),
        tracing: trace.handle(),
        http_debug: plan.http_debug,
    };
    let cpu_before = cpu_clock::of_this_thread();
    drive(&assignment, shard, &plan.cores, &mut recorder, observer)?;
    let trace = trace.finish();
    let mut recorded = recorder.finish(|snapshot| observer(snapshot));
    recorded.driver.folding_cpu_s =
        (cpu_clock::of_this_thread().saturating_sub(cpu_before)).as_secs_f64();
    let driver = DriverShard {
        shard,
        machine: machine::describe(),
        agent: None,
        interrupted: plan.stop.is_stopped(),
        raw_error: recorded.raw_error,
        driver: recorded.driver,
    };
    let shard_result = plan.shard.map(|_| {
        let (test, driver, tally) = (test.clone(), driver.clone(), recorded.tally.clone());
        let (measured, seconds) = (recorded.measured, recorded.seconds);
        let format = ShardResult::FORMAT;
        Box::new(ShardResult { format, test, driver, measured, tally, seconds })
    });
    let drivers = vec![driver];
    let mut summary =
        summarize(&test, drivers, &recorded.tally, recorded.series, recorded.measured);
    summary.shard_result = shard_result;
    summary.trace = trace;
    if let Some(aborted) = recorded.aborted {
        summary.abort(aborted);
    }
    Ok(summary)
}

/// Waits until shortly before the start; returns it by the clock of this process and by that of the
/// results.
fn wait_for_start(at: Option<CommonStart>, stop: &Stop) -> Result<(Instant, SystemTime), Error> {
    while let Some(CommonStart { at, here }) = at {
        let (now, wall) = (Instant::now(), SystemTime::now());
        let Ok(left) = here.duration_since(wall) else {
            return Err(Error::Late(wall.duration_since(here).unwrap_or_default()));
        };
        if left <= THREADS_BEGIN {
            return Ok((now + left, at));
        }
        if stop.is_stopped() {
            break;
        }
        std::thread::sleep((left - THREADS_BEGIN).min(Duration::from_millis(50)));
    }
    // Threads take a moment to start; all count from the same instant.
    let delay = Duration::from_millis(20);
    Ok((Instant::now() + delay, SystemTime::now() + delay))
}

/// Runs the worker threads and records their events until all have ended.
fn drive(
    assignment: &Assignment,
    shard: Shard,
    cores: &[usize],
    recorder: &mut Recorder,
    observer: &mut dyn FnMut(&Snapshot),
) -> Result<(), Error> {
    let stop = &assignment.stop;
    std::thread::scope(|scope| {
        let (out, batches) = mpsc::sync_channel::<Batch>(BATCHES);
        let mut handles = Vec::new();
        let mut spares = Vec::new();
        for thread in 0..assignment.threads {
            let core = cores.get(thread).copied();
            let shard = shard.of_thread(thread, assignment.threads);
            let assignment = Assignment { thread, shard, core, ..assignment.clone() };
            let out = out.clone();
            let (back, spare) = mpsc::sync_channel::<Vec<Event>>(SPARE);
            spares.push(back);
            let handle = std::thread::Builder::new()
                .name(format!("load-{thread}"))
                .spawn_scoped(scope, move || work(assignment, &out, &spare))
                .map_err(|source| {
                    stop.stop();
                    Error::System { what: "a load generator thread", source }
                })?;
            handles.push(handle);
        }
        drop(out);
        while !recorder.all_done() {
            match batches.recv_timeout(Duration::from_millis(100)) {
                Ok(mut batch) => {
                    recorder.add(&batch);
                    batch.events.clear();
                    if (1..=SPARE_EVENTS).contains(&batch.events.capacity()) {
                        // Fails if enough vectors are on their way back.
                        let _ = spares[batch.thread].try_send(batch.events);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            recorder.emit_due(&mut *observer);
            if recorder.is_aborted() {
                stop.stop();
            }
        }
        let mut result = Ok(());
        for handle in handles {
            let ended = handle.join().unwrap_or_else(|panic| {
                let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
                Err(Error::Driver(text.unwrap_or_else(|| "it panicked".to_owned())))
            });
            result = result.and(ended);
        }
        result
    })
}

#[cfg(test)]
mod tests;
