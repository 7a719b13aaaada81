//! The schedule of a study: its combinations in rounds. Loads are multiples of a capacity, which
//! is estimated once by the CPU time of a session, and measured again before each block of runs by
//! a baseline just below it, since the machine's speed drifts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tidegate_load::Scenario;

use super::kept::Warm;
use super::probes::{Capacity, Probes, disturbing_use, told};
use crate::driver::{Offered, driver, requests_each};
use crate::experiment::{Combination, Experiment, Settings, Windows};
use crate::folder::RUNS;
use crate::options::Options;
use crate::order::{Block, blocks, id};
use crate::record::{Kind, Planned, Record};
use crate::resources::Resources;
use crate::schedule::{Run, Schedule, Taken, planned};
use crate::system::{EAC_PROFILED, Profile};
use crate::{Error, Result};

/// Attempts at a run that is disturbed. On a shared machine that passes.
const TRIES: usize = 3;
/// Runs per further attempt: on a machine where it does not pass, a study must end, too.
const RUNS_PER_RETRY: usize = 8;
/// Sessions per second and core of the first probe: a light load for any machine that can
/// compile this program.
const FIRST_PER_S: f64 = 10.0;
/// The probes' shares of the estimate before them.
pub(super) const SHARES: &[f64] = &[1.0, 0.6, 0.8, 0.9, 0.9, 0.9];
/// The measured time of a probe, in seconds.
const PROBE_S: f64 = 2.5;
/// Its warm-up in durations of a session, and its limits in seconds: before the first sessions
/// end there are fewer of them than later.
const WARM_UP: (f64, f64, f64) = (1.2, 1.0, 60.0);
/// Load of a baseline as a share of the capacity: one that a machine of changing speed still
/// serves.
const BASELINE: f64 = 0.9;
/// Baselines in a row that may tell no capacity.
const ATTEMPTS: usize = 6;
/// What is wrong with runs after these.
const UNCONFIRMED: &str = "no baseline confirmed the capacity";

/// The state of a study.
pub(super) struct Matrix<'a> {
    experiment: &'a Experiment,
    options: &'a Options,
    pub(super) combinations: &'a [Combination],
    resources: &'a Resources,
    scenarios: &'a BTreeMap<String, Scenario>,
    /// What is to be done, in order.
    pub(super) blocks: Vec<Block>,
    /// The block that is measured, and what is measured of it.
    pub(super) at: usize,
    pub(super) stage: Stage,
    /// Runs, probes and baselines that are complete.
    pub(super) complete: BTreeMap<String, Record>,
    /// The last known capacity, in sessions per second, by [`Settings::capacity_key`].
    capacities: BTreeMap<String, f64>,
    /// What services that are kept are warm for, by the same key.
    pub(super) warm: BTreeSet<Warm>,
    /// Runs that are missing, and all.
    left: usize,
    all: usize,
    /// Attempts at the current run, and further ones that are left.
    tries: usize,
    retries: usize,
    /// Whether the runs that have no figures are measured again.
    again: bool,
}

/// What is measured of a block.
pub(super) enum Stage {
    /// Nothing yet.
    Begin,
    /// The capacity of a system with these settings, which have no admission control.
    Probes(Settings, Probes),
    /// A baseline of such a system, with an assumed capacity and the number of baselines before it.
    Baseline(Settings, f64, usize),
    /// Its runs; loads are multiples of this capacity.
    Runs(VecDeque<usize>, Option<Capacity>),
}

impl<'a> Matrix<'a> {
    /// What is missing of an experiment, of which these runs are complete.
    pub(super) fn new(
        experiment: &'a Experiment,
        options: &'a Options,
        combinations: &'a [Combination],
        resources: &'a Resources,
        scenarios: &'a BTreeMap<String, Scenario>,
        complete: BTreeMap<String, Record>,
    ) -> Self {
        let rounds = experiment.windows(options.quick).repetitions;
        let blocks = blocks(combinations, rounds, options.seed);
        let mut matrix = Self {
            experiment,
            options,
            combinations,
            resources,
            scenarios,
            at: 0,
            stage: Stage::Begin,
            complete,
            capacities: BTreeMap::new(),
            warm: BTreeSet::new(),
            left: 0,
            all: blocks.iter().map(|block| block.runs.len()).sum(),
            tries: 0,
            retries: 0,
            again: false,
            blocks,
        };
        matrix.drop_others();
        matrix.left = matrix.blocks.iter().map(|block| matrix.missing(block).len()).sum();
        matrix.retries = matrix.left.div_ceil(RUNS_PER_RETRY);
        matrix
    }

    /// Forgets complete runs that were planned otherwise: they do not count.
    fn drop_others(&mut self) {
        let of_block = |block: &Block| {
            let planned = block.runs.iter().map(|index| self.planned(block.round, *index));
            planned.map(|planned| (planned.id.clone(), planned)).collect::<Vec<_>>()
        };
        let planned: BTreeMap<String, Planned> = self.blocks.iter().flat_map(of_block).collect();
        self.complete.retain(|id, record| {
            record.planned.kind != Kind::Run || planned.get(id) == Some(&record.planned)
        });
    }

    pub(super) fn windows(&self) -> Windows {
        self.experiment.windows(self.options.quick)
    }

    /// The times of a run of a combination.
    pub(super) fn windows_of(&self, index: usize) -> Windows {
        self.windows().of_run(&self.combinations[index].settings)
    }

    /// The runs of a block that are not complete.
    pub(super) fn missing(&self, block: &Block) -> VecDeque<usize> {
        let is_missing = |index: &usize| {
            let id = id(block.round, *index, &self.combinations[*index]);
            !self.complete.contains_key(&id)
        };
        block.runs.iter().copied().filter(is_missing).collect()
    }

    /// The settings of the first missing run of a block whose load is a multiple of the capacity.
    pub(super) fn first_load(&self, block: &Block) -> Option<&Settings> {
        let missing = self.missing(block).into_iter();
        let mut settings = missing.map(|index| &self.combinations[index].settings);
        settings.find(|settings| settings.load.is_some())
    }

    fn planned(&self, round: u32, index: usize) -> Planned {
        let combination = &self.combinations[index];
        let named = (id(round, index, combination), Kind::Run);
        let levels = combination.levels.clone();
        Planned {
            levels,
            ..self.of_round(round, named, &combination.settings, self.windows_of(index))
        }
    }

    /// A run of a round. Its customers are the same whatever is measured.
    fn of_round(
        &self,
        round: u32,
        named: (String, Kind),
        settings: &Settings,
        windows: Windows,
    ) -> Planned {
        let seed = self.options.seed.wrapping_add(u64::from(round));
        Planned { round, ..planned(named, settings, (windows, seed), self.resources) }
    }

    /// How a block begins.
    fn begin(&self, block: &Block) -> Result<Stage> {
        let Some(settings) = self.first_load(block) else {
            return Ok(Stage::Runs(self.missing(block), None));
        };
        let off = Settings { policy: "off".into(), ..settings.clone() };
        if let Some(capacity) = self.known(&off) {
            return Ok(Stage::Baseline(off, capacity, 0));
        }
        let first_per_s = FIRST_PER_S * self.resources.grant(&off).cpus;
        let probes = Probes::new(first_per_s, SHARES, requests_each(self.scenario(&off)?));
        Ok(Stage::Probes(off, probes))
    }

    /// A capacity that needs no probe, in sessions per second.
    pub(super) fn known(&self, settings: &Settings) -> Option<f64> {
        let key = settings.capacity_key();
        let requests = requests_each(self.scenario(settings).ok()?);
        self.capacities.get(&key).copied().or_else(|| self.earlier(&key, requests))
    }

    /// What the last window of an earlier process told that told a capacity.
    fn earlier(&self, key: &str, requests_each: f64) -> Option<f64> {
        let all = self.complete.values().filter(|record| {
            record.planned.kind != Kind::Run && record.planned.settings.capacity_key() == key
        });
        let told = all.filter_map(|it| Some((it, told(it, requests_each)?)));
        told.max_by_key(|(it, _)| it.provenance.started_unix_s).map(|(_, per_s)| per_s)
    }

    /// Plans the runs without figures once more, as many as there are attempts left: their load
    /// generator was saturated or their capacity unconfirmed, which on a shared machine passes.
    fn measure_again(&mut self) {
        self.again = true;
        let without = |block: &Block| {
            let runs = block.runs.iter().copied().filter(|index| {
                let id = id(block.round, *index, &self.combinations[*index]);
                self.complete.get(&id).is_some_and(|record| !record.is_sound())
            });
            Block { round: block.round, runs: runs.collect() }
        };
        let blocks: Vec<Block> = self.blocks.iter().map(without).collect();
        for mut block in blocks {
            block.runs.truncate(self.retries);
            self.retries -= block.runs.len();
            self.left += block.runs.len();
            for index in &block.runs {
                let id = id(block.round, *index, &self.combinations[*index]);
                self.complete.remove(&id);
            }
            self.blocks.extend((!block.runs.is_empty()).then_some(block));
        }
    }

    /// The times of a probe.
    pub(super) fn probe_windows(&self, settings: &Settings) -> Windows {
        let scenario = self.scenario(settings);
        let session = scenario.map_or(0.0, |it| it.session_duration().as_secs_f64());
        let (times, least, most) = WARM_UP;
        // A server that compiles its code while it runs is as fast as later once it is warm.
        let warm_up_s = (times * session * settings.time_scale)
            .clamp(least, most)
            .max(self.windows().warm_up_s);
        let (measured_s, repetitions, warm_up_per_customer_s) = (PROBE_S, 1, 0.0);
        Windows { warm_up_s, measured_s, repetitions, warm_up_per_customer_s, ..self.windows() }
    }

    /// The customers' scenario.
    fn scenario(&self, settings: &Settings) -> Result<&'a Scenario> {
        self.scenarios
            .get(&settings.scenario)
            .ok_or_else(|| Error::Internal(format!("no scenario {}", settings.scenario)))
    }

    /// What connections cost in the last baseline of the block.
    fn profile(&self, round: u32) -> Result<Profile> {
        let name = self.baseline(round);
        let last = self.complete.keys().filter(|id| id.starts_with(&name)).max();
        let missing = || {
            let text = format!("no gate told its costs in {name}: {EAC_PROFILED:?} needs them");
            Error::Machine(text + "; measure a service behind a gate, and start the study anew")
        };
        let file = self.options.out.join(RUNS).join(last.ok_or_else(missing)?).join("status.json");
        let status = std::fs::read_to_string(&file)
            .map_err(|error| Error::Machine(format!("cannot read {}: {error}", file.display())))?;
        Profile::of_status(&status).ok_or_else(missing)
    }

    /// How the names of the block's baselines begin.
    fn baseline(&self, round: u32) -> String {
        format!("baseline-r{:02}-b{:03}", round + 1, self.at)
    }

    /// The name with the lowest number that no run has.
    fn free_id(&self, name: &str) -> String {
        let ids = (1..).map(|number| format!("{name}-{number:02}"));
        ids.into_iter().find(|id| !self.complete.contains_key(id)).unwrap_or_default()
    }
}

impl<'a> Schedule<'a> for Matrix<'a> {
    fn next(&mut self) -> Result<Option<Run<'a>>> {
        loop {
            if self.at == self.blocks.len() && !self.again {
                self.measure_again();
            }
            let Some(block) = self.blocks.get(self.at) else { return Ok(None) };
            let round = block.round;
            let named = |name: &str, kind| (self.free_id(name), kind);
            let (what, planned, offered) = match &self.stage {
                Stage::Begin => {
                    self.stage = self.begin(block)?;
                    continue;
                }
                Stage::Probes(off, probes) => {
                    let Some(per_s) = probes.next_per_s() else {
                        self.stage = Stage::Baseline(off.clone(), probes.capacity_per_s(), 0);
                        continue;
                    };
                    let named = named("capacity", Kind::Capacity);
                    let planned = self.of_round(0, named, off, self.probe_windows(off));
                    let what = "capacity, by the CPU time of a session".to_owned();
                    (what, planned, Offered::at(per_s, None))
                }
                Stage::Baseline(off, capacity, _) => {
                    let named = named(&self.baseline(round), Kind::Baseline);
                    let planned = self.of_round(round, named, off, self.windows());
                    let offered = Offered::at(BASELINE * capacity, Some(*capacity));
                    ("baseline without admission control".to_owned(), planned, offered)
                }
                Stage::Runs(runs, capacity) => {
                    let Some(index) = runs.front() else {
                        (self.at, self.stage) = (self.at + 1, Stage::Begin);
                        continue;
                    };
                    let planned = self.planned(round, *index);
                    let offered = match (planned.settings.load, *capacity) {
                        (Some(load), Some(Capacity { per_s, .. })) => {
                            Offered::at(load * per_s, Some(per_s))
                        }
                        _ => Offered::by(&planned.settings),
                    };
                    (words(&planned), planned, offered)
                }
            };
            let scenario = self.scenario(&planned.settings)?;
            let driver = driver(&planned.settings, scenario, offered, &self.resources.driver);
            let mut run = Run::new(what, planned, driver);
            if let Stage::Runs(_, Some(Capacity { is_confirmed: false, .. })) = self.stage {
                run.doubts.push(UNCONFIRMED.into());
            }
            if run.planned.settings.policy == EAC_PROFILED {
                run.overrides.profile = Some(self.profile(round)?);
            }
            return Ok(Some(run));
        }
    }

    /// A run that was disturbed is repeated as long as attempts are left. A probe or baseline is
    /// not: its own rules correct it.
    fn take(&mut self, record: &Record) -> Result<Taken> {
        let requests_each = requests_each(self.scenario(&record.planned.settings)?);
        let mut measured = None;
        self.warm.insert(Warm::of(&record.planned));
        match &mut self.stage {
            Stage::Begin => {}
            Stage::Probes(_, probes) => probes.take(record),
            Stage::Baseline(_, assumed, attempts) => {
                *attempts += 1;
                let capacity = Capacity::by(record, *assumed, requests_each);
                *assumed = capacity.per_s;
                let ends = capacity.is_confirmed || *attempts == ATTEMPTS;
                measured = ends.then_some(capacity);
            }
            Stage::Runs(runs, _) => {
                self.tries += 1;
                if let Some(why) = disturbed(record)
                    && self.tries < TRIES
                    && self.retries > 0
                {
                    self.retries -= 1;
                    return Ok(Taken::Again(why));
                }
                runs.pop_front();
                (self.tries, self.left) = (0, self.left - 1);
            }
        }
        self.complete.insert(record.planned.id.clone(), record.clone());
        if let Some(capacity) = measured {
            self.capacities.insert(record.planned.settings.capacity_key(), capacity.per_s);
            self.stage = Stage::Runs(self.missing(&self.blocks[self.at]), Some(capacity));
        }
        Ok(Taken::Kept)
    }

    fn done(&self) -> (usize, usize) {
        (self.all - self.left, self.all)
    }

    fn left(&self) -> Option<Duration> {
        self.time_left()
    }
}

/// What may be otherwise in another attempt at a run; none if nothing.
fn disturbed(record: &Record) -> Option<String> {
    let used = |share| format!("other programs used {:.0} % of the servers' cores", 100.0 * share);
    record.saturation().or_else(|| disturbing_use(record).map(used))
}

/// A run in words: its levels.
fn words(planned: &Planned) -> String {
    let levels: Vec<String> =
        planned.levels.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
    let levels = if levels.is_empty() { "the system".into() } else { levels.join(", ") };
    format!("round {}: {levels}", planned.round + 1)
}

#[cfg(test)]
mod tests;
