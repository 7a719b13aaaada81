//! The raw data as tables: a row per request, and a row per configuration and round.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::analysis::mean;
use super::configuration::Configuration;
use super::record::Record;
use super::series::{Question, Sample, Series, mean_ms};
use super::settings::Settings;
use tidegate_experiment::Row;
use tidegate_experiment::metrics::Figures;
use tidegate_experiment::{Error, Result};

/// The requests of a series, a row each.
pub(super) fn requests(series: &Series) -> Vec<Row> {
    let question = series.question;
    let row = |(index, sample): (usize, &Sample)| {
        Row::from_iter(
            [
                ("round", json!(series.round + 1)),
                ("configuration", json!(series.configuration.name())),
                ("series", json!(question.name())),
                ("clients", json!(question.clients())),
                ("connection", json!(question.reuse().name())),
                ("payload_bytes", json!(question.payload())),
                ("request", json!(index + 1)),
                ("us", json!(sample.us)),
                ("bytes_out", json!(sample.out)),
                ("bytes_in", json!(sample.into)),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        )
    };
    series.samples.iter().enumerate().map(row).collect()
}

/// A row per configuration and round with all its figures.
pub(super) fn results(records: &[Record]) -> Vec<Row> {
    let row = |record: &Record| {
        let mut row = Row::from_iter(
            [
                ("configuration", json!(record.start.configuration.name())),
                ("round", json!(record.start.round + 1)),
                ("commit", json!(record.provenance.commit)),
                ("took_s", json!(record.took_s)),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        row.extend(figures(record).into_iter().map(|(name, value)| (name, json!(value))));
        row
    };
    records.iter().map(row).collect()
}

/// The figures of a configuration in a round, by their names with the unit. Times and bytes are
/// means once warm, CPU is that of the whole series.
fn figures(record: &Record) -> Figures {
    let mut figures = Figures::from([("ready_s".to_owned(), record.start.ready_s)]);
    for series in &record.series {
        let name = match series.question {
            Question::WarmUp => "warm_up".to_owned(),
            Question::TwoClients => "two_clients".to_owned(),
            Question::Connections(reuse) => reuse.name().to_owned(),
            Question::Size(size) => format!("size_{size}"),
        };
        let warm = series.warm();
        let bytes =
            |of: fn(&Sample) -> u64| mean(&warm.iter().map(|it| of(it) as f64).collect::<Vec<_>>());
        let cpu_us = |cpu_s: f64| cpu_s / series.samples.len().max(1) as f64 * 1e6;
        let time_ms = mean_ms(warm);
        let mut put = |unit: &str, value: f64| figures.insert(format!("{name}_{unit}"), value);
        put("ms", time_ms);
        put("server_cpu_us", cpu_us(series.server_cpu_s));
        put("client_cpu_us", cpu_us(series.client_cpu_s));
        put("bytes_out", bytes(|it| it.out).unwrap_or_default());
        put("bytes_in", bytes(|it| it.into).unwrap_or_default());
        match (series.question, series.samples.first()) {
            (Question::WarmUp, Some(first)) => {
                figures.insert("first_request_ms".into(), first.us as f64 / 1e3);
            }
            (Question::TwoClients, _) => {
                let clients = series.question.clients() as f64;
                figures.insert("overall_per_s".into(), clients * 1e3 / time_ms);
            }
            _ => {}
        }
    }
    figures
}

/// The complete measurements of a folder, for a comparison.
pub(crate) struct Kept {
    /// What they have in common.
    pub settings: Settings,
    /// The commits of the program.
    pub commits: Vec<String>,
    /// Figures of the rounds, by configuration.
    pub rounds: BTreeMap<Configuration, Vec<Figures>>,
}

impl Kept {
    /// Reads them; `None` if the folder is not one of this study.
    ///
    /// # Errors
    /// [`Error::Operator`]: it is of another version, or nothing is complete.
    pub(crate) fn of(out: &Path) -> Result<Option<Self>> {
        let Some(settings) = Settings::of(out)? else { return Ok(None) };
        let records = Record::read_all(out, &settings);
        if records.is_empty() {
            return Err(Error::Operator(format!(
                "{}: has no complete measurement; run the study there first",
                out.display()
            )));
        }
        let mut rounds: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for record in &records {
            rounds.entry(record.start.configuration).or_default().push(figures(record));
        }
        let commits = records.into_iter().map(|it| it.provenance.commit).collect();
        Ok(Some(Self { settings, commits, rounds }))
    }

    /// The figures that are compared: times and rates.
    pub(crate) fn metrics(&self) -> Vec<String> {
        let is_compared = |name: &&String| {
            name.ends_with("_ms") || name.ends_with("_per_s") || *name == "ready_s"
        };
        let all = self.rounds.values().flatten().flat_map(BTreeMap::keys).filter(is_compared);
        let mut metrics: Vec<String> = all.cloned().collect();
        metrics.sort_unstable();
        metrics.dedup();
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::super::settings::tests::settings;
    use super::*;
    use crate::compare;

    #[test]
    fn figures_of_a_round_are_those_of_its_series() {
        let records = [record(Configuration::Clear, 1, 2000)];
        let row = &results(&records)[0];
        assert_eq!((&row["configuration"], &row["round"]), (&json!("rust-clear"), &json!(2)));
        // 20 requests of 2 ms each, 2 and 4 ms of CPU together.
        for (name, expected) in [
            ("ready_s", 0.5),
            ("first_request_ms", 2.0),
            ("warm_up_ms", 2.0),
            ("warm_up_server_cpu_us", 100.0),
            ("warm_up_client_cpu_us", 200.0),
            ("two_clients_bytes_out", 300.0),
            ("two_clients_bytes_in", 200.0),
            ("overall_per_s", 1000.0),
        ] {
            let value = row[name].as_f64().unwrap();
            assert!((value - expected).abs() < 1e-9, "{name}: {value}");
        }
        let requests = requests(&records[0].series[0]);
        assert_eq!((requests.len(), &requests[19]["request"]), (20, &json!(20)));
    }

    /// A folder with a study of this seed, whose requests took so many microseconds in each round.
    fn folder(seed: u64, times: &[(Configuration, [u64; 2])]) -> tempfile::TempDir {
        let out = tempfile::tempdir().unwrap();
        let settings = Settings { seed, format: tidegate_experiment::FORMAT, ..settings() };
        let folder = settings.claim(out.path(), false).unwrap();
        for (configuration, rounds) in times {
            for (round, us) in (0..).zip(rounds) {
                let settings = settings.clone();
                let record = Record { settings, ..record(*configuration, round, *us) };
                record.write(&folder).unwrap();
            }
        }
        out
    }

    #[test]
    fn two_folders_are_compared_by_configuration_over_their_rounds() {
        let (clear, xml) = (Configuration::Clear, Configuration::Xml);
        let a = folder(1, &[(clear, [1000, 1001]), (xml, [5000, 5001])]);
        let b = folder(2, &[(clear, [3000, 3001])]);
        let compared = compare(a.path(), b.path()).unwrap();
        let settings: Vec<&str> = compared.settings.iter().map(|it| it.what.as_str()).collect();
        assert_eq!((settings, compared.only_first), (vec!["seed"], vec!["rust-xml".to_owned()]));
        let row = |metric: &str| compared.rows.iter().find(|row| row.metric == metric).unwrap();
        let warm = row("warm_up_ms");
        assert_eq!((warm.combination.as_str(), warm.differs), ("rust-clear", true));
        assert!((warm.first - 1.0005).abs() < 1e-9 && (warm.second - 3.0005).abs() < 1e-9);
        assert!(!row("ready_s").differs, "{:?}", row("ready_s"));
        let nothing = folder(1, &[]);
        let error = compare(nothing.path(), b.path()).unwrap_err();
        assert!(error.to_string().contains("has no complete measurement"), "{error}");
    }
}
