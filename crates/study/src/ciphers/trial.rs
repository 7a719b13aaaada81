//! One run: a kind of connection, used in one way, and what its sessions took.

use std::time::Duration;

use serde::Serialize;
use tidegate_experiment::{Folder, relayed};
use tidegate_host::Cores;
use tidegate_lab::{Error, Passed, Result};
use tidegate_load::{Arrivals, Plan, RunStage, Snapshot, Summary};

use super::Kind;
use super::modes::Mode;
use super::options::Design;
use crate::live::Counters;
use crate::site::addresses::of_load;
use crate::site::processes::Processes;

/// Name of the folder of the runs' raw data.
pub(super) const RUNS: &str = "operations";
/// Customers at a time; one where bytes and round trips are counted.
const CUSTOMERS: u32 = 4;
/// Sessions whose bytes and round trips are counted, after as many others.
const SESSIONS: u64 = 3;
/// Longest time of their runs.
const LONGEST: Duration = Duration::from_secs(120);
/// Factor on think times.
const HASTE: f64 = 0.002;
/// Largest share of failed requests of a run that counts.
const FAILED: f64 = 0.05;

/// A run and its figures, per session of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trial {
    /// From 1, in the order of measurement.
    pub number: usize,
    /// Index of the kind of connection.
    pub kind: usize,
    /// How connections were used; none before the first run.
    pub mode: Option<Mode>,
    /// Round from 0; `None` where bytes and round trips were counted.
    pub round: Option<u32>,
    /// Requests that were answered in the measured time.
    pub requests: u64,
    /// Requests that failed.
    pub requests_failed: u64,
    /// Full handshakes of a session.
    pub full: f64,
    /// Resumed handshakes of a session.
    pub resumed: f64,
    /// Response times of a session together, in milliseconds.
    pub response_ms: f64,
    /// CPU time of the site's processes, in milliseconds.
    pub cpu_ms: Option<f64>,
    /// CPU time of the gate for one full handshake, by its own clocks, in milliseconds.
    pub gate_full_ms: Option<f64>,
    /// The same for one that resumes.
    pub gate_resumed_ms: Option<f64>,
    /// Bytes of a session above TCP, both ways.
    pub bytes: Option<f64>,
    /// Round trips of a session.
    pub round_trips: Option<f64>,
    /// Why the load generator counts as saturated; empty if it does not.
    pub driver_saturated_because: Vec<String>,
}

impl Trial {
    /// Whether it says what sessions cost.
    pub fn is_sound(&self) -> bool {
        let all = (self.requests + self.requests_failed) as f64;
        self.requests > 0 && self.requests_failed as f64 <= FAILED * all
    }
}

/// Measures runs.
pub(super) struct Bench<'a> {
    pub(super) plan: &'a Plan,
    pub(super) folder: &'a Folder,
    pub(super) site: Option<&'a Processes>,
    pub(super) gate_admin: Option<&'a str>,
    pub(super) requests_each: f64,
    pub(super) design: Design,
    /// Runs so far: each has its own file and seed.
    pub(super) number: usize,
}

/// What is counted at one moment, from the start of the run.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    requests: u64,
    full: u64,
    resumed: u64,
    cpu_s: Option<f64>,
}

impl Bench<'_> {
    /// Runs one kind of connection in one way in a round.
    ///
    /// # Errors
    /// The run fails or is interrupted, or its result cannot be written.
    pub(super) fn run(
        &mut self,
        (index, kind): (usize, &Kind),
        mode: Mode,
        round: u32,
    ) -> Result<Trial> {
        let mut plan = self.plan_for(kind, mode);
        plan.seed = plan.seed.wrapping_add(round.into());
        (plan.warm_up, plan.measure) = (self.design.warm_up, self.design.window);
        plan.arrivals = Some(Arrivals::closed(CUSTOMERS));
        let gate = self.gate()?;
        let mut looks: Option<(Look, Look)> = None;
        let summary = self.kept(plan, &mut |snapshot| {
            let now = self.look(snapshot);
            looks = match looks {
                Some((first, _)) if snapshot.stage != RunStage::WarmUp => Some((first, now)),
                _ => Some((now, now)),
            };
        })?;
        self.number += 1;
        let of = Trial { kind: index, mode: Some(mode), round: Some(round), ..Trial::default() };
        let trial = self.of(of, &summary, looks);
        Ok(match gate.zip(self.gate()?) {
            Some((before, after)) => self.with_gate(trial, &after.since(&before)),
            None => trial,
        })
    }

    /// Counts bytes and round trips of one customer at a time: what some sessions have more than
    /// half of them, so that what each run has besides does not count.
    ///
    /// # Errors
    /// As [`Bench::run`].
    pub(super) fn count(&mut self, (index, kind): (usize, &Kind), mode: Mode) -> Result<Trial> {
        let [few, many] = [SESSIONS, 2 * SESSIONS].map(|sessions| {
            let mut plan = self.plan_for(kind, mode);
            (plan.warm_up, plan.measure) = (Duration::ZERO, LONGEST);
            plan.arrivals = Some(Arrivals::closed(1));
            plan.max_sessions = Some(sessions);
            let cores = Cores::of_this_process()
                .map_err(|error| Error::Machine(format!("cannot read the processors: {error}")))?;
            let relay = relayed(&mut plan, Duration::ZERO, &cores)?;
            let summary = self.kept(plan, &mut |_| ())?;
            self.number += 1;
            Ok::<_, Error>((relay.passed(), summary))
        });
        let ((less, few), (more, many)) = (few?, many?);
        let requests = many.totals.requests_ok.saturating_sub(few.totals.requests_ok);
        let each = |part: fn(&Passed) -> u64| {
            let amount = part(&more).saturating_sub(part(&less)) as f64;
            (requests > 0).then(|| amount * self.requests_each / requests as f64)
        };
        Ok(Trial {
            number: self.number,
            kind: index,
            mode: Some(mode),
            requests,
            requests_failed: many.totals.requests_failed,
            bytes: each(|it| it.sent + it.received),
            round_trips: each(|it| it.round_trips),
            ..Trial::default()
        })
    }

    fn plan_for(&self, kind: &Kind, mode: Mode) -> Plan {
        let mut plan = self.plan.clone();
        kind.put(&mut plan);
        mode.put(&mut plan);
        (plan.time_scale, plan.patience_scale) = (HASTE, 1.0 / HASTE);
        plan
    }

    /// Runs a plan, and keeps its result.
    fn kept(&self, plan: Plan, observer: &mut dyn FnMut(&Snapshot)) -> Result<Summary> {
        let summary = tidegate_load::run(plan, &mut |snapshot| observer(snapshot));
        let summary = summary.map_err(of_load)?;
        if self.plan.stop.is_stopped() {
            return Err(Error::Process(
                "interrupted: the study has no result; run it again".to_owned(),
            ));
        }
        let text =
            serde_json::to_vec(&summary).map_err(|error| Error::Internal(error.to_string()))?;
        self.folder.write(&format!("{RUNS}/{:03}.json", self.number + 1), &text)?;
        Ok(summary)
    }

    fn gate(&self) -> Result<Option<Counters>> {
        self.gate_admin.map(Counters::read).transpose().map_err(Error::Process)
    }

    fn look(&self, snapshot: &Snapshot) -> Look {
        let (before, since) = (&snapshot.before, &snapshot.totals);
        Look {
            requests: before.requests_ok + since.requests_ok,
            full: before.full_ok + since.full_ok,
            resumed: before.resumed_ok + since.resumed_ok,
            cpu_s: self.site.map(Processes::cpu_s),
        }
    }

    /// The figures between two looks, the last of the warm-up and the last of all, so that they are of
    /// the same time.
    fn of(&self, of: Trial, summary: &Summary, looks: Option<(Look, Look)>) -> Trial {
        let (first, last) = looks.unwrap_or_default();
        let requests = last.requests.saturating_sub(first.requests);
        let each = |amount: f64| amount * self.requests_each / requests.max(1) as f64;
        Trial {
            number: self.number,
            requests,
            requests_failed: summary.totals.requests_failed,
            full: each((last.full - first.full) as f64),
            resumed: each((last.resumed - first.resumed) as f64),
            response_ms: summary.response.mean_ms * self.requests_each,
            cpu_ms: first.cpu_s.zip(last.cpu_s).map(|(first, last)| each(1e3 * (last - first))),
            driver_saturated_because: summary.driver.saturated_because.clone(),
            ..of
        }
    }

    /// With what the gate counted. Its clocks stand in for those of processes that are not seen.
    fn with_gate(&self, trial: Trial, gate: &crate::live::Since) -> Trial {
        let per_request = gate.cpu_s.filter(|_| gate.requests > 0);
        let by_gate =
            per_request.map(|cpu_s| 1e3 * cpu_s * self.requests_each / gate.requests as f64);
        Trial {
            cpu_ms: trial.cpu_ms.or(by_gate),
            gate_full_ms: gate.full_cpu_s.map(|cpu_s| 1e3 * cpu_s),
            gate_resumed_ms: gate.resumed_cpu_s.map(|cpu_s| 1e3 * cpu_s),
            ..trial
        }
    }
}
