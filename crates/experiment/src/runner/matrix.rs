//! The schedule of a study: its combinations in rounds. Loads are multiples of a capacity, which
//! is estimated once by the CPU time of a session, and measured again before each block of runs by
//! a baseline just below it, since the machine's speed drifts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tidegate_load::Scenario;

use super::kept::Warm;
use super::probes::{Probes, Told, disturbing_use, told};
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

/// A capacity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capacity {
    /// Sessions per second.
    per_s: f64,
    /// Whether a baseline told it.
    is_confirmed: bool,
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
                let told = Told::by(record, *assumed, requests_each);
                let (Told::Capacity(per_s) | Told::Next(per_s)) = told;
                *assumed = per_s;
                let is_confirmed = matches!(told, Told::Capacity(_));
                let ends = is_confirmed || *attempts == ATTEMPTS;
                measured = ends.then_some(Capacity { per_s, is_confirmed });
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
mod tests {
    use super::*;
    use crate::record::tests::record;
    use tidegate_host::Cores;

    const LOADS: &str = "\
name = \"loads\"
about = \"two multiples of the capacity\"
[windows]
repetitions = 1
[[factors]]
key = \"load\"
levels = [0.5, 2]
";

    /// Name and rate of a run that is measured.
    type Measured = (String, Option<f64>);

    /// Names and rates of the runs that are measured, beside those that are complete, and all that
    /// are complete then. By their number the runs give a record each.
    fn course(
        complete: BTreeMap<String, Record>,
        gives: impl Fn(usize) -> Record,
    ) -> Option<(Vec<Measured>, BTreeMap<String, Record>)> {
        let allowed = Cores::of_this_thread().unwrap();
        let resources = Resources::whole_cores(&allowed.only(0)?, &allowed.only(1)?).unwrap();
        let experiment = Experiment::from_toml(LOADS, "x.toml").unwrap();
        let (out, server_cores, driver_cores) = ("".into(), None, None);
        let (quick, resume, without_java) = (false, false, false);
        let options =
            Options { out, quick, resume, seed: 1, server_cores, driver_cores, without_java };
        let combinations = experiment.combinations(false);
        let name = &experiment.base.scenario;
        let scenarios = BTreeMap::from([(name.clone(), Scenario::built_in(name).unwrap())]);
        let mut matrix =
            Matrix::new(&experiment, &options, &combinations, &resources, &scenarios, complete);
        let mut runs = Vec::new();
        while let Some(run) = matrix.next().unwrap() {
            assert!(matrix.left() > Some(Duration::ZERO));
            loop {
                runs.push((run.planned.id.clone(), run.driver.rate_per_s()));
                let (planned, doubts) = (run.planned.clone(), run.doubts.clone());
                let record = Record { planned, doubts, ..gives(runs.len()) };
                if matrix.take(&record).unwrap() == Taken::Kept {
                    break;
                }
            }
        }
        assert_eq!(matrix.done(), (2, 2));
        assert_eq!(matrix.left(), Some(Duration::ZERO));
        Some((runs, matrix.complete))
    }

    /// A run of this session rate and use of the processors, in which this share completed.
    fn gave(per_s: f64, server_use: f64, completed_ratio: f64) -> Record {
        let each = requests_each(&Scenario::built_in("auction-bidding-normalised").unwrap());
        let figures = [
            ("requests_per_s", per_s * each),
            ("server_use", server_use),
            ("completed_ratio", completed_ratio),
        ];
        record("x", 0, &[], &figures)
    }

    #[test]
    fn a_block_has_probes_and_baselines_until_one_is_carried_and_then_its_runs() {
        let gives = |number| match number {
            1 => gave(10.0, 0.1, 1.0),
            2 => gave(60.0, 0.8, 1.0),
            3 => gave(50.0, 1.0, 0.5),
            4 => gave(54.0, 0.9, 1.0),
            // The load generator was saturated once.
            5 => Record { driver_saturated: vec!["late".into()], ..gave(30.0, 0.5, 1.0) },
            _ => gave(30.0, 0.5, 1.0),
        };
        let Some((runs, _)) = course(BTreeMap::new(), gives) else { return };
        let ids: Vec<&str> = runs.iter().map(|(id, _)| id.as_str()).collect();
        let before = ["capacity-01", "capacity-02", "baseline-r01-b000-01", "baseline-r01-b000-02"];
        assert_eq!(ids[..4], before);
        assert_eq!((ids.len(), ids[4]), (7, ids[5]));
        assert!(ids[4..].iter().all(|id| id.starts_with("r01-00")), "{ids:?}");
        let rates: Vec<f64> = runs.iter().map(|(_, rate)| rate.unwrap()).collect();
        // Probes at 10 and at 0.6 of 100; baselines at 0.9 of 75 and of 0.85 of that; the last
        // of them tells 60, of which the loads are 0.5 and 2.
        let near = |rate: f64, expected: f64| (rate - expected).abs() < 1e-6;
        for (rate, expected) in rates.iter().zip([10.0, 60.0, 67.5, 57.375]) {
            assert!(near(*rate, expected), "{rates:?}");
        }
        assert!(rates[4..].iter().all(|rate| near(*rate, 30.0) || near(*rate, 120.0)), "{rates:?}");
    }

    #[test]
    fn a_run_beside_other_programs_is_repeated_and_counts_in_the_end() {
        let others = |share| {
            let mut record = gave(60.0, 0.75, 1.0);
            record.figures.insert("others_use".into(), share);
            record
        };
        let Some((runs, _)) = course(BTreeMap::new(), |_| others(0.1)) else { return };
        assert_eq!(runs.len(), 4, "a probe, a baseline and two runs");
        // Two runs have one further attempt.
        let (runs, complete) = course(BTreeMap::new(), |_| others(0.2)).unwrap();
        assert_eq!((runs.len(), &runs[2].0), (5, &runs[3].0));
        assert!(complete.values().all(Record::is_sound));
    }

    #[test]
    fn runs_of_a_capacity_that_no_baseline_confirmed_do_not_count_and_are_measured_again() {
        let gives = |number| match number {
            1 => gave(60.0, 0.75, 1.0),
            2..=7 => gave(60.0, 0.9, 0.5),
            _ => gave(60.0, 0.8, 1.0),
        };
        let Some((runs, complete)) = course(BTreeMap::new(), gives) else { return };
        let ids: Vec<&str> = runs.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!((ids[6], ids[9]), ("baseline-r01-b000-06", "baseline-r01-b001-01"), "{ids:?}");
        // Attempts are left for one of two runs.
        assert_eq!((ids.len(), ids[10]), (11, ids[7]));
        let doubts = |id: &str| complete[id].doubts.clone();
        assert_eq!((doubts(ids[7]), doubts(ids[8])), (vec![], vec![UNCONFIRMED.to_owned()]));
        assert_eq!((complete[ids[7]].is_sound(), complete[ids[8]].is_sound()), (true, false));
    }

    #[test]
    fn what_is_complete_is_not_measured_again_and_tells_the_capacity() {
        let gives = |_| gave(60.0, 0.75, 1.0);
        let Some((runs, mut complete)) = course(BTreeMap::new(), gives) else { return };
        assert_eq!((runs.len(), complete.len()), (4, 4), "a probe, a baseline and two runs");
        complete.remove(&runs[3].0);
        let (rest, complete) = course(complete, gives).unwrap();
        assert_eq!(rest[0].0, "baseline-r01-b000-02", "and no probe");
        assert_eq!((&rest[1..], complete.len()), (&runs[3..], 5));
    }
}
