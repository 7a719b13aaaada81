//! What a run leaves: `run.json` in its folder. A folder has its name once it is complete.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tidegate_host::{Machine, Provenance};

use crate::experiment::{Levels, Settings, Windows};
use crate::folder::{LARGEST, RUNS};
use crate::metrics::Figures;
use crate::summary::FORMAT;
use crate::{Error, Result};

/// What the name of a run's folder ends with until it is complete.
const PARTIAL: &str = ".partial";
/// Why a run of a saturated load generator does not count.
pub(crate) const SATURATED: &str = "the load generator was saturated";
/// Name of the file.
const FILE: &str = "run.json";

/// What is measured in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The capacity, by the CPU time of a session.
    Capacity,
    /// The current capacity without admission control, before the runs that are multiples of it.
    Baseline,
    /// A combination of levels.
    Run,
}

/// A run as planned: what has to be the same for a complete run to count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Name of the run and of its folder.
    pub id: String,
    /// What is measured.
    pub kind: Kind,
    /// Round, from 0.
    pub round: u32,
    /// Level of each factor.
    pub levels: Levels,
    /// The resolved settings.
    pub settings: Settings,
    /// Times.
    pub windows: Windows,
    /// Seed of the customers' choices.
    pub seed: u64,
    /// Cores of service and gate, and how much of them.
    pub cores: String,
    /// How much of these cores service and gate may use.
    pub cpus: f64,
    /// Cores of the customers.
    pub driver_cores: String,
}

/// Figures of a second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named as the metrics")]
pub struct Second {
    pub at_s: f64,
    pub measured: bool,
    pub offered_per_s: f64,
    pub completed_per_s: f64,
    pub refused_per_s: f64,
    pub abandoned_per_s: f64,
    pub requests_per_s: f64,
    pub response_p95_ms: f64,
    pub full_handshake_share: f64,
    /// None in a second without an answer.
    #[serde(default)]
    pub cpu_ms_per_request: Option<f64>,
}

/// A complete run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`FORMAT`].
    pub format: u32,
    /// Version of the program.
    pub version: String,
    /// What was planned.
    pub planned: Planned,
    /// The machine.
    pub machine: Machine,
    /// Commit, command and start.
    pub provenance: Provenance,
    /// Offered sessions per second; none in a closed loop.
    pub rate_per_s: Option<f64>,
    /// Capacity in sessions per second when it began; none where loads are rates.
    pub capacity_per_s: Option<f64>,
    /// Seconds that it took, the start and the end of the system included; none in results of
    /// before this was kept.
    #[serde(default)]
    pub took_s: Option<f64>,
    /// Seconds of them that later runs do not repeat, until a system that is kept was ready and
    /// warm; none where there are no such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once_s: Option<f64>,
    /// CPU seconds of the pulse's fixed work meanwhile; none where it had no sample.
    pub pulse_cost_s: Option<f64>,
    /// Figures of the measured window.
    pub figures: Figures,
    /// Mean milliseconds of the phases of requests and connections, by observer and phase:
    /// `customer.first_byte`. Traces add `gate.` and `request.`, the places of a request.
    pub phases: BTreeMap<String, f64>,
    /// Values over the position in a series, by the name of the course.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub courses: BTreeMap<String, Vec<(f64, f64)>>,
    /// Why the figures are not those of the server; empty if they are.
    pub driver_saturated: Vec<String>,
    /// Why the figures are not those of what was planned; empty if they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// Every second, warm-up included.
    pub seconds: Vec<Second>,
}

impl Record {
    /// A figure; none where it was not measured.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.get(name).copied().filter(|value| value.is_finite())
    }

    /// The share of the servers' cores that other programs used, the run's own neighbour aside; none
    /// where it was not measured.
    pub fn others_use(&self) -> Option<f64> {
        Some(self.figure("others_use")? - self.planned.settings.neighbour)
    }

    /// That the load generator was saturated, and why; none if it was not.
    pub fn saturation(&self) -> Option<String> {
        let why = self.driver_saturated.join("; ");
        (!why.is_empty()).then(|| format!("{SATURATED}: {why}"))
    }

    /// Whether its figures are those of the server, under the load that was planned.
    pub fn is_sound(&self) -> bool {
        self.driver_saturated.is_empty() && self.doubts.is_empty()
    }
}

/// The folder of a run that is not complete. Removed when it is dropped before that.
#[derive(Debug)]
pub struct Open {
    place: PathBuf,
    partial: PathBuf,
    complete: bool,
}

impl Open {
    /// Creates the folder of a run, in place of an incomplete one.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(out: &Path, id: &str) -> Result<Self> {
        let place = out.join(RUNS).join(id);
        let partial = out.join(RUNS).join(format!("{id}{PARTIAL}"));
        let _ = fs::remove_dir_all(&partial);
        fs::create_dir_all(&partial).map_err(|error| cannot("create", &partial, &error))?;
        Ok(Self { place, partial, complete: false })
    }

    /// Where its files are written.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Writes the record, and gives the folder its name.
    ///
    /// # Errors
    /// A file cannot be written, such as on a full disk: then there is no run.
    pub fn complete(mut self, record: &Record) -> Result<()> {
        let text = serde_json::to_string_pretty(record)
            .map_err(|error| Error::Internal(format!("cannot write a run: {error}")))?;
        let file = self.partial.join(FILE);
        fs::write(&file, text).map_err(|error| cannot("write", &file, &error))?;
        // What is renamed must be on the disk first: an error of a full disk may come late.
        for entry in fs::read_dir(&self.partial).into_iter().flatten().flatten() {
            fs::File::open(entry.path())
                .and_then(|file| file.sync_all())
                .map_err(|error| cannot("write", &entry.path(), &error))?;
        }
        let _ = fs::remove_dir_all(&self.place);
        fs::rename(&self.partial, &self.place)
            .map_err(|error| cannot("rename", &self.partial, &error))?;
        self.complete = true;
        Ok(())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.complete {
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Machine(format!(
        "cannot {what} {}: {error}; make room and continue with --resume",
        path.display()
    ))
}

/// The complete runs of a folder, by id. What cannot be read is not a complete run.
pub fn read_all(out: &Path) -> BTreeMap<String, Record> {
    let entries = fs::read_dir(out.join(RUNS)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let named = names.filter(|name| !name.ends_with(PARTIAL));
    named
        .filter_map(|name| Some((name.clone(), read(&out.join(RUNS).join(&name), &name)?)))
        .collect()
}

/// A run, if its folder has the name that it was made with: one that was renamed or copied
/// is not the run of that name.
fn read(folder: &Path, name: &str) -> Option<Record> {
    let text = tidegate_config::read_text(&folder.join(FILE), LARGEST).ok()?;
    let record: Record = serde_json::from_str(&text).ok()?;
    (record.format == FORMAT && record.planned.id == name).then_some(record)
}

/// Removes what an interrupted run left.
pub fn remove_incomplete(out: &Path) {
    for entry in fs::read_dir(out.join(RUNS)).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().ends_with(PARTIAL) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run of this id, round and levels, with one figure each.
    pub(crate) fn record(
        id: &str,
        round: u32,
        levels: &[(&str, &str)],
        figures: &[(&str, f64)],
    ) -> Record {
        let levels: Levels =
            levels.iter().map(|(name, level)| ((*name).into(), (*level).into())).collect();
        Record {
            format: FORMAT,
            version: "0".into(),
            planned: Planned {
                id: id.into(),
                kind: Kind::Run,
                round,
                settings: Settings {
                    load: levels.get("load").and_then(|load| load.parse().ok()),
                    ..Settings::default()
                },
                levels,
                windows: Windows {
                    warm_up_s: 1.0,
                    measured_s: 2.0,
                    repetitions: 2,
                    ..Windows::default()
                },
                seed: 1,
                cores: "0".into(),
                cpus: 1.0,
                driver_cores: "1".into(),
            },
            machine: Machine::default(),
            provenance: Provenance::default(),
            rate_per_s: Some(1.0),
            capacity_per_s: None,
            took_s: None,
            once_s: None,
            pulse_cost_s: None,
            figures: figures.iter().map(|(name, value)| ((*name).into(), *value)).collect(),
            phases: BTreeMap::new(),
            courses: BTreeMap::new(),
            driver_saturated: Vec::new(),
            doubts: Vec::new(),
            seconds: Vec::new(),
        }
    }

    #[test]
    fn only_a_run_that_was_completed_has_its_name() {
        let out = tempfile::tempdir().unwrap();
        let open = Open::create(out.path(), "a").unwrap();
        fs::write(open.path().join("requests.parquet"), "x").unwrap();
        assert!(read_all(out.path()).is_empty());
        open.complete(&record("a", 0, &[], &[("requests_per_s", 3.0)])).unwrap();
        let all = read_all(out.path());
        assert_eq!(all["a"].figure("requests_per_s"), Some(3.0));
        drop(Open::create(out.path(), "b").unwrap());
        assert_eq!(fs::read_dir(out.path().join(RUNS)).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_was_renamed_cut_off_or_of_another_version_is_no_run() {
        let out = tempfile::tempdir().unwrap();
        let runs = out.path().join(RUNS);
        for id in ["a", "b", "c"] {
            Open::create(out.path(), id).unwrap().complete(&record(id, 0, &[], &[])).unwrap();
        }
        fs::rename(runs.join("a"), runs.join("d")).unwrap();
        fs::write(runs.join("b").join(FILE), "{\"format\": 1").unwrap();
        let other = Record { format: FORMAT + 1, ..record("c", 0, &[], &[]) };
        fs::write(runs.join("c").join(FILE), serde_json::to_string(&other).unwrap()).unwrap();
        assert!(read_all(out.path()).is_empty());
    }

    #[test]
    fn what_an_interrupted_process_left_is_removed() {
        let out = tempfile::tempdir().unwrap();
        std::mem::forget(Open::create(out.path(), "a").unwrap());
        remove_incomplete(out.path());
        assert_eq!(fs::read_dir(out.path().join(RUNS)).unwrap().count(), 0);
    }
}
