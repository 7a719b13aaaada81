//! What a measured configuration of a round leaves: a file in `runs/`. A file has its name once
//! it is complete.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidegate_host::Provenance;

use super::configuration::Configuration;
use super::series::{Series, Start};
use super::settings::Settings;
use tidegate_experiment::folder::{Folder, LARGEST, RUNS};
use tidegate_experiment::{Error, Result};

/// A configuration of a round, measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The settings that it was measured with.
    pub settings: Settings,
    /// Commit, command and start.
    pub provenance: Provenance,
    /// Seconds that it took, start and end of the service included.
    pub took_s: f64,
    /// The start of the service.
    pub start: Start,
    /// The series in the order of measurement.
    pub series: Vec<Series>,
}

impl Record {
    /// Writes its file.
    ///
    /// # Errors
    /// It cannot be written; then there is none.
    pub(super) fn write(&self, folder: &Folder) -> Result<()> {
        let text = serde_json::to_string(self)
            .map_err(|error| Error::Internal(format!("cannot write a measurement: {error}")))?;
        let runs = Folder::create(&folder.file(RUNS))?;
        runs.write(&name(self.start.configuration, self.start.round), text.as_bytes()).map(|_| ())
    }

    /// The complete record of a configuration and round; `None` if there is none of these settings.
    fn read(
        out: &Path,
        settings: &Settings,
        configuration: Configuration,
        round: u32,
    ) -> Option<Self> {
        let file = out.join(RUNS).join(name(configuration, round));
        let text = tidegate_config::read_text(&file, LARGEST).ok()?;
        let record: Self = serde_json::from_str(&text).ok()?;
        let of = |series: &Series| (series.configuration, series.round);
        let is_own = record.settings == *settings
            && (record.start.configuration, record.start.round) == (configuration, round)
            && record.series.iter().all(|series| of(series) == (configuration, round));
        is_own.then_some(record)
    }

    /// The complete records of a folder of these settings, by round.
    pub(crate) fn read_all(out: &Path, settings: &Settings) -> Vec<Self> {
        let turns = (0..settings.rounds)
            .flat_map(|round| Configuration::ALL.into_iter().map(move |it| (it, round)));
        turns.filter_map(|(it, round)| Self::read(out, settings, it, round)).collect()
    }
}

/// The name of a record's file.
fn name(configuration: Configuration, round: u32) -> String {
    format!("r{}-{configuration}.json", round + 1)
}

/// The time that measuring these configurations takes: of each as long as it took before, or
/// as long as the others did on average. `None` before the first one.
pub(super) fn time_for(missing: &[Configuration], complete: &[Record]) -> Option<Duration> {
    let mean = |records: &mut dyn Iterator<Item = &Record>| {
        let (count, sum) =
            records.fold((0.0, 0.0), |(count, sum), it| (count + 1.0, sum + it.took_s));
        (count > 0.0).then_some(sum / count)
    };
    let any = mean(&mut complete.iter())?;
    let of = |it: &Configuration| {
        mean(&mut complete.iter().filter(|record| record.start.configuration == *it)).unwrap_or(any)
    };
    Duration::try_from_secs_f64(missing.iter().map(of).sum()).ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::series::{Question, Sample};
    use super::super::settings::tests::settings;
    use super::*;

    /// A configuration of a round whose every request took `us` microseconds.
    pub(crate) fn record(configuration: Configuration, round: u32, us: u64) -> Record {
        let series = |question| Series {
            configuration,
            round,
            question,
            samples: vec![Sample { us, out: 300, into: 200 }; 20],
            server_cpu_s: 0.002,
            client_cpu_s: 0.004,
        };
        Record {
            settings: settings(),
            provenance: Provenance::default(),
            took_s: us as f64 / 1e3,
            start: Start { configuration, round, ready_s: 0.5 },
            series: vec![series(Question::WarmUp), series(Question::TwoClients)],
        }
    }

    #[test]
    fn a_record_is_read_under_its_name_and_with_its_settings_alone() {
        let out = tempfile::tempdir().unwrap();
        let folder = Folder::create(out.path()).unwrap();
        let (clear, xml) =
            (record(Configuration::Clear, 0, 1000), record(Configuration::Xml, 1, 2000));
        clear.write(&folder).unwrap();
        xml.write(&folder).unwrap();
        assert_eq!(Record::read_all(out.path(), &settings()), [clear, xml]);
        let other = Settings { seed: 2, ..settings() };
        assert_eq!(Record::read_all(out.path(), &other), []);
        let runs = out.path().join(RUNS);
        std::fs::rename(runs.join("r2-rust-xml.json"), runs.join("r1-rust-xml.json")).unwrap();
        let whole = std::fs::read(runs.join("r1-rust-clear.json")).unwrap();
        std::fs::write(runs.join("r1-rust-clear.json"), &whole[..whole.len() - 1]).unwrap();
        assert_eq!(Record::read_all(out.path(), &settings()), [], "one is renamed, one cut off");
    }

    #[test]
    fn the_time_left_is_that_of_each_configuration_before() {
        let (clear, xml) = (Configuration::Clear, Configuration::Xml);
        assert_eq!(time_for(&[clear], &[]), None);
        let complete = [record(clear, 0, 1000), record(xml, 0, 5000), record(xml, 1, 6000)];
        let time = |missing: &[Configuration]| time_for(missing, &complete).unwrap().as_secs_f64();
        assert_eq!(time(&[]), 0.0);
        assert_eq!(time(&[clear, xml]), 1.0 + 5.5);
        assert_eq!(time(&[Configuration::Jose]), 4.0, "the mean of all");
    }
}
