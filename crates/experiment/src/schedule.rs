//! What is measured when: a schedule gives the next run until there is none, and is told what
//! each gave.

use std::ops::ControlFlow;
use std::time::Duration;

use tidegate_load::Snapshot;

use crate::Result;
use crate::driver::Driver;
use crate::experiment::{Levels, Settings, Windows};
use crate::record::{Kind, Planned, Record};
use crate::resources::Resources;
use crate::system::Overrides;

/// One run.
pub struct Run<'a> {
    /// What it is, in words.
    pub what: String,
    /// What is planned.
    pub planned: Planned,
    /// What comes to the system.
    pub driver: Box<dyn Driver + 'a>,
    /// What no key of a file sets.
    pub overrides: Overrides,
    /// Why its figures will not be those of what is planned; empty if they will.
    pub doubts: Vec<String>,
}

impl<'a> Run<'a> {
    /// A run of what the settings of `planned` say.
    pub fn new(what: impl Into<String>, planned: Planned, driver: Box<dyn Driver + 'a>) -> Self {
        let (what, overrides, doubts) = (what.into(), Overrides::default(), Vec::new());
        Self { what, planned, driver, overrides, doubts }
    }
}

/// A run with these settings, times and seed that belongs to no round and no level.
pub fn planned(
    (id, kind): (String, Kind),
    settings: &Settings,
    (windows, seed): (Windows, u64),
    resources: &Resources,
) -> Planned {
    let grant = resources.grant(settings);
    Planned {
        id,
        kind,
        round: 0,
        levels: Levels::new(),
        settings: settings.clone(),
        windows,
        seed,
        cores: grant.cores.to_string(),
        cpus: grant.cpus,
        driver_cores: resources.driver.to_string(),
    }
}

/// What becomes of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It counts.
    Kept,
    /// It is repeated, for this reason.
    Again(String),
}

/// The course of an experiment.
pub trait Schedule<'a> {
    /// The next run; `None` once all are done.
    ///
    /// # Errors
    /// The runs so far allow no further one.
    fn next(&mut self) -> Result<Option<Run<'a>>>;

    /// Sees the state of the run that it gave last, and may end it early.
    fn watch(&mut self, _snapshot: &Snapshot) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Takes what that run gave.
    ///
    /// # Errors
    /// The experiment cannot go on with it.
    fn take(&mut self, record: &Record) -> Result<Taken>;

    /// Runs that are done, and all of them, without probes and baselines; 0 where they are not
    /// counted.
    fn done(&self) -> (usize, usize) {
        (0, 0)
    }

    /// About the time that is left, the run that was given last included; none where only a
    /// complete run would tell it.
    fn left(&self) -> Option<Duration>;
}
