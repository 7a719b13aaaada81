//! From complete runs to tables, claims and figures. Pure: everything follows from the runs.

pub mod by_run;
pub mod claims;
pub mod curves;
pub mod figures;
mod overhead;
mod pairs;
pub mod published;
mod rows;
mod scalability;
mod segments;
mod servers;
pub mod tables;

use std::collections::BTreeMap;

use crate::experiment::{Experiment, LOADS, Levels, Settings};
use crate::metrics::Figures;
use crate::phases;
use crate::record::{Kind, Record, SATURATED, Second};

/// A run as it is analysed.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name.
    pub id: String,
    /// Its round, from 0.
    pub round: u32,
    /// Level of each factor.
    pub levels: Levels,
    /// Its settings.
    pub settings: Settings,
    /// How much of cores service and gate were granted.
    pub cpus: f64,
    /// Figures, those by the machine's speed included.
    pub figures: Figures,
    /// Mean milliseconds by phase.
    pub phases: Figures,
    /// Values over the position in a series, by the name of the course.
    pub courses: BTreeMap<String, Vec<(f64, f64)>>,
    /// Every second.
    pub seconds: Vec<Second>,
}

impl Run {
    /// A figure; none where it was not measured.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.get(name).copied().filter(|value| value.is_finite())
    }

    /// A figure or a phase: what a claim can name. None where it was not measured.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.figure(name).or_else(|| phases::value(&self.phases, name))
    }
}

/// The records of sound runs, in the order of their names.
pub fn sound(records: &[Record]) -> impl Iterator<Item = &Record> {
    records.iter().filter(|it| it.planned.kind == Kind::Run && it.is_sound())
}

/// The sound runs of a study, in the order of their names.
pub fn runs(records: &[Record]) -> Vec<Run> {
    let usual = usual_cost(records);
    sound(records).map(|record| run(record, usual)).collect()
}

/// All runs, without figures where these are not those of what was planned: a condition of which
/// nothing is known remains one.
pub fn planned_runs(records: &[Record]) -> Vec<Run> {
    let usual = usual_cost(records);
    let of = |record: &Record| {
        let run = run(record, usual);
        match record.is_sound() {
            true => run,
            false => Run { figures: Figures::new(), phases: Figures::new(), ..run },
        }
    };
    records.iter().filter(|it| it.planned.kind == Kind::Run).map(of).collect()
}

/// The runs that are left out, by the reason.
pub fn unsound(records: &[Record]) -> BTreeMap<&str, usize> {
    let mut reasons = BTreeMap::new();
    for record in records.iter().filter(|it| it.planned.kind == Kind::Run && !it.is_sound()) {
        let reason = match record.doubts.first() {
            Some(doubt) => doubt.as_str(),
            None => SATURATED,
        };
        *reasons.entry(reason).or_default() += 1;
    }
    reasons
}

/// A record with the machine's speed: its median cost of the pulse's work over that of the run.
pub fn run(record: &Record, usual: Option<f64>) -> Run {
    let mut figures = record.figures.clone();
    if let (Some(usual), Some(then)) = (usual, record.pulse_cost_s) {
        let speed = usual / then;
        figures.insert("machine_speed".into(), speed);
    }
    let speed = figures.get("machine_speed").copied().unwrap_or(1.0);
    for name in ["requests_per_s", "offered_per_s"] {
        if let Some(rate) = figures.get(name) {
            figures.insert(format!("{name}_at_speed"), rate / speed);
        }
    }
    for name in ["response_mean_ms", "cpu_ms_per_request"] {
        if let Some(time) = figures.get(name) {
            figures.insert(format!("{name}_at_speed"), time * speed);
        }
    }
    Run {
        id: record.planned.id.clone(),
        round: record.planned.round,
        levels: record.planned.levels.clone(),
        settings: record.planned.settings.clone(),
        cpus: record.planned.cpus,
        figures,
        phases: record.phases.clone(),
        courses: record.courses.clone(),
        seconds: record.seconds.clone(),
    }
}

/// The median cost of the pulse's work.
pub fn usual_cost(records: &[Record]) -> Option<f64> {
    let costs: Vec<f64> = records.iter().filter_map(|record| record.pulse_cost_s).collect();
    tidegate_stats::Summary::of(&costs).map(|summary| summary.median)
}

/// The factor that sets the offered load; none if it is the same for all runs.
pub fn load_factor(experiment: &Experiment) -> Option<&str> {
    let names = experiment.factors.iter().map(|factor| factor.name.as_str());
    names.into_iter().find(|name| LOADS.contains(name))
}

/// Whether customers come in a closed loop in all runs: each begins the next request when the last
/// was answered, so that nothing is offered beyond what is served.
pub fn is_closed(experiment: &Experiment) -> bool {
    match load_factor(experiment) {
        Some(factor) => factor == "customers",
        None => experiment.base.customers.is_some(),
    }
}

/// The mean of each round that has values: an interval is over rounds, which are the replicates.
fn of_rounds(values: impl IntoIterator<Item = (u32, f64)>) -> Vec<f64> {
    let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (round, value) in values {
        rounds.entry(round).or_default().push(value);
    }
    rounds.into_values().filter_map(tidegate_stats::mean).collect()
}

/// The mean of a figure over runs that have it.
pub fn mean<'a>(runs: impl IntoIterator<Item = &'a Run>, metric: &str) -> Option<f64> {
    tidegate_stats::mean(runs.into_iter().filter_map(|run| run.figure(metric)))
}
