//! Two runs of the same study, combination by combination.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use tidegate_stats::{Difference, Estimate, Interval, holm, mean};

use crate::analysis::tables::compared;
use crate::analysis::{Run, runs};
use crate::experiment::{Experiment, Levels, Windows};
use crate::folder::{LARGEST, STATE, SUMMARY};
use crate::metrics::Figures;
use crate::record::{Record, read_all};
use crate::state::State;
use crate::{Error, Result};

/// Level of significance of all differences together.
const LEVEL: f64 = 0.05;

/// The comparison of two folders.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the study.
    pub study: String,
    /// What differs in machine, commit and settings.
    pub settings: Vec<Setting>,
    /// Figures of combinations that both have.
    pub rows: Vec<Row>,
    /// Combinations that only the first has.
    pub only_first: Vec<String>,
    /// Combinations that only the second has.
    pub only_second: Vec<String>,
}

/// Something that the two runs do not have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// What it is.
    pub what: String,
    /// In the first.
    pub first: String,
    /// In the second.
    pub second: String,
}

/// A figure of a combination in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The levels in words.
    pub combination: String,
    /// The figure's name.
    pub metric: String,
    /// Mean in the first.
    pub first: f64,
    /// Mean in the second.
    pub second: f64,
    /// Lower end of the interval of the difference, second minus first; none for single runs.
    pub low_95: Option<f64>,
    /// Its upper end.
    pub high_95: Option<f64>,
    /// Probability of such a difference if there is none; none for single runs.
    pub p: Option<f64>,
    /// Whether they differ significantly, by Holm's correction for all rows.
    pub differs: bool,
}

impl Comparison {
    /// Compares two folders.
    ///
    /// # Errors
    /// [`Error::Operator`]: one holds no study, one that cannot be compared, or one of another
    /// version; or they are of different studies.
    pub fn of(first: &Path, second: &Path) -> Result<Self> {
        can_be_compared(first)?;
        can_be_compared(second)?;
        let (a, b) = (State::of(first)?, State::of(second)?);
        if a.experiment.name != b.experiment.name {
            return Err(different((first, &a.experiment.name), (second, &b.experiment.name)));
        }
        let records = |folder| read_all(folder).into_values().collect::<Vec<Record>>();
        let (of_a, of_b) = (records(first), records(second));
        for (folder, records) in [(first, &of_a), (second, &of_b)] {
            if records.is_empty() {
                return Err(Error::Operator(format!(
                    "{}: has no complete run; run the study there first",
                    folder.display()
                )));
            }
        }
        let of = |records: &[Record]| {
            commits(records.iter().map(|it| it.provenance.commit.clone()).collect())
        };
        let mut settings = settings(&a, &b);
        settings.extend(differing([("commit", of(&of_a), of(&of_b))]));
        let compared = compare(&a.experiment, &runs(&of_a), &runs(&of_b));
        Ok(Self { study: a.experiment.name, settings, ..compared })
    }
}

/// The fault that two folders hold different studies.
fn different((first, a): (&Path, &str), (second, b): (&Path, &str)) -> Error {
    Error::Operator(format!(
        "{} holds the study {a} and {} the study {b}; compare two runs of the same study",
        first.display(),
        second.display(),
    ))
}

/// # Errors
/// The folder has the result of a study that keeps nothing else to compare.
fn can_be_compared(folder: &Path) -> Result<()> {
    let read = |name: &str| tidegate_config::read_text(&folder.join(name), LARGEST);
    let (Ok(summary), Err(_)) = (read(SUMMARY), read(STATE)) else { return Ok(()) };
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap_or_default();
    let Some(study) = summary["study"].as_str() else { return Ok(()) };
    Err(Error::Operator(format!(
        "{}: holds the study {study} without a study.json, so that it cannot be compared; look at report.html and at the tables of summary.json in both folders",
        folder.display()
    )))
}

/// The commits of the program, each once.
fn commits(mut commits: Vec<String>) -> String {
    commits.sort_unstable();
    commits.dedup();
    commits.join(", ")
}

/// What differs between the states of two folders.
fn settings(a: &State, b: &State) -> Vec<Setting> {
    let requests = |windows: &Windows| windows.requests.unwrap_or_default().to_string();
    let (windows_a, windows_b) = (a.experiment.windows(a.quick), b.experiment.windows(b.quick));
    let all = [
        ("version", a.version.clone(), b.version.clone()),
        ("machine", a.machine.to_string(), b.machine.to_string()),
        ("processors of the machine", a.machine.cpus.to_string(), b.machine.cpus.to_string()),
        ("quick", a.quick.to_string(), b.quick.to_string()),
        ("seed", a.seed.to_string(), b.seed.to_string()),
        ("cores of service and gate", a.server_cores.clone(), b.server_cores.clone()),
        ("cores of the customers", a.driver_cores.clone(), b.driver_cores.clone()),
        ("share of a core", a.processor_share.to_string(), b.processor_share.to_string()),
        ("warm-up, s", windows_a.warm_up_s.to_string(), windows_b.warm_up_s.to_string()),
        (
            "warm-up for each customer, s",
            windows_a.warm_up_per_customer_s.to_string(),
            windows_b.warm_up_per_customer_s.to_string(),
        ),
        ("measured, s", windows_a.measured_s.to_string(), windows_b.measured_s.to_string()),
        ("rounds", windows_a.repetitions.to_string(), windows_b.repetitions.to_string()),
        ("requests", requests(&windows_a), requests(&windows_b)),
    ];
    let mut differ = differing(all);
    let json = |state: &State| serde_json::to_value(&state.experiment.base).unwrap_or_default();
    let (base_a, base_b) = (json(a), json(b));
    for (name, value) in base_a.as_object().into_iter().flatten() {
        let other = &base_b[name];
        if value != other {
            let what = name.clone();
            differ.push(Setting { what, first: value.to_string(), second: other.to_string() });
        }
    }
    differ.extend(differing_levels(&a.experiment, &b.experiment));
    let files =
        a.scenarios.iter().filter_map(|(file, text)| Some((file, text, b.scenarios.get(file)?)));
    differ.extend(files.filter(|(_, first, second)| first != second).map(|(file, ..)| Setting {
        what: format!("text of {file}"),
        first: "that in its study.json".into(),
        second: "another".into(),
    }));
    differ
}

/// Levels of the same name that set something else.
fn differing_levels(a: &Experiment, b: &Experiment) -> Vec<Setting> {
    let levels = |of: &Experiment| -> BTreeMap<(String, String), String> {
        let factors = of.factors.iter();
        let each = factors.flat_map(|factor| {
            factor
                .levels
                .iter()
                .map(|level| ((factor.name.clone(), level.name.clone()), level.sets()))
        });
        each.collect()
    };
    let (first, second) = (levels(a), levels(b));
    let both = first.into_iter().filter_map(|(key, value)| {
        let other = second.get(&key)?.clone();
        Some((key, value, other))
    });
    both.filter(|(_, first, second)| first != second)
        .map(|((factor, level), first, second)| Setting {
            what: format!("{factor} {level}"),
            first,
            second,
        })
        .collect()
}

/// Those of these settings that differ.
fn differing(settings: impl IntoIterator<Item = (&'static str, String, String)>) -> Vec<Setting> {
    let differ = settings.into_iter().filter(|(_, first, second)| first != second);
    differ.map(|(what, first, second)| Setting { what: what.into(), first, second }).collect()
}

/// Compares the runs of two studies.
fn compare(experiment: &Experiment, first: &[Run], second: &[Run]) -> Comparison {
    let words = |levels: &Levels| words(experiment, levels);
    let (a, b) = (&by_levels(first), &by_levels(second));
    let only = |of: &BTreeMap<Levels, Vec<Figures>>, other: &BTreeMap<Levels, Vec<Figures>>| {
        of.keys().filter(|key| !other.contains_key(*key)).map(words).collect()
    };
    let metrics = compared(experiment);
    let mut rows = Vec::new();
    for (key, runs) in a {
        let Some(others) = b.get(key) else { continue };
        for metric in &metrics {
            rows.extend(row(words(key), metric, runs, others));
        }
    }
    let p: Vec<f64> = rows.iter().filter_map(|row| row.p).collect();
    let mut corrected = holm(&p).into_iter();
    for row in rows.iter_mut().filter(|row| row.p.is_some()) {
        row.differs = corrected.next().is_some_and(|p| p <= LEVEL);
    }
    Comparison {
        study: String::new(),
        settings: Vec::new(),
        rows,
        only_first: only(a, b),
        only_second: only(b, a),
    }
}

fn by_levels(runs: &[Run]) -> BTreeMap<Levels, Vec<Figures>> {
    let mut groups: BTreeMap<Levels, Vec<Figures>> = BTreeMap::new();
    for run in runs {
        groups.entry(run.levels.clone()).or_default().push(run.figures.clone());
    }
    groups
}

fn words(experiment: &Experiment, levels: &Levels) -> String {
    let factors = experiment.factors.iter();
    let words = factors.filter_map(|factor| {
        levels.get(&factor.name).map(|level| format!("{} {level}", factor.name))
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { "all runs".into() } else { words.join(", ") }
}

fn row(combination: String, metric: &str, first: &[Figures], second: &[Figures]) -> Option<Row> {
    let values = |runs: &[Figures]| -> Vec<f64> {
        let values = runs.iter().filter_map(|figures| figures.get(metric).copied());
        values.filter(|value| value.is_finite()).collect()
    };
    let (a, b) = (values(first), values(second));
    let (first, second) = (mean(a.iter().copied())?, mean(b.iter().copied())?);
    let difference =
        Estimate::of_mean(&a).zip(Estimate::of_mean(&b)).map(|(a, b)| Difference::welch(a, b));
    let interval = difference.map(|difference| Interval::from(difference.estimate));
    Some(Row {
        combination,
        metric: metric.to_owned(),
        first,
        second,
        low_95: interval.map(|it| it.low),
        high_95: interval.map(|it| it.high),
        p: difference.map(|difference| difference.p()),
        differs: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    fn measured(values: &[(&str, [f64; 3])]) -> Vec<Run> {
        let mut all = Vec::new();
        for (policy, values) in values {
            for (round, value) in values.iter().enumerate() {
                let id = format!("{policy}{round}");
                let levels = [("policy", *policy)];
                all.push(record(&id, round as u32, &levels, &[("requests_per_s", *value)]));
            }
        }
        runs(&all)
    }

    #[test]
    fn what_differs_beyond_its_spread_is_marked_and_what_is_missing_is_named() {
        let text = "name = \"x\"\nabout = \"x\"\n[[factors]]\nkey = \"policy\"\nlevels = [\"off\", \"tide\", \"eac\"]\n";
        let experiment = Experiment::from_toml(text, "x").unwrap();
        let a = measured(&[
            ("off", [10.0, 11.0, 12.0]),
            ("tide", [50.0, 51.0, 52.0]),
            ("eac", [1.0; 3]),
        ]);
        let b = measured(&[("off", [10.5, 11.0, 11.6]), ("tide", [80.0, 81.0, 82.0])]);
        let compared = compare(&experiment, &a, &b);
        assert_eq!(compared.only_first, ["policy eac"]);
        let differs: Vec<(&str, bool)> =
            compared.rows.iter().map(|row| (row.combination.as_str(), row.differs)).collect();
        assert_eq!(differs, [("policy off", false), ("policy tide", true)]);
        let tide = &compared.rows[1];
        // s = 1 in both, error √(2/3), t(4) = 2.776: half width 2.267.
        assert_eq!((tide.first, tide.second), (51.0, 81.0));
        assert!((tide.low_95.unwrap() - 27.733).abs() < 0.01, "{tide:?}");
    }

    #[test]
    fn levels_of_the_same_name_with_other_settings_are_named() {
        let experiment = |certificate: &str| {
            let text = format!(
                "name = \"x\"\nabout = \"x\"\n[[factors]]\nname = \"era\"\nlevels = [{{ name = \"then\", certificate = \"{certificate}\" }}, {{ name = \"now\", certificate = \"ecdsa-p256\" }}]\n"
            );
            Experiment::from_toml(&text, "x").unwrap()
        };
        let (a, b) = (experiment("rsa-2048"), experiment("ecdsa-p256"));
        assert!(differing_levels(&a, &a).is_empty());
        let differ = differing_levels(&a, &b);
        let [one] = &differ[..] else { panic!("{differ:?}") };
        assert_eq!(one.what, "era then");
        assert!(one.first.contains("rsa-2048") && one.second.contains("ecdsa-p256"), "{one:?}");
    }

    #[test]
    fn a_folder_that_holds_no_study_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let error = Comparison::of(folder.path(), folder.path()).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("give the folder of a study"), "{error}");
    }

    #[test]
    fn a_result_without_runs_says_that_it_cannot_be_compared_and_what_to_look_at() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("summary.json"), "{\"study\": \"capacity\"}").unwrap();
        let error = Comparison::of(folder.path(), folder.path()).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(
            text.contains("the study capacity") && text.contains("look at report.html"),
            "{text}"
        );
    }
}
