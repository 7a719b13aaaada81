//! An experiment: what is measured, what is varied, what is checked.

mod asked;
mod builtin;
mod contradictions;
mod factors;
mod keys;
mod reference;
mod rules;
mod selection;
mod settings;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidegate_config::{Mistakes, Section, Value};

pub use asked::{OverheadRule, ServersRule, SiteRule, TableRule};
pub use builtin::{BUILT_IN, BuiltIn};
pub use factors::{Factor, Level};
pub use keys::{CERTIFICATES, POSTGRESQL};
pub use reference::reference;
pub use rules::{ClaimRule, FigureRule, Segments, Shows, Take, XAxis};
pub use selection::{Levels, Selection};
pub use settings::{LOADS, Settings};

use crate::phases;
use keys::{EXPERIMENT, QUICK, SYSTEM, WINDOWS, WORKLOAD};

/// An experiment as its file states it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// Folder of its file, in which a command starts.
    pub folder: PathBuf,
    /// What all runs have in common.
    pub base: Settings,
    /// Times of a full run.
    pub windows: Windows,
    /// Times of a quick run.
    pub quick: Windows,
    /// What is varied.
    pub factors: Vec<Factor>,
    /// The combinations of levels that are measured; empty for all.
    #[serde(default)]
    pub only: Vec<Selection>,
    /// What is checked.
    pub claims: Vec<ClaimRule>,
    /// Tables beside those that every study has.
    #[serde(default)]
    pub tables: Vec<TableRule>,
    /// How many servers carry a number of customers.
    #[serde(default)]
    pub servers: Option<ServersRule>,
    /// What kinds of connections add to transactions.
    #[serde(default)]
    pub overhead: Option<OverheadRule>,
    /// What is drawn.
    pub figures: Vec<FigureRule>,
}

/// Times and repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Windows {
    /// Time before the measured window, in seconds.
    pub warm_up_s: f64,
    /// The measured window, in seconds.
    pub measured_s: f64,
    /// Rounds.
    pub repetitions: u32,
    /// Added to the warm-up for each customer at a time, in seconds; 0 in the times of a run,
    /// whose warm-up has it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warm_up_per_customer_s: f64,
    /// Stated warm-up of a service that starts once and is kept through its runs, in seconds; none
    /// where it starts anew for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_once_s: Option<f64>,
    /// Requests of the long series of a run that is measured by their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u32>,
    /// Most requests of these series, which go on until the service is warm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_at_most: Option<u32>,
}

/// Whether a field need not be written.
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// One combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// Its level of each factor.
    pub levels: Levels,
    /// Its settings.
    pub settings: Settings,
}

/// Most runs of an experiment.
const RUNS: usize = 100_000;

impl Experiment {
    /// Reads an experiment. `file` names the text in mistakes, and relative paths start in its
    /// folder.
    ///
    /// # Errors
    /// Every mistake, with its line and a remedy.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, Mistakes> {
        tidegate_config::read(text, file, |root| read(root, Path::new(file)))
    }

    /// The combinations of levels that are measured, in the order of the file.
    pub fn combinations(&self, quick: bool) -> Vec<Combination> {
        self.selected(quick).expect("an experiment that was read has no more than that")
    }

    /// The same; `None` if there are more than [`RUNS`], also of the first few factors.
    fn selected(&self, quick: bool) -> Option<Vec<Combination>> {
        let start = Combination { levels: Levels::new(), settings: self.base.clone() };
        // What no selection allows is left out as soon as that is known: there may be many.
        let is_measured = |one: &Combination| {
            let allows = |some: &Selection| {
                one.levels.iter().all(|(factor, level)| some.allows(factor, level))
            };
            self.only.is_empty() || self.only.iter().any(allows)
        };
        self.factors.iter().try_fold(vec![start], |combinations, factor| {
            let with = |combination: &Combination, level: &Level| {
                let mut levels = combination.levels.clone();
                levels.insert(factor.name.clone(), level.name.clone());
                Combination { levels, settings: combination.settings.with(&level.fields) }
            };
            let levels = || factor.levels.iter().filter(|level| level.quick || !quick);
            let all = combinations.iter().flat_map(|one| levels().map(|level| with(one, level)));
            let all: Vec<Combination> = all.filter(is_measured).take(RUNS + 1).collect();
            (all.len() <= RUNS).then_some(all)
        })
    }

    /// The claims that a run checks: a quick one answers few questions, but decides them.
    pub fn checked(&self, quick: bool) -> impl Iterator<Item = &ClaimRule> {
        let chosen = quick && self.claims.iter().any(|claim| claim.quick);
        self.claims.iter().filter(move |claim| claim.quick || !chosen)
    }

    /// The same experiment with another number of rounds, or with so many requests in each long
    /// series where they are counted.
    ///
    /// # Errors
    /// It is measured by times.
    pub fn with(mut self, rounds: Option<u32>, requests: Option<u32>) -> Result<Self, String> {
        if requests.is_some() && self.windows.requests.is_none() {
            return Err(format!("the study {} is measured by times; leave it out", self.name));
        }
        for windows in [&mut self.windows, &mut self.quick] {
            windows.repetitions = rounds.unwrap_or(windows.repetitions);
            windows.requests = requests.or(windows.requests);
            windows.requests_at_most = requests.or(windows.requests_at_most);
        }
        Ok(self)
    }

    /// Times and repetitions.
    pub fn windows(&self, quick: bool) -> Windows {
        if quick { self.quick } else { self.windows }
    }
}

impl Windows {
    /// Length of one run's load; 0 where requests are counted.
    pub fn length(&self) -> Duration {
        if self.requests.is_some() {
            return Duration::ZERO;
        }
        Duration::from_secs_f64(self.warm_up_s + self.measured_s)
    }

    /// The times of a run with these settings: the warm-up is longer for each customer that is
    /// at the site at a time, and both windows where the work takes longer.
    pub fn of_run(&self, settings: &Settings) -> Self {
        let customers = f64::from(settings.customers.unwrap_or_default());
        let warm_up_s = self.warm_up_s + customers * self.warm_up_per_customer_s;
        let scale = settings.window_scale.unwrap_or(1.0);
        Self {
            warm_up_s: warm_up_s * scale,
            measured_s: self.measured_s * scale,
            warm_up_per_customer_s: 0.0,
            ..*self
        }
    }
}

/// Reads the root of a file. What is wrong is noted with the reader.
fn read(root: &Section<'_>, file: &Path) -> Option<Experiment> {
    root.known(&EXPERIMENT);
    let (name, about) = (root.read(&EXPERIMENT.name), root.read(&EXPERIMENT.about));
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if let Some(given) = name
        && (given.is_empty() || given.len() > 40 || !given.bytes().all(sound))
    {
        let rule = "must have letters, digits and hyphens only, at most 40";
        root.get("name")?.wrong(rule, "choose a short name");
    }
    let [system, workload] = ["system", "workload"].map(|table| root.table_or_empty(table));
    system.known(&SYSTEM);
    workload.known(&WORKLOAD);
    let base = Settings::read(&system, &workload);
    contradictions::keys(&system, &workload);
    let (windows, quick) = windows(root);
    let mut factors: Vec<Factor> = Vec::new();
    for table in root.given(&EXPERIMENT.factors).unwrap_or_default() {
        let Some(factor) = Factor::read(&table) else { continue };
        if factors.iter().any(|before| before.name == factor.name) {
            table.wrong("varies what another factor varies", "put all levels into one");
        }
        factors.push(factor);
    }
    let only = root.given(&EXPERIMENT.only).unwrap_or_default();
    let only = only.iter().map(|table| Selection::read(table, &factors)).collect();
    let (mut claims, mut figures) = (Vec::<ClaimRule>::new(), Vec::<FigureRule>::new());
    for table in root.given(&EXPERIMENT.claims).unwrap_or_default() {
        let Some(claim) = ClaimRule::read(&table, &factors) else { continue };
        twice(&table, claims.iter().any(|before| before.id == claim.id));
        if let Some(metric) = table.get("metric")
            && phases::is_traced(&claim.metric)
            && !is_traced(&base, &factors)
        {
            untraced(&metric);
        }
        claims.push(claim);
    }
    for table in root.given(&EXPERIMENT.figures).unwrap_or_default() {
        let Some(figure) = FigureRule::read(&table, &factors) else { continue };
        twice(&table, figures.iter().any(|before| before.id == figure.id));
        if let (Shows::Segments(of), Some(segments)) = (&figure.shows, table.get("segments"))
            && of.are_traced()
            && !is_traced(&base, &factors)
        {
            untraced(&segments);
        }
        figures.push(figure);
    }
    let mut tables = Vec::<TableRule>::new();
    for table in root.given(&EXPERIMENT.tables).unwrap_or_default() {
        let Some(rule) = TableRule::read(&table, &factors) else { continue };
        twice(&table, tables.iter().any(|before| before.id == rule.id));
        tables.push(rule);
    }
    let servers = root.given(&EXPERIMENT.servers);
    let servers = servers.and_then(|table| ServersRule::read(&table, &factors));
    let overhead = root.given(&EXPERIMENT.overhead);
    let overhead = overhead.and_then(|table| OverheadRule::read(&table, &factors));
    let rounds = windows.as_ref()?.repetitions as usize;
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    let (name, about) = (name?.to_owned(), about?.to_owned());
    let (windows, quick) = (windows?, quick?);
    let experiment = Experiment {
        name,
        about,
        folder,
        base,
        windows,
        quick,
        factors,
        only,
        claims,
        tables,
        servers,
        overhead,
        figures,
    };
    let few_enough = |all: &Vec<Combination>| all.len().saturating_mul(rounds) <= RUNS;
    let Some(all) = experiment.selected(false).filter(few_enough) else {
        root.wrong(
            format!("has more than {RUNS} runs: the combinations that are measured, in all rounds"),
            "leave out levels or repetitions, or select with `only`",
        );
        return Some(experiment);
    };
    for (none, problem) in [
        (all.is_empty(), "selects no run"),
        (experiment.combinations(true).is_empty(), "selects no run of a quick run"),
    ] {
        if none {
            root.get("only")?.wrong(problem, "leave it out to measure every combination");
            return None;
        }
    }
    contradictions::passwords(root, &system, &all);
    contradictions::databases(root, &system, &all);
    contradictions::services(root, &experiment, &all);
    Some(experiment)
}

/// Whether there are runs in which a gate traces.
fn is_traced(base: &Settings, factors: &[Factor]) -> bool {
    let any = |is_set: fn(&Settings) -> bool| {
        let mut levels = factors.iter().flat_map(|factor| &factor.levels);
        is_set(base) || levels.any(|level| is_set(&base.with(&level.fields)))
    };
    any(|settings| settings.gate) && any(|settings| settings.trace)
}

/// Notes that a value is of a trace, and there is none.
fn untraced(value: &Value<'_>) {
    value.wrong("needs the gate's trace", "add trace = true to [system]");
}

/// Notes that an id stands in two tables.
fn twice(table: &Section<'_>, is_there: bool) {
    if is_there && let Some(id) = table.get("id") {
        id.wrong("is there twice", "choose another name");
    }
}

/// The times of a full and of a quick run. `None` after a mistake.
fn windows(root: &Section<'_>) -> (Option<Windows>, Option<Windows>) {
    let [full, quick] = ["windows", "quick"].map(|table| root.table_or_empty(table));
    full.known(&WINDOWS);
    quick.known(&QUICK);
    let (warm_up, measured) = (full.read(&WINDOWS.warm_up), full.read(&WINDOWS.measured));
    let each = full.read(&WINDOWS.warm_up_per_customer);
    let once = full.given(&WINDOWS.warm_up_once);
    let (repetitions, requests) = (full.read(&WINDOWS.repetitions), full.given(&WINDOWS.requests));
    let most = full.given(&WINDOWS.requests_at_most);
    let make = |[warm_up, each, measured]: [Option<Duration>; 3],
                once: Option<Duration>,
                rounds: Option<i64>,
                [requests, most]: [Option<i64>; 2]| {
        let count = |requests: Option<i64>| requests.and_then(|it| it.try_into().ok());
        Some(Windows {
            warm_up_s: warm_up?.as_secs_f64(),
            measured_s: measured?.as_secs_f64(),
            repetitions: rounds?.try_into().ok()?,
            warm_up_per_customer_s: each?.as_secs_f64(),
            warm_up_once_s: once.map(|once| once.as_secs_f64()),
            requests: count(requests),
            requests_at_most: count(most),
        })
    };
    let short = [
        quick.given(&QUICK.warm_up).or(warm_up),
        quick.given(&QUICK.warm_up_per_customer).or(each),
        quick.given(&QUICK.measured).or(measured),
    ];
    let few =
        [quick.given(&QUICK.requests).or(requests), quick.given(&QUICK.requests_at_most).or(most)];
    let short_once = quick.given(&QUICK.warm_up_once).or(once);
    let short = make(short, short_once, quick.given(&QUICK.repetitions).or(repetitions), few);
    (make([warm_up, each, measured], once, repetitions, [requests, most]), short)
}

#[cfg(test)]
mod tests;
