//! Runs an experiment: capacities, baselines and runs in their order, each in a folder of its
//! own; and continues where an earlier process stopped.

mod bench;
mod kept;
mod matrix;
mod probes;
mod time;
mod traces;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use tidegate_host::Machine;
use tidegate_lab::Quota;
use tidegate_load::{Scenario, Snapshot, Stop};

use crate::experiment::{Combination, Experiment};
use crate::folder::{Folder, LARGEST};
use crate::options::Options;
use crate::record::{self, Record};
use crate::resources::Resources;
use crate::schedule::{Schedule, Taken};
use crate::state::State;
use crate::system::{check_policies, leave_out_java};
use crate::{Error, Result};
pub use bench::Bench;
use matrix::Matrix;
pub use probes::Probes;

/// What happens while a study runs.
#[derive(Debug)]
pub enum Event<'a> {
    /// Something that a reader has to know.
    Note(&'a str),
    /// A run begins.
    Begin {
        /// What it is.
        what: &'a str,
        /// Runs that are done, and all of them; without capacities and baselines.
        done: (usize, usize),
        /// Time that the rest takes; none where only a complete run would tell it.
        left: Option<Duration>,
    },
    /// The state of the customers.
    Progress(&'a Snapshot),
    /// A run is complete.
    Complete(&'a Record),
}

/// All complete runs of a study, and what is known of their making.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Capacities, baselines and runs.
    pub records: Vec<Record>,
    /// What a reader has to know.
    pub notes: Vec<String>,
    /// What processors are.
    pub unit: String,
    /// Cores of service and gate, and of the customers.
    pub cores: (String, String),
    /// The machine, as it was before this process was pinned to the customers' processors.
    pub machine: Machine,
}

/// Runs what is missing of an experiment.
///
/// # Errors
/// [`Error::Operator`]: the folder holds another study, or the machine lacks what the
/// experiment asks for; otherwise a process or the machine failed, or the operator stopped it.
/// Complete runs are kept.
pub fn run(
    experiment: &Experiment,
    options: &Options,
    stop: &Stop,
    show: &mut dyn FnMut(Event),
) -> Result<Measured> {
    let mut combinations = experiment.combinations(options.quick);
    let given = (&options.server_cores, &options.driver_cores);
    let left_out = leave_out_java(&mut combinations, options.without_java)?;
    let mut resources = Resources::find(given, &mut combinations, Quota::new)?;
    resources.notes.extend(left_out);
    let state = State::new(experiment, options, &resources, scenario_texts(&combinations)?);
    state.claim(&options.out, options.resume)?;
    let mut bench = Bench::open(&resources, &options.out, &experiment.folder, stop)?;
    resources.notes.iter().for_each(|note| show(Event::Note(note)));
    check_policies(&combinations, &bench.workshop, &options.out.join("shared"))?;
    combinations.iter().try_for_each(|one| bench.prepare(&one.settings))?;
    let scenarios = scenarios(&combinations, &state.scenarios)?;
    let complete = record::read_all(&options.out);
    let mut matrix =
        Matrix::new(experiment, options, &combinations, &resources, &scenarios, complete);
    if matrix.done().0 < matrix.done().1 {
        // An earlier result is of runs of which some are no longer there.
        Folder::create(&options.out)?.remove_result()?;
    }
    conduct(&mut matrix, &mut bench, show)?;
    let records = matrix.complete.into_values().collect();
    let cores = (resources.server.to_string(), resources.driver.to_string());
    let (notes, unit) = (resources.notes.clone(), resources.unit());
    Ok(Measured { records, notes, unit, cores, machine: bench.machine })
}

/// Runs what a schedule asks for, until it has what it needs.
///
/// # Errors
/// A run or the schedule fails, or the operator stops it.
pub fn conduct<'a>(
    schedule: &mut dyn Schedule<'a>,
    bench: &mut Bench,
    show: &mut dyn FnMut(Event),
) -> Result<()> {
    while let Some(run) = schedule.next()? {
        let (done, left) = (schedule.done(), schedule.left());
        show(Event::Begin { what: &run.what, done, left });
        loop {
            let record = bench.run(&run, &mut |snapshot| {
                show(Event::Progress(snapshot));
                schedule.watch(snapshot)
            });
            let record = record.map_err(|error| within(&run.planned.id, error))?;
            let Taken::Again(why) = schedule.take(&record)? else {
                show(Event::Complete(&record));
                break;
            };
            show(Event::Note(&format!("again: {why}")));
        }
    }
    Ok(())
}

/// Every scenario that is named; `texts` has those of files.
fn scenarios(
    combinations: &[Combination],
    texts: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, Scenario>> {
    let read = |name: &String| {
        let scenario = match texts.get(name) {
            Some(text) => Scenario::from_toml(text, name)
                .map_err(|mistakes| Error::Operator(mistakes.to_string()))?,
            None => Scenario::built_in(name)
                .ok_or_else(|| Error::Internal(format!("no scenario {name}")))?,
        };
        Ok((name.clone(), scenario))
    };
    names(combinations).map(read).collect()
}

/// The texts of scenarios that do not come with the program, by name.
fn scenario_texts(combinations: &[Combination]) -> Result<BTreeMap<String, String>> {
    let read = |name: &String| {
        let text = tidegate_config::read_text(Path::new(name), LARGEST).map_err(|error| {
            Error::Operator(format!("{name}: {error}; name a scenario that can be read"))
        })?;
        Ok((name.clone(), text))
    };
    names(combinations).filter(|name| Scenario::built_in_text(name).is_none()).map(read).collect()
}

/// The scenarios of these combinations, each once.
fn names(combinations: &[Combination]) -> impl Iterator<Item = &String> {
    combinations.iter().map(|one| &one.settings.scenario).collect::<BTreeSet<_>>().into_iter()
}

/// The same error with the run in which it happened.
fn within(id: &str, error: Error) -> Error {
    let with =
        |text: String| if text.starts_with("stopped") { text } else { format!("{id}: {text}") };
    match error {
        Error::Operator(text) => Error::Operator(with(text)),
        Error::Machine(text) => Error::Machine(with(text)),
        Error::Process(text) => Error::Process(with(text)),
        Error::Internal(text) => Error::Internal(with(text)),
    }
}
