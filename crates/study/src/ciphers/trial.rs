//! One run: a kind of connection, used in one way, and what its sessions took.

use std::time::Duration;

use serde::Serialize;
use tidegate_experiment::{Folder, relayed};
use tidegate_host::Cores;
use tidegate_lab::{Error, Passed, Relay, Result};
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

/// What is counted at one moment of the measured time.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    requests: u64,
    full: u64,
    resumed: u64,
    cpu_s: Option<f64>,
    passed: Option<Passed>,
}

impl Bench<'_> {
    /// Runs one kind of connection in one way. Without a round bytes and round trips are counted,
    /// of one customer at a time.
    ///
    /// # Errors
    /// The run fails or is interrupted, or its result cannot be written.
    pub(super) fn run(
        &mut self,
        (index, kind): (usize, &Kind),
        mode: Mode,
        round: Option<u32>,
    ) -> Result<Trial> {
        self.number += 1;
        let mut plan = self.plan.clone();
        kind.put(&mut plan);
        mode.put(&mut plan);
        plan.seed = plan.seed.wrapping_add(u64::from(round.unwrap_or(0)));
        (plan.time_scale, plan.patience_scale) = (HASTE, 1.0 / HASTE);
        (plan.warm_up, plan.measure) = (self.design.warm_up, self.design.window);
        plan.arrivals = Some(Arrivals::closed(if round.is_some() { CUSTOMERS } else { 1 }));
        let cores = Cores::of_this_process()
            .map_err(|error| Error::Machine(format!("cannot read the processors: {error}")))?;
        let relay = round.is_none().then(|| relayed(&mut plan, Duration::ZERO, &cores));
        let relay = relay.transpose()?;
        let gate = self.gate()?;
        let mut looks: Option<(Look, Look)> = None;
        let summary = tidegate_load::run(plan, &mut |snapshot| {
            if snapshot.stage == RunStage::Measure {
                let now = self.look(snapshot, relay.as_ref());
                looks = Some((looks.map_or(now, |(first, _)| first), now));
            }
        });
        let summary = summary.map_err(of_load)?;
        if self.plan.stop.is_stopped() {
            return Err(Error::Process(
                "interrupted: the study has no result; run it again".to_owned(),
            ));
        }
        let text =
            serde_json::to_vec(&summary).map_err(|error| Error::Internal(error.to_string()))?;
        self.folder.write(&format!("{RUNS}/{:03}.json", self.number), &text)?;
        let trial = Trial { kind: index, mode: Some(mode), round, ..self.of(&summary, looks) };
        Ok(match gate.zip(self.gate()?) {
            Some((before, after)) => self.with_gate(trial, &after.since(&before)),
            None => trial,
        })
    }

    fn gate(&self) -> Result<Option<Counters>> {
        self.gate_admin.map(Counters::read).transpose().map_err(Error::Process)
    }

    fn look(&self, snapshot: &Snapshot, relay: Option<&Relay>) -> Look {
        Look {
            requests: snapshot.totals.requests_ok,
            full: snapshot.totals.full_ok,
            resumed: snapshot.totals.resumed_ok,
            cpu_s: self.site.map(Processes::cpu_s),
            passed: relay.map(Relay::passed),
        }
    }

    /// The figures between two looks, so that they are of the same time.
    fn of(&self, summary: &Summary, looks: Option<(Look, Look)>) -> Trial {
        let (first, last) = looks.unwrap_or_default();
        let requests = last.requests.saturating_sub(first.requests);
        let each = |amount: f64| amount * self.requests_each / requests.max(1) as f64;
        let passed = first.passed.zip(last.passed);
        let of = |part: fn(&Passed) -> u64| {
            passed.map(|(first, last)| each((part(&last) - part(&first)) as f64))
        };
        Trial {
            number: self.number,
            requests,
            requests_failed: summary.totals.requests_failed,
            full: each((last.full - first.full) as f64),
            resumed: each((last.resumed - first.resumed) as f64),
            response_ms: summary.response.mean_ms * self.requests_each,
            cpu_ms: first.cpu_s.zip(last.cpu_s).map(|(first, last)| each(1e3 * (last - first))),
            bytes: of(|it| it.sent + it.received),
            round_trips: of(|it| it.round_trips),
            driver_saturated_because: summary.driver.saturated_because.clone(),
            ..Trial::default()
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
