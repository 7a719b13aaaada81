//! Runs an experiment: capacities, baselines and runs in their order, each in a folder of its
//! own; and continues where an earlier process stopped.

mod baseline;
mod time;
mod traces;
mod window;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use tidegate_host::{Machine, Provenance};
use tidegate_lab::{Pulse, Quota};
use tidegate_load::{Scenario, Snapshot, Stop};

use crate::driver::Offered;
use crate::experiment::{Combination, Experiment, Settings};
use crate::folder::{Folder, LARGEST};
use crate::options::Options;
use crate::order::{Block, blocks, id};
use crate::record::{self, Kind, Planned, Record};
use crate::resources::Resources;
use crate::state::State;
use crate::system::{Workshop, check_policies, prepare};
use crate::{Error, Result};
use baseline::Capacities;
use time::Next;
use window::Bench;

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
        /// Time that the rest takes.
        left: Duration,
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

/// Attempts at a run in which the load generator is saturated. On a shared machine that passes.
const TRIES: usize = 3;
/// Runs per further attempt: on a machine where it does not pass, a study must end, too.
const RUNS_PER_RETRY: usize = 8;

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
    let resources = Resources::find(given, &mut combinations, Quota::new)?;
    let state = State::new(experiment, options, &resources, scenario_texts(&combinations)?);
    state.claim(&options.out, options.resume)?;
    let (provenance, machine) = (Provenance::read(), Machine::read());
    record::remove_incomplete(&options.out);
    // The customers' threads are pinned; so is everything else that this process does.
    resources.driver.pin_this_thread().map_err(|error| {
        Error::Machine(format!("cannot run on processor {}: {error}", resources.driver))
    })?;
    resources.notes.iter().for_each(|note| show(Event::Note(note)));
    let workshop = Workshop::open(&options.out, &experiment.folder)?;
    check_policies(&combinations, &workshop, &options.out.join("shared"))?;
    combinations.iter().try_for_each(|one| prepare(&one.settings, &workshop))?;
    let bench = Bench {
        resources: &resources,
        workshop: &workshop,
        pulse: &Pulse::start(&resources.server)?,
        stop,
        out: &options.out,
        provenance: &provenance,
        machine: &machine,
        scenarios: &scenarios(&combinations, &state.scenarios)?,
    };
    let mut runner = Runner {
        bench,
        experiment,
        options,
        combinations: &combinations,
        complete: record::read_all(&options.out),
        capacities: Capacities::default(),
        left: 0,
        all: 0,
        retries: 0,
        show,
    };
    runner.run()?;
    let records = runner.complete.into_values().collect();
    let cores = (resources.server.to_string(), resources.driver.to_string());
    let (notes, unit) = (resources.notes.clone(), resources.unit());
    Ok(Measured { records, notes, unit, cores, machine })
}

/// Every scenario that is named; `texts` has those of files.
fn scenarios(
    combinations: &[Combination],
    texts: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, Scenario>> {
    let mut scenarios = BTreeMap::new();
    for name in combinations.iter().map(|one| &one.settings.scenario) {
        if scenarios.contains_key(name) {
            continue;
        }
        let scenario = match texts.get(name) {
            Some(text) => Scenario::from_toml(text, name)
                .map_err(|mistakes| Error::Operator(mistakes.to_string()))?,
            None => Scenario::built_in(name)
                .ok_or_else(|| Error::Internal(format!("no scenario {name}")))?,
        };
        scenarios.insert(name.clone(), scenario);
    }
    Ok(scenarios)
}

/// The texts of scenarios that do not come with the program, by name.
fn scenario_texts(combinations: &[Combination]) -> Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for name in combinations.iter().map(|one| &one.settings.scenario) {
        if !texts.contains_key(name) && Scenario::built_in_text(name).is_none() {
            let text = tidegate_config::read_text(Path::new(name), LARGEST).map_err(|error| {
                Error::Operator(format!("{name}: {error}; name a scenario that can be read"))
            })?;
            texts.insert(name.clone(), text);
        }
    }
    Ok(texts)
}

/// The state of a study that runs.
struct Runner<'a> {
    bench: Bench<'a>,
    experiment: &'a Experiment,
    options: &'a Options,
    combinations: &'a [Combination],
    complete: BTreeMap<String, Record>,
    capacities: Capacities,
    /// Runs that are missing, and all.
    left: usize,
    all: usize,
    /// Further attempts that are left.
    retries: usize,
    show: &'a mut dyn FnMut(Event),
}

impl Runner<'_> {
    fn run(&mut self) -> Result<()> {
        let windows = self.experiment.windows(self.options.quick);
        let blocks = blocks(self.combinations, windows.repetitions, self.options.seed);
        self.drop_others(&blocks);
        let missing: Vec<usize> = blocks.iter().map(|block| self.missing(block).len()).collect();
        (self.left, self.all) =
            (missing.iter().sum(), blocks.iter().map(|block| block.runs.len()).sum());
        self.retries = self.left.div_ceil(RUNS_PER_RETRY);
        if self.left > 0 {
            // An earlier result is of runs of which some are no longer there.
            Folder::create(&self.options.out)?.remove_result()?;
        }
        for (number, block) in blocks.iter().enumerate() {
            let missing = self.missing(block);
            let capacity = match self.first_load(block) {
                Some(settings) => Some(self.capacity(&settings, number, &blocks[number..])?),
                None => None,
            };
            for index in missing {
                let planned = self.planned(block.round, index);
                let offered = match (planned.settings.load, capacity) {
                    (Some(load), Some(capacity)) => Offered::at(load * capacity, Some(capacity)),
                    _ => Offered::by(&planned.settings),
                };
                let what = words(&planned);
                self.begin(&what, &blocks[number..], Next::Run);
                self.measure(&planned, offered)?;
                self.left -= 1;
            }
        }
        Ok(())
    }

    /// Forgets complete runs that were planned otherwise: they do not count.
    fn drop_others(&mut self, blocks: &[Block]) {
        let mut planned = BTreeMap::new();
        for block in blocks {
            for index in &block.runs {
                let one = self.planned(block.round, *index);
                planned.insert(one.id.clone(), one);
            }
        }
        self.complete.retain(|id, record| {
            record.planned.kind != Kind::Run || planned.get(id) == Some(&record.planned)
        });
    }

    /// The runs of a block that are not complete.
    fn missing(&self, block: &Block) -> Vec<usize> {
        let is_missing = |index: &usize| {
            let id = id(block.round, *index, &self.combinations[*index]);
            !self.complete.contains_key(&id)
        };
        block.runs.iter().copied().filter(is_missing).collect()
    }

    /// The settings of the first missing run of a block whose load is a multiple of the capacity.
    fn first_load(&self, block: &Block) -> Option<Settings> {
        let settings = |index: usize| &self.combinations[index].settings;
        let first = self.missing(block).into_iter().find(|index| settings(*index).load.is_some());
        first.map(|index| settings(index).clone())
    }

    fn planned(&self, round: u32, index: usize) -> Planned {
        let combination = &self.combinations[index];
        let grant = self.bench.resources.grant(&combination.settings);
        Planned {
            id: id(round, index, combination),
            kind: Kind::Run,
            round,
            levels: combination.levels.clone(),
            settings: combination.settings.clone(),
            windows: self.experiment.windows(self.options.quick).of_run(&combination.settings),
            // The customers of a round are the same for every level.
            seed: self.options.seed.wrapping_add(u64::from(round)),
            cores: grant.cores.to_string(),
            cpus: grant.cpus,
            driver_cores: self.bench.resources.driver.to_string(),
        }
    }

    /// Measures what is planned, again where the load generator was saturated, as long as
    /// attempts are left. A probe or baseline is not repeated: its own rules correct it.
    fn measure(&mut self, planned: &Planned, offered: Offered) -> Result<Record> {
        let mut tries = 1;
        let record = loop {
            let show = &mut self.show;
            let record = self
                .bench
                .run(planned, offered, &mut |snapshot| show(Event::Progress(snapshot)))
                .map_err(|error| within(&planned.id, error))?;
            let again = !record.is_sound() && planned.kind == Kind::Run;
            if !again || tries == TRIES || self.retries == 0 {
                break record;
            }
            tries += 1;
            self.retries -= 1;
            let why = record.driver_saturated.join("; ");
            (self.show)(Event::Note(&format!("again, the load generator was saturated: {why}")));
        };
        (self.show)(Event::Complete(&record));
        self.complete.insert(planned.id.clone(), record.clone());
        Ok(record)
    }

    /// Tells what begins, and the time that it and the rest take. `blocks` begin with its own.
    fn begin(&mut self, what: &str, blocks: &[Block], next: Next) {
        let left = self.time_left(blocks, next);
        (self.show)(Event::Begin { what, done: (self.all - self.left, self.all), left });
    }
}

/// A run in words: its levels.
fn words(planned: &Planned) -> String {
    let levels: Vec<String> =
        planned.levels.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
    let levels = if levels.is_empty() { "the system".into() } else { levels.join(", ") };
    format!("round {}: {levels}", planned.round + 1)
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
