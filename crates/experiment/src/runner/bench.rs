//! The place of runs: starts the system of each, lets the driver come, and keeps what it gave.

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::time::Instant;

use tidegate_host::{Cores, Machine, Provenance};
use tidegate_lab::services::GcPauses;
use tidegate_lab::{Neighbour, Pulse};
use tidegate_load::{Snapshot, Stop};

use super::kept::{Keeping, Kept};
use super::traces;
use crate::driver::{Window, write};
use crate::experiment::Settings;
use crate::folder::{RUNS, STATE};
use crate::metrics::Figures;
use crate::record::{self, Open, Record};
use crate::resources::Resources;
use crate::schedule::Run;
use crate::summary::FORMAT;
use crate::system::{Overrides, Started, Workshop, prepare};
use crate::{Error, Result};

/// What all runs share.
#[derive(Debug)]
pub struct Bench<'a> {
    resources: &'a Resources,
    out: PathBuf,
    stop: &'a Stop,
    provenance: Provenance,
    /// The machine, as it was before this process was pinned to the customers' processors.
    pub(super) machine: Machine,
    pub(super) workshop: Workshop,
    pulse: Pulse,
    /// Whether a system and its gates serve several runs, whatever their times say.
    keeps: bool,
    /// The systems that serve further runs.
    kept: Vec<Kept>,
}

impl<'a> Bench<'a> {
    /// Runs with folders in `out`, until `stop`. This process is pinned to the customers'
    /// processors; commands of experiments start in `folder`.
    ///
    /// # Errors
    /// `out` cannot be written, or the machine lacks what a run needs.
    pub fn open(
        resources: &'a Resources,
        out: &Path,
        folder: &Path,
        stop: &'a Stop,
    ) -> Result<Self> {
        let (provenance, machine) = (Provenance::read(), Machine::read());
        record::remove_incomplete(out);
        // The customers' threads are pinned; so is everything else that this process does.
        resources.driver.pin_this_thread().map_err(|error| {
            Error::Machine(format!("cannot run on processor {}: {error}", resources.driver))
        })?;
        let workshop = Workshop::open(out, folder)?;
        let pulse = Pulse::start(&resources.server)?;
        let (out, keeps, kept) = (out.to_owned(), false, Vec::new());
        Ok(Self { resources, out, stop, provenance, machine, workshop, pulse, keeps, kept })
    }

    /// The same for runs that are of no study, in place of those of before.
    ///
    /// # Errors
    /// [`Error::Operator`]: `out` holds a study; otherwise as of [`open`](Self::open).
    pub fn anew(resources: &'a Resources, out: &Path, stop: &'a Stop) -> Result<Self> {
        if out.join(STATE).exists() {
            let out = out.display();
            return Err(Error::Operator(format!("--out {out}: holds a study; give another --out")));
        }
        for id in record::read_all(out).into_keys() {
            let _ = std::fs::remove_dir_all(out.join(RUNS).join(id));
        }
        Self::open(resources, out, Path::new(""), stop)
    }

    /// Keeps the system of a run for those after it that differ in load and policy alone, with a
    /// gate for each policy: what it has learned stays. A gate without customers uses next to no
    /// CPU time.
    #[must_use]
    pub fn keeping_systems(self) -> Self {
        Self { keeps: true, ..self }
    }

    /// Makes what a system needs before it starts, such as a database, if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn prepare(&self, settings: &Settings) -> Result<()> {
        prepare(settings, &self.workshop)
    }

    /// Starts the system of these settings, which differ in policy alone, with a gate for each of
    /// them: the runs that follow find them, and what they say can be watched from the start. For
    /// a bench that [keeps systems](Self::keeping_systems).
    ///
    /// # Errors
    /// The system or a gate does not start, or the operator stops it.
    pub fn begin(&mut self, all: &[Settings]) -> Result<()> {
        for settings in all {
            let out = self.out.clone();
            let system = self.start(settings, Keeping::All, &Overrides::default(), &out);
            self.unless_stopped()?;
            self.kept.push(system?);
        }
        Ok(())
    }

    /// The system that was kept.
    pub fn kept(&self) -> Option<&Started> {
        self.kept.last().map(|kept| &kept.started)
    }

    /// Runs what is planned, and completes its folder. `show` may end it early.
    ///
    /// # Errors
    /// The system does not start, ends, or does not answer as it should; a file cannot be written;
    /// or the operator stops it.
    pub fn run(
        &mut self,
        run: &Run<'_>,
        show: &mut dyn FnMut(&Snapshot) -> ControlFlow<()>,
    ) -> Result<Record> {
        self.unless_stopped()?;
        let Run { planned, driver, .. } = run;
        let start = Instant::now();
        let open = Open::create(&self.out, &planned.id)?;
        let settings = &planned.settings;
        let grant = self.resources.grant(settings);
        let _neighbour = neighbour(settings, &grant.cores)?;
        // A group is removed once it has no processes: after the system.
        let mut groups = Vec::new();
        let keeping = Keeping::of(self.keeps, &planned.windows);
        let system = self.start(settings, keeping, &run.overrides, open.path());
        self.unless_stopped()?;
        let mut system = system?;
        let started = &system.started;
        self.resources.limit(&grant, &started.processes())?;
        let servers = started.system().application_servers();
        let database = started.database_processes();
        groups.extend(self.resources.limit_servers(settings, servers, &database)?);
        let (workshop, stop) = (&self.workshop, self.stop);
        let window = Window { planned, grant: &grant, folder: open.path(), workshop, stop };
        let (mut once_s, mut warmed) = (None, Figures::new());
        if let Some(stated_s) = system.warm_up_s(planned) {
            let warm = driver.warm_up(window, stated_s, started, show);
            self.unless_stopped()?;
            warmed = warm?;
            once_s = (keeping == Keeping::Service).then(|| start.elapsed().as_secs_f64());
        }
        let readings = driver.drive(window, started, show);
        self.unless_stopped()?;
        let mut readings = readings?;
        readings.figures.extend(warmed);
        // A process that has ended makes this an error with its log.
        started.cpu()?;
        for (page, name) in [("/status", "status.json"), ("/metrics", "metrics.txt")] {
            if let Some(text) = started.admin(page) {
                write(&open.path().join(name), &text)?;
            }
        }
        let gc_log = started.system().gc_log();
        match keeping {
            Keeping::Nothing => drop(system),
            Keeping::All => self.kept.push(system),
            Keeping::Service => {
                system.is_warm_for(planned);
                self.kept.push(system);
            }
        }
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
            rate_per_s: driver.rate_per_s(),
            capacity_per_s: readings.figures.get("capacity_per_s").copied(),
            took_s: Some(start.elapsed().as_secs_f64()),
            once_s,
            pulse_cost_s: self.pulse.cost_s(readings.measured.0, readings.measured.1),
            figures: readings.figures,
            phases: readings.phases,
            courses: readings.courses,
            driver_saturated: readings.saturated,
            doubts: run.doubts.clone(),
            seconds: readings.seconds,
        };
        open.complete(&record)?;
        Ok(record)
    }

    /// The system of a run: the one that was kept, if it can serve it, or a new one.
    fn start(
        &mut self,
        settings: &Settings,
        keeping: Keeping,
        overrides: &Overrides,
        folder: &Path,
    ) -> Result<Kept> {
        let cores = self.resources.grant(settings).cores;
        self.workshop.overrides = overrides.clone();
        let key = keeping.key(settings);
        let of_gate = keeping.folder_of_gate(&self.out, folder, &settings.policy);
        let position = self.kept.iter().position(|kept| kept.key == key);
        let kept = position.filter(|_| keeping != Keeping::Nothing);
        let kept = kept.map(|position| self.kept.remove(position));
        if keeping == Keeping::All {
            // One at a time: what another one uses would be seen.
            self.kept.clear();
        }
        let mut system = match kept {
            Some(kept) => kept,
            None => {
                let (workshop, stop) = (&self.workshop, self.stop);
                let folder = keeping.folder_of_service(&self.out, folder)?;
                Kept::new(key, Started::start(settings, &cores, workshop, &folder, stop)?)
            }
        };
        if keeping == Keeping::Service {
            system.started.end_gates();
        }
        system.started.put_gate_before(settings, &cores, &self.workshop, &of_gate)?;
        Ok(system)
    }

    /// # Errors
    /// The operator stopped the study.
    fn unless_stopped(&self) -> Result<()> {
        if !self.stop.is_stopped() {
            return Ok(());
        }
        Err(Error::Process(format!(
            "stopped; complete runs are kept in {}, and --resume continues there",
            self.out.display()
        )))
    }
}

/// The program that uses these processors as well, for the time of a run; none without a demand.
fn neighbour(settings: &Settings, cores: &Cores) -> Result<Option<Neighbour>> {
    if settings.neighbour == 0.0 {
        return Ok(None);
    }
    let neighbour = Neighbour::start(cores)?;
    neighbour.set(settings.neighbour);
    Ok(Some(neighbour))
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
