//! One run: an operation alone, or the scenario as it is, at a rate, and what the site used.

use std::time::Duration;

use serde::Serialize;
use tidegate_experiment::Folder;
use tidegate_experiment::folder::MAKE_ROOM;
use tidegate_lab::{Error, Result};
use tidegate_load::{Arrivals, Plan, Scenario, Summary};

use super::resources::{DISK, Groups, Meter, Resource, Unit, Used};
use crate::site::addresses::of_load;

/// Name of the folder of the runs' raw data.
pub(super) const RUNS: &str = "operations";
/// Share of the sessions that must complete as they arrive, so that a run counts as followed.
const FOLLOWED: f64 = 0.95;
/// How much longer a run may take than its arrivals, and how much in any case: queues need time.
const LONGER: f64 = 1.25;
const AS_WELL: Duration = Duration::from_millis(300);
/// A run ends at the latest after this many times the time of its arrivals.
const AT_MOST: f64 = 2.0;
/// Largest share of failed requests of a run that says what an operation costs.
pub(super) const FAILED: f64 = 0.05;
/// Factor on think times.
const HASTE: f64 = 0.002;
/// Longest pause after a run that the site did not follow.
const PAUSE: Duration = Duration::from_secs(5);

/// A run and its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// From 1, in the order of measurement.
    pub number: usize,
    /// Index of the operation that was alone, one beyond the last for connections; `None` of the
    /// scenario as it is.
    pub operation: Option<usize>,
    /// It looked for the rate; its figures are not used for costs.
    pub search: bool,
    /// Length in seconds.
    pub seconds: f64,
    /// Sessions per second that were asked for; `None` of one customer alone.
    pub asked_per_s: Option<f64>,
    /// Sessions completed per second.
    pub completed_per_s: f64,
    /// How often each operation was answered per second, in the order of the operations.
    pub counts_per_s: Vec<f64>,
    /// New connections per second.
    pub connections_per_s: f64,
    /// What was used of each resource per second, in the order of the resources.
    pub used_per_s: Vec<f64>,
    /// Busy processors of the whole machine.
    pub machine_busy: Option<f64>,
    /// Requests answered as expected.
    pub requests_ok: u64,
    /// Others.
    pub requests_failed: u64,
    /// 95th percentile of response times in milliseconds.
    pub response_p95_ms: f64,
    /// CPU share of the busiest thread of the load generator.
    pub driver_cpu_share: f64,
    /// Why the load generator counts as saturated; empty if it does not.
    pub driver_saturated_because: Vec<String>,
    /// Use of the busiest of the measured resources with a limit, the load generator's among them:
    /// 0 to 1.
    pub busy: f64,
    /// Threads of the site that were ready and had no processor, on average.
    pub waiting_threads: f64,
    /// Sessions completed as they arrived.
    pub follows: bool,
    /// The load generator counted every request.
    pub complete: bool,
}

/// Use below which something else than the measured resources is the limit of a site that does not
/// follow.
pub(super) const NOT_BUSY: f64 = 0.6;
/// Threads that wait for a processor from which the site has too few of them: others use the
/// machine, at a low priority too, which does not count as busy.
const WAITS: f64 = 0.2;

impl Run {
    /// How often an operation was answered per second, by its index; one beyond the last are the
    /// new connections.
    pub fn count(&self, operation: usize) -> f64 {
        self.counts_per_s.get(operation).copied().unwrap_or(self.connections_per_s)
    }

    /// Whether the site did not follow though no measured resource was used up and its threads
    /// had a processor when they wanted one: a lock or a pool is the limit.
    pub fn is_ceiling(&self) -> bool {
        !self.follows
            && self.busy < NOT_BUSY
            && self.is_sound()
            && self.is_in_time()
            && self.waiting_threads <= WAITS
            && self.asked_per_s.is_some()
    }

    /// Whether it says what operations cost. A load generator that is late does not change that:
    /// requests and what they used are counted, whenever they come.
    pub fn is_sound(&self) -> bool {
        let all = (self.requests_ok + self.requests_failed).max(1) as f64;
        self.complete && self.requests_ok > 0 && self.requests_failed as f64 <= FAILED * all
    }

    /// Whether the load generator offered what was asked for.
    pub fn is_in_time(&self) -> bool {
        self.driver_saturated_because.is_empty()
    }
}

/// Measures runs.
pub(super) struct Bench<'a> {
    /// The load, but for scenario, rate and times.
    pub(super) plan: &'a Plan,
    pub(super) folder: &'a Folder,
    pub(super) groups: Option<&'a Groups>,
    pub(super) resources: &'a [Resource],
    /// Names of the operations.
    pub(super) operations: &'a [String],
    /// Runs so far: each has its own file and seed.
    pub(super) number: usize,
}

/// What to run.
#[derive(Clone, Copy)]
pub(super) struct Load<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) operation: Option<usize>,
    /// Sessions per second; `None`: so many customers at a time.
    pub(super) per_s: Option<f64>,
    pub(super) customers: u32,
    /// Time of the arrivals.
    pub(super) length: Duration,
    /// Looks for the rate.
    pub(super) search: bool,
}

impl Bench<'_> {
    /// Runs a load to its end: all sessions that came are over, so that their requests and what
    /// they used belong together.
    ///
    /// # Errors
    /// The run fails or is interrupted, or its result cannot be written.
    pub(super) fn run(&mut self, load: Load<'_>) -> Result<(Run, Summary)> {
        self.number += 1;
        // The simulation of sessions takes time that is not of the run.
        load.scenario.session_length();
        let mut plan = self.plan.clone();
        plan.scenario = load.scenario.clone();
        plan.seed = plan.seed.wrapping_add(self.number as u64);
        plan.warm_up = Duration::ZERO;
        // Alone nobody thinks; where customers do, they hardly do. Their patience stays.
        (plan.time_scale, plan.patience_scale) = (HASTE, 1.0 / HASTE);
        plan.measure = load.length;
        plan.arrivals = Some(Arrivals::closed(load.customers));
        let sessions = load.per_s.map(|per_s| (per_s * load.length.as_secs_f64()).round().max(1.0));
        if let Some((per_s, sessions)) = load.per_s.zip(sessions) {
            plan.arrivals = Some(Arrivals::even(per_s));
            plan.max_sessions = Some(sessions as u64);
            plan.measure = load.length.mul_f64(AT_MOST) + AS_WELL;
        }
        let meter = self.groups.map(Meter::begin);
        let began = std::time::Instant::now();
        let summary = tidegate_load::run(plan, &mut |_| ()).map_err(of_load)?;
        let elapsed = began.elapsed();
        let used = meter.map(Meter::end);
        self.check_stop()?;
        let name = format!("{RUNS}/{:03}.json", self.number);
        let text =
            serde_json::to_vec(&summary).map_err(|error| Error::Internal(error.to_string()))?;
        self.folder.write(&name, &text).map_err(|error| match error {
            Error::Machine(text) => Error::Machine(format!("{text}; {MAKE_ROOM}")),
            other => other,
        })?;
        let seconds = used.as_ref().map_or(elapsed.as_secs_f64(), |used| used.seconds).max(1e-9);
        let run = self.of(&summary, load, sessions, (seconds, used));
        if !run.follows {
            self.settle();
        }
        Ok((run, summary))
    }

    fn of(
        &self,
        summary: &Summary,
        load: Load<'_>,
        sessions: Option<f64>,
        (seconds, used): (f64, Option<Used>),
    ) -> Run {
        let totals = &summary.totals;
        let count = |name: &String| {
            let page = summary.pages.get(name).copied().unwrap_or_default();
            (page.ok + page.failed) as f64 / seconds
        };
        let in_time = load.length.mul_f64(LONGER) + AS_WELL;
        let follows = match sessions {
            Some(sessions) => {
                totals.completed as f64 >= FOLLOWED * sessions && seconds <= in_time.as_secs_f64()
            }
            None => totals.completed > 0,
        };
        let mut because = summary.driver.saturated_because.clone();
        if totals.not_started > 0 {
            because.push(format!("{} sessions were not started", totals.not_started));
        }
        let use_of = |resource: (usize, &Resource)| {
            let all = match (resource, &used) {
                ((_, it), Some(used)) if it.driver => used.driver_cpu_s,
                ((at, it), Some(used)) if it.unit == Unit::CpuSeconds => used.cpu_s[at],
                ((_, it), Some(used)) if it.name == DISK => used.disk_bytes.unwrap_or(0.0),
                _ => totals.received_bytes as f64,
            };
            all / seconds
        };
        let used_per_s: Vec<f64> = self.resources.iter().enumerate().map(use_of).collect();
        let machine_busy = used.as_ref().and_then(|it| it.machine_busy);
        let machine =
            machine_busy.zip(used.as_ref()).map(|(busy, it)| busy / it.machine_cpus.max(1.0));
        let limited = self.resources.iter().zip(&used_per_s);
        let busy = limited.filter_map(|(it, used)| Some(used / it.per_s?)).fold(0.0, f64::max);
        let busy = busy.max(machine.unwrap_or(0.0)).max(summary.driver.cpu_share);
        let usual = summary.response.usual();
        let p95 = usual.iter().find(|(q, _)| (q - 0.95).abs() < 1e-9);
        Run {
            number: self.number,
            operation: load.operation,
            search: load.search,
            seconds,
            asked_per_s: load.per_s,
            completed_per_s: totals.completed as f64 / seconds,
            counts_per_s: self.operations.iter().map(count).collect(),
            connections_per_s: summary.phases.connect.count as f64 / seconds,
            used_per_s,
            machine_busy,
            requests_ok: totals.requests_ok,
            requests_failed: totals.requests_failed,
            response_p95_ms: p95.map_or(0.0, |(_, it)| it.ms),
            driver_cpu_share: summary.driver.cpu_share,
            driver_saturated_because: because,
            busy: busy.min(1.0),
            waiting_threads: used.as_ref().map_or(0.0, |it| it.waiting_threads),
            follows,
            complete: summary.driver.events_lost == 0,
        }
    }

    /// Waits until the site no longer works off what the last run has left.
    fn settle(&self) {
        let Some(groups) = self.groups else { return std::thread::sleep(PAUSE / 5) };
        let began = std::time::Instant::now();
        while began.elapsed() < PAUSE && !self.plan.stop.is_stopped() {
            let meter = Meter::begin(groups);
            std::thread::sleep(PAUSE / 50);
            let used = meter.end();
            if used.cpu_s.iter().sum::<f64>() < 0.1 * used.seconds {
                return;
            }
        }
    }

    /// # Errors
    /// The operator has interrupted it.
    pub(super) fn check_stop(&self) -> Result<()> {
        match self.plan.stop.is_stopped() {
            true => Err(Error::Process("interrupted: there is no result; run it again".to_owned())),
            false => Ok(()),
        }
    }
}
