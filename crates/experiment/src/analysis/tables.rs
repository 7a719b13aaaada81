//! The tables of a study.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::by_run::{baselines, every_run, phase_runs, warm_ups};
use super::curves::{Curve, Point, curves};
use super::figures::course;
use super::overhead::{crossing, overhead};
use super::published::{beside, beside_points, beside_ratios};
use super::rows::{columns, put, put_rounds};
use super::scalability::scalability;
use super::servers::servers;
use super::{Run, is_closed};
use crate::experiment::{Experiment, Levels, TableRule};
use crate::metrics::{self, messages};
use crate::record::Record;
use crate::summary::Row;

/// Every table by name.
pub fn tables(
    experiment: &Experiment,
    records: &[Record],
    runs: &[Run],
) -> BTreeMap<String, Vec<Row>> {
    let curves = curves(experiment, runs);
    let all = [
        ("costs", costs(experiment, &curves)),
        ("knee", knee(experiment, &curves)),
        ("scalability", scalability(experiment, runs)),
        ("handshakes", handshakes(experiment, &curves)),
        ("phases", phases(experiment, &curves, runs)),
        ("points", points(experiment, runs)),
        ("ratios", ratios(experiment, runs)),
        ("servers", servers(experiment, runs)),
        ("crossing", crossing(experiment, runs)),
        ("overhead", overhead(experiment, runs)),
        ("series", series(experiment, runs)),
        ("courses", courses(experiment, runs)),
        ("baselines", baselines(experiment, records)),
        ("warm_ups", warm_ups(experiment, records)),
        ("runs", every_run(experiment, records)),
        ("phase_runs", phase_runs(experiment, runs)),
    ];
    let all = all.into_iter().map(|(name, rows)| (name.to_owned(), rows));
    let asked =
        experiment.tables.iter().map(|table| (table.id.clone(), asked(experiment, table, runs)));
    all.chain(asked).filter(|(_, rows)| !rows.is_empty()).collect()
}

/// A table that the experiment asks for.
fn asked(experiment: &Experiment, table: &TableRule, runs: &[Run]) -> Vec<Row> {
    let is_shown = |(levels, _): &(Levels, Vec<&Run>)| table.runs.contains(levels);
    let row = |(levels, runs): (Levels, Vec<&Run>)| {
        let mut row = columns(experiment, &levels);
        for metric in &table.metrics {
            put_mean(&mut row, metric, &runs, |run| run.value(metric));
        }
        row
    };
    in_order(experiment, runs).into_iter().filter(is_shown).map(row).collect()
}

/// A figure of runs: the mean over the rounds, and its interval where there are several.
fn put_mean(row: &mut Row, name: &str, runs: &[&Run], value: impl Fn(&Run) -> Option<f64>) {
    put_rounds(row, name, runs.iter().filter_map(|run| Some((run.round, value(run)?))));
}

/// Of closed loops: what a request costs at the number of customers with the highest throughput.
fn costs(experiment: &Experiment, curves: &[Curve<'_>]) -> Vec<Row> {
    if !is_closed(experiment) {
        return Vec::new();
    }
    let row = |curve: &Curve<'_>| {
        let peak = curve.peak()?;
        let mut row = columns(experiment, &curve.levels);
        put(&mut row, "customers", Some(peak.load));
        for metric in OF_CLOSED_LOOPS {
            put_mean(&mut row, metric, &peak.runs, |run| run.figure(metric));
        }
        Some(row)
    };
    curves.iter().filter_map(row).collect()
}

/// Columns of the table `knee`: what is left in overload of the capacity that the baseline of the
/// round measured. The baseline is none of the runs that are judged by it.
pub const OVERLOADED_REQUESTS: &str = "overloaded_requests_of_capacity";
/// The same of completed sessions.
pub const OVERLOADED_COMPLETED: &str = "overloaded_completed_of_capacity";

/// Tables 1 and 2 of the paper: the load that overloads the server, its peak, and what is left
/// in overload. A row for each load of an overload: twice and four times the capacity are no
/// replicates of each other.
fn knee(experiment: &Experiment, curves: &[Curve<'_>]) -> Vec<Row> {
    if is_closed(experiment) {
        return Vec::new();
    }
    let rows = |curve: &Curve<'_>| {
        let peak = curve.peak()?;
        let mut of_peak = columns(experiment, &curve.levels);
        for (name, metric) in
            [("new_clients_per_s", "offered_per_s"), ("peak_requests_per_s", "requests_per_s")]
        {
            put_mean(&mut of_peak, name, &peak.runs, |run| run.figure(metric));
        }
        let published = beside(&experiment.name, &curve.levels);
        let row = |point: &Point<'_>| {
            let mut row = of_peak.clone();
            row.insert("overloaded_at".into(), json!(point.load.to_string()));
            for (name, metric) in [
                ("overloaded_requests_per_s", "requests_per_s"),
                (OVERLOADED_REQUESTS, "requests_of_capacity"),
                (OVERLOADED_COMPLETED, "completed_of_capacity"),
                ("overloaded_completed_per_offered", "completed_per_offered"),
            ] {
                put_mean(&mut row, name, &point.runs, |run| run.figure(metric));
            }
            row.extend(published.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
            row
        };
        let overloaded: Vec<Row> = curve.overloaded_points().map(row).collect();
        Some(if overloaded.is_empty() { vec![of_peak] } else { overloaded })
    };
    curves.iter().filter_map(rows).flatten().collect()
}

/// Figures 7 and 12: the share of full handshakes at each load.
fn handshakes(experiment: &Experiment, curves: &[Curve<'_>]) -> Vec<Row> {
    let rows = |curve: &Curve<'_>| {
        let row = |point: &Point<'_>| {
            let share = |run: &Run| run.figure("full_handshake_share");
            let mut row = columns(experiment, &curve.levels);
            row.insert("at".into(), json!(point.load.to_string()));
            put_mean(&mut row, "full_handshake_share", &point.runs, share);
            point.runs.iter().any(|run| share(run).is_some()).then_some(row)
        };
        curve.points.iter().filter_map(row).collect::<Vec<_>>()
    };
    curves.iter().flat_map(rows).collect()
}

/// Figures 6 and 11: mean milliseconds of each phase, at each load where there are several. Phases
/// that the customers observe begin with `customer.`; a trace adds those of the gate and the places
/// of a request, `gate.` and `request.`.
fn phases(experiment: &Experiment, curves: &[Curve<'_>], runs: &[Run]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |levels: &Levels, load: &str, runs: &[&Run]| {
        let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.phases.keys()).collect();
        for name in names {
            let mut row = columns(experiment, levels);
            row.insert("at".into(), json!(load));
            row.insert("phase".into(), json!(name));
            put_mean(&mut row, "mean_ms", runs, |run| run.phases.get(name).copied());
            rows.push(row);
        }
    };
    for curve in curves {
        for point in &curve.points {
            add(&curve.levels, &point.load.to_string(), &point.runs);
        }
    }
    if curves.is_empty() {
        for (levels, runs) in by_levels(runs) {
            add(&levels, "all", &runs);
        }
    }
    rows
}

/// Runs that differ in their round alone.
fn by_levels(runs: &[Run]) -> BTreeMap<Levels, Vec<&Run>> {
    let mut groups: BTreeMap<Levels, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        groups.entry(run.levels.clone()).or_default().push(run);
    }
    groups
}

/// The figures of `points`, with their intervals.
fn of_points(experiment: &Experiment) -> &'static [&'static str] {
    match experiment.base.is_of_messages() {
        true => &messages::OF_POINTS,
        false if is_closed(experiment) => &OF_CLOSED_LOOPS,
        false => &OF_ARRIVALS,
    }
}

/// The figures that two studies are compared by.
pub fn compared(experiment: &Experiment) -> Vec<&'static str> {
    match experiment.base.is_of_messages() {
        true => messages::compared().collect(),
        false => of_points(experiment).to_vec(),
    }
}

const OF_ARRIVALS: [&str; 11] = [
    "offered_per_s",
    "requests_per_s",
    "requests_of_capacity",
    "completed_per_s",
    "completed_of_capacity",
    "completed_per_offered",
    "refused_per_s",
    "completed_ratio",
    "response_mean_ms",
    "response_p95_ms",
    "full_handshake_share",
];

const OF_CLOSED_LOOPS: [&str; 11] = [
    "requests_per_s",
    "requests_per_customer",
    "response_mean_ms",
    "response_p95_ms",
    "handshake_time_share",
    "full_handshake_share",
    "cpu_ms_per_request",
    "web_cpu_ms_per_request",
    "app_cpu_ms_per_request",
    "data_cpu_ms_per_request",
    "bytes_per_request",
];

/// Mean and interval of each combination over its rounds.
fn points(experiment: &Experiment, runs: &[Run]) -> Vec<Row> {
    let row = |(levels, runs): (Levels, Vec<&Run>)| {
        let mut row = columns(experiment, &levels);
        row.insert("rounds".into(), json!(runs.len()));
        for metric in of_points(experiment) {
            put_mean(&mut row, metric, &runs, |run| run.figure(metric));
        }
        for (name, value) in beside_points(&experiment.name, &levels) {
            put(&mut row, name, Some(value));
        }
        row
    };
    in_order(experiment, runs).into_iter().map(row).collect()
}

/// [`by_levels`], in the order of the file.
fn in_order<'r>(experiment: &Experiment, runs: &'r [Run]) -> Vec<(Levels, Vec<&'r Run>)> {
    let mut groups: Vec<_> = by_levels(runs).into_iter().collect();
    groups.sort_by_cached_key(|(levels, _)| {
        experiment.factors.iter().map(|factor| factor.place(levels, "")).collect::<Vec<_>>()
    });
    groups
}

/// The times of levels that are compared with another level, divided by those of the same round
/// there.
fn ratios(experiment: &Experiment, runs: &[Run]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (levels, runs_here) in in_order(experiment, runs) {
        for factor in &experiment.factors {
            let level = factor.levels.iter().find(|it| levels.get(&factor.name) == Some(&it.name));
            let Some(reference) = level.and_then(|it| it.reference.as_ref()) else { continue };
            let mut there = levels.clone();
            there.insert(factor.name.clone(), reference.clone());
            let mut row = columns(experiment, &levels);
            row.insert("compared_with".into(), json!(reference));
            let is_time = |name: &&&str| name.ends_with("_ms");
            for metric in of_points(experiment).iter().filter(is_time) {
                put_mean(&mut row, &format!("{metric}_by_reference"), &runs_here, |run| {
                    let same = |it: &&Run| it.round == run.round && it.levels == there;
                    Some(run.figure(metric)? / runs.iter().find(same)?.figure(metric)?)
                });
            }
            for (name, value) in beside_ratios(&experiment.name, &levels) {
                put(&mut row, name, Some(value));
            }
            rows.push(row);
        }
    }
    rows
}

/// The series of each run, where runs have some: a row for each, with its figures.
fn series(experiment: &Experiment, runs: &[Run]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (levels, runs) in in_order(experiment, runs) {
        for (series, _) in messages::SERIES {
            let name = |quantity: &str| format!("{series}_{quantity}");
            let (first, ..) = messages::QUANTITIES[0];
            if !runs.iter().any(|run| run.figure(&name(first)).is_some()) {
                continue;
            }
            let mut row = columns(experiment, &levels);
            row.insert("series".into(), json!(series));
            for (quantity, ..) in messages::QUANTITIES {
                put_mean(&mut row, quantity, &runs, |run| run.figure(&name(quantity)));
            }
            rows.push(row);
        }
    }
    rows
}

/// The courses: mean and interval over the rounds at each position.
fn courses(experiment: &Experiment, runs: &[Run]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (levels, runs) in in_order(experiment, runs) {
        for of in metrics::COURSES {
            for (at, rounds) in course(&runs, of.name) {
                let mut row = columns(experiment, &levels);
                row.insert("course".into(), json!(of.name));
                row.insert("at".into(), json!(at));
                put_rounds(&mut row, "mean", rounds);
                rows.push(row);
            }
        }
    }
    rows
}
