//! Tables of single runs: what claims follow from, round by round.

use serde_json::json;

use super::rows::{columns, put};
use super::{Run, run, usual_cost};
use crate::experiment::{Experiment, Levels};
use crate::metrics;
use crate::record::{Kind, Record};
use crate::summary::Row;

/// Capacities and baselines, with the levels that they are of.
pub(super) fn baselines(experiment: &Experiment, records: &[Record]) -> Vec<Row> {
    let usual = usual_cost(records);
    let others = records.iter().filter(|record| record.planned.kind != Kind::Run);
    let mut others: Vec<&Record> = others.collect();
    others.sort_by_key(|record| record.provenance.started_unix_s);
    let row = |record: &Record| {
        let run = run(record, usual);
        let mut row = columns(experiment, &levels_of(experiment, record));
        row.insert("run".into(), json!(record.planned.id));
        row.insert("processors".into(), json!(record.planned.settings.processors));
        row.insert("certificate".into(), json!(record.planned.settings.certificate));
        row.insert("tls".into(), json!(record.planned.settings.tls));
        for metric in [
            "offered_per_s",
            "requests_per_s",
            "completed_ratio",
            "server_use",
            "others_use",
            "machine_speed",
        ] {
            put(&mut row, metric, run.figure(metric));
        }
        row
    };
    others.into_iter().map(row).collect()
}

/// The levels of a record: those of a run, and of a baseline those that the runs of its capacity
/// have in common.
fn levels_of(experiment: &Experiment, record: &Record) -> Levels {
    let planned = &record.planned;
    if planned.kind == Kind::Run {
        return planned.levels.clone();
    }
    let key = planned.settings.capacity_key();
    let all = experiment.combinations(false).into_iter();
    let same = all.filter(|one| one.settings.capacity_key() == key).map(|one| one.levels);
    let common = |mut common: Levels, other: Levels| {
        common.retain(|factor, level| other.get(factor) == Some(level));
        common
    };
    same.reduce(common).unwrap_or_default()
}

/// How long services were warmed before the first runs of each, and whether they were warm by then
/// or the time was over.
pub(super) fn warm_ups(experiment: &Experiment, records: &[Record]) -> Vec<Row> {
    let mut warmed: Vec<&Record> =
        records.iter().filter(|record| record.figure(metrics::WARM_UP_S).is_some()).collect();
    warmed.sort_by_key(|record| record.provenance.started_unix_s);
    let row = |record: &Record| {
        let mut row = columns(experiment, &levels_of(experiment, record));
        row.insert("run".into(), json!(record.planned.id));
        put(&mut row, metrics::WARM_UP_S, record.figure(metrics::WARM_UP_S));
        let was_warm = record.figure(metrics::WAS_WARM).is_some_and(|it| it > 0.0);
        row.insert(metrics::WAS_WARM.into(), json!(if was_warm { "yes" } else { "no" }));
        row
    };
    warmed.into_iter().map(row).collect()
}

/// The phases of every run, in milliseconds: what claims about phases follow from, round by round.
pub(super) fn phase_runs(experiment: &Experiment, runs: &[Run]) -> Vec<Row> {
    let row = |run: &Run| {
        let mut row = columns(experiment, &run.levels);
        row.insert("run".into(), json!(run.id));
        row.insert("round".into(), json!(run.round + 1));
        for (phase, ms) in &run.phases {
            put(&mut row, phase, Some(*ms));
        }
        row
    };
    runs.iter().filter(|run| !run.phases.is_empty()).map(row).collect()
}

/// Every run with all its figures.
pub fn every_run(experiment: &Experiment, records: &[Record]) -> Vec<Row> {
    let usual = usual_cost(records);
    let row = |record: &Record| {
        let run = run(record, usual);
        let mut row = Row::new();
        row.insert("run".into(), json!(record.planned.id));
        row.insert("round".into(), json!(record.planned.round + 1));
        row.extend(columns(experiment, &record.planned.levels));
        row.insert("granted_cpus".into(), json!(record.planned.cpus));
        for metric in metrics::of_site(&experiment.base.site) {
            put(&mut row, &metric.name, run.figure(&metric.name));
        }
        row.insert("driver_saturated".into(), json!(!record.driver_saturated.is_empty()));
        row.insert("doubts".into(), json!(record.doubts.join("; ")));
        row.insert("commit".into(), json!(record.provenance.commit));
        row.insert("started_unix_s".into(), json!(record.provenance.started_unix_s));
        row
    };
    records.iter().filter(|record| record.planned.kind == Kind::Run).map(row).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::analysis::runs;
    use crate::record::tests::record;

    const TEXT: &str = "name = \"x\"\nabout = \"x\"\n\
        [[factors]]\nname = \"arm\"\nlevels = [\n\
        { name = \"alone\", gate = false }, { name = \"behind\", gate = true }]\n\
        [[factors]]\nkey = \"policy\"\nlevels = [\"off\", \"tide\"]\n\
        [[factors]]\nkey = \"load\"\nlevels = [1, 2]\n";

    fn experiment() -> Experiment {
        Experiment::from_toml(TEXT, "x").unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    /// A baseline before the runs of an arm.
    fn baseline(arm: &str, figures: &[(&str, f64)]) -> Record {
        let mut baseline = record(&format!("baseline-{arm}"), 0, &[], figures);
        let all = experiment().combinations(false);
        let of_arm = all.into_iter().find(|one| one.levels["arm"] == arm).unwrap();
        baseline.planned.kind = Kind::Baseline;
        baseline.planned.settings = of_arm.settings;
        baseline
    }

    #[test]
    fn a_baseline_has_the_levels_that_the_runs_of_its_capacity_have_in_common() {
        let records = ["alone", "behind"].map(|arm| baseline(arm, &[("requests_per_s", 9.0)]));
        let rows = baselines(&experiment(), &records);
        let arms: Vec<&str> = rows.iter().map(|row| row["arm"].as_str().unwrap()).collect();
        assert_eq!(arms, ["alone", "behind"]);
        assert!(rows.iter().all(|row| row.get("policy").is_none() && row.get("load").is_none()));
    }

    #[test]
    fn a_warm_up_says_how_long_it_took_and_whether_it_was_cut_off() {
        let warmed = |was_warm| [(metrics::WARM_UP_S, 540.0), (metrics::WAS_WARM, was_warm)];
        let records = [
            baseline("alone", &warmed(1.0)),
            baseline("behind", &warmed(0.0)),
            record("run", 0, &[], &[("requests_per_s", 9.0)]),
        ];
        let rows = warm_ups(&experiment(), &records);
        let told = |row: &Row| [&row["arm"], &row["warm_up_s"], &row["was_warm"]].map(Clone::clone);
        let told: Vec<_> = rows.iter().map(told).collect();
        assert_eq!(
            told,
            [
                [json!("alone"), json!(540.0), json!("yes")],
                [json!("behind"), json!(540.0), json!("no")]
            ]
        );
    }

    #[test]
    fn each_run_has_its_phases_beside_its_levels_and_round() {
        let levels = [("arm", "alone"), ("load", "2")];
        let mut traced = record("traced", 3, &levels, &[]);
        traced.phases.insert("gate.idle".into(), 1.5);
        let saturated = Record { driver_saturated: vec!["late".into()], ..traced.clone() };
        let rows =
            phase_runs(&experiment(), &runs(&[traced, saturated, record("not", 0, &[], &[])]));
        let [row] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!(
            Value::from(row.clone()),
            json!({
                "run": "traced", "round": 4, "arm": "alone", "load": "2", "gate.idle": 1.5
            })
        );
    }
}
