//! One run: starts the system, lets the driver come, and ends everything.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use tidegate_host::{Machine, Provenance};
use tidegate_lab::Pulse;
use tidegate_lab::services::GcPauses;
use tidegate_load::{Scenario, Snapshot, Stop};

use super::traces;
use crate::driver::{Offered, Window, driver, requests_each, write};
use crate::experiment::Settings;
use crate::metrics::Figures;
use crate::record::{Open, Planned, Record};
use crate::resources::Resources;
use crate::summary::FORMAT;
use crate::system::{Started, Workshop};
use crate::{Error, Result};

/// What the runs of a study share.
pub(super) struct Bench<'a> {
    pub(super) resources: &'a Resources,
    pub(super) workshop: &'a Workshop,
    pub(super) pulse: &'a Pulse,
    pub(super) stop: &'a Stop,
    pub(super) out: &'a Path,
    pub(super) provenance: &'a Provenance,
    pub(super) machine: &'a Machine,
    pub(super) scenarios: &'a BTreeMap<String, Scenario>,
}

impl Bench<'_> {
    /// The customers' scenario.
    pub(super) fn scenario(&self, settings: &Settings) -> Result<&Scenario> {
        self.scenarios
            .get(&settings.scenario)
            .ok_or_else(|| Error::Internal(format!("no scenario {}", settings.scenario)))
    }

    /// Mean requests of a session.
    pub(super) fn requests_each(&self, settings: &Settings) -> Result<f64> {
        Ok(requests_each(self.scenario(settings)?))
    }

    /// Runs what is planned, and completes its folder.
    pub(super) fn run(
        &self,
        planned: &Planned,
        offered: Offered,
        show: &mut dyn FnMut(&Snapshot),
    ) -> Result<Record> {
        self.unless_stopped()?;
        let start = Instant::now();
        let open = Open::create(self.out, &planned.id)?;
        let settings = &planned.settings;
        let grant = self.resources.grant(settings);
        // A group is removed once it has no processes: after the system.
        let mut groups = Vec::new();
        let started = Started::start(settings, &grant.cores, self.workshop, open.path(), self.stop);
        self.unless_stopped()?;
        let started = started?;
        self.resources.limit(&grant, &started.processes())?;
        let servers = started.system().application_servers();
        groups.extend(self.resources.limit_servers(settings, servers)?);
        let driver = driver(settings, self.scenario(settings)?, offered, &self.resources.driver);
        let window = Window { planned, grant: &grant, folder: open.path(), stop: self.stop };
        let readings = driver.drive(window, &started, show);
        self.unless_stopped()?;
        let mut readings = readings?;
        // A process that has ended makes this an error with its log.
        started.cpu()?;
        for (page, name) in [("/status", "status.json"), ("/metrics", "metrics.txt")] {
            if let Some(text) = started.admin(page) {
                write(&open.path().join(name), &text)?;
            }
        }
        let gc_log = started.system().gc_log();
        drop(started);
        let measured = readings.monotonic();
        if settings.is_traced() {
            readings.phases.extend(traces::phases(open.path(), measured.clone())?);
        }
        if let Some(file) = gc_log {
            readings.figures.extend(pauses(&file, measured)?);
        }
        let record = Record {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            planned: planned.clone(),
            machine: self.machine.clone(),
            provenance: self.provenance.clone(),
            rate_per_s: offered.rate_per_s(),
            capacity_per_s: offered.capacity_per_s,
            took_s: Some(start.elapsed().as_secs_f64()),
            pulse_cost_s: self.pulse.cost_s(readings.measured.0, readings.measured.1),
            figures: readings.figures,
            phases: readings.phases,
            driver_saturated: readings.saturated,
            seconds: readings.seconds,
        };
        open.complete(&record)?;
        Ok(record)
    }

    /// # Errors
    /// The operator stopped the study.
    pub(super) fn unless_stopped(&self) -> Result<()> {
        if !self.stop.is_stopped() {
            return Ok(());
        }
        Err(Error::Process(format!(
            "stopped; complete runs are kept in {}, and --resume continues there",
            self.out.display()
        )))
    }
}

/// The pauses of the service's garbage collector in a window of the monotonic clock.
///
/// # Errors
/// Its log cannot be read.
fn pauses(file: &Path, window: Range<u64>) -> Result<Figures> {
    let length_ms = (window.end - window.start) as f64 / 1e6;
    let log = std::fs::read_to_string(file)
        .map_err(|error| Error::Machine(format!("cannot read {}: {error}", file.display())))?;
    let pauses = GcPauses::of(&log, window);
    Ok(Figures::from([
        ("gc_pause_share".into(), pauses.sum_ms / length_ms.max(1e-9)),
        ("gc_longest_ms".into(), pauses.longest_ms),
    ]))
}
