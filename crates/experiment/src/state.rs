//! Whose a folder is: `study.json` names the version and the resolved experiment. A folder of
//! another one is not touched.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tidegate_host::Machine;

use crate::experiment::Experiment;
use crate::folder::{Folder, LARGEST, STATE};
use crate::options::Options;
use crate::resources::Resources;
use crate::summary::FORMAT;
use crate::{Error, Result};

/// What the runs of a folder have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// [`FORMAT`].
    pub format: u32,
    /// Version of the program.
    pub version: String,
    /// The experiment, resolved.
    pub experiment: Experiment,
    /// Whether it is a quick run.
    pub quick: bool,
    /// Seed of the order and of the customers' choices.
    pub seed: u64,
    /// Cores of service and gate.
    pub server_cores: String,
    /// Cores of the customers.
    pub driver_cores: String,
    /// How much of a core a processor is.
    pub processor_share: f64,
    /// The texts of scenario files, by the path that the settings have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scenarios: BTreeMap<String, String>,
    /// The machine.
    pub machine: Machine,
}

impl State {
    /// What a run with these options makes.
    pub fn new(
        experiment: &Experiment,
        options: &Options,
        resources: &Resources,
        scenarios: BTreeMap<String, String>,
    ) -> Self {
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            experiment: experiment.clone(),
            quick: options.quick,
            seed: options.seed,
            server_cores: resources.server.to_string(),
            driver_cores: resources.driver.to_string(),
            processor_share: resources.share,
            scenarios,
            machine: Machine::read(),
        }
    }

    /// Makes a folder the study's own: a new or empty one, or with `resume` one of the same
    /// study.
    ///
    /// # Errors
    /// [`Error::Operator`]: it belongs to a study and `resume` is not set, or to another study;
    /// [`Error::Machine`]: it cannot be written.
    pub fn claim(&self, out: &Path, resume: bool) -> Result<()> {
        // What is made of the runs may be other than before: it is written anew.
        let folder = Folder::claim(out, resume, self, |text| {
            let remedy = "give the same file and flags, or another --out to start anew";
            self.difference(text).map(|difference| format!("{difference}; {remedy}"))
        });
        folder.map(|_| ())
    }

    /// What a folder has of another study, in words; `None` if it is of the same. What is made of
    /// the runs may be other than before, such as claims and figures: no run follows from it.
    fn difference(&self, text: &str) -> Option<String> {
        let mut value: serde_json::Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => return Some(format!("its {STATE} cannot be read ({error})")),
        };
        let (format, version) = (&value["format"], &value["version"]);
        if *format != serde_json::json!(self.format) || *version != serde_json::json!(self.version)
        {
            return Some(format!(
                "is of another version of the program (format {format}, version {version}; this one has {} and {:?})",
                self.format, self.version
            ));
        }
        if let Some(experiment) = value.get_mut("experiment").and_then(|it| it.as_object_mut()) {
            let nothing = serde_json::to_value(without_analysis(&self.experiment));
            let nothing = nothing.unwrap_or_default();
            for part in ANALYSIS {
                experiment.insert(part.into(), nothing[part].clone());
            }
        }
        let other: Self = match serde_json::from_value(value) {
            Ok(other) => other,
            Err(error) => return Some(format!("its {STATE} cannot be read ({error})")),
        };
        let mut own = without_analysis(&self.experiment);
        own.about.clone_from(&other.experiment.about);
        let differs = [
            (other.experiment.name != self.experiment.name, "is of another experiment"),
            (other.quick != self.quick, "was run with another --quick"),
            (other.seed != self.seed, "was run with another --seed"),
            (other.server_cores != self.server_cores, "was run with other --server-cores"),
            (other.driver_cores != self.driver_cores, "was run with other --driver-cores"),
            (
                (other.processor_share - self.processor_share).abs() > 1e-9,
                "was run with other shares of processors",
            ),
            (other.scenarios != self.scenarios, "was run with another text of a scenario file"),
            (other.machine != self.machine, "was measured on another machine"),
            (
                volume(&other.experiment) != volume(&own),
                "was run with other --rounds or --requests, or by another version of the experiment's file",
            ),
            (other.experiment != own, "is of another version of the experiment's file"),
        ];
        differs.into_iter().find(|(differs, _)| *differs).map(|(_, text)| text.to_owned())
    }

    /// The state of a folder.
    ///
    /// # Errors
    /// [`Error::Operator`]: it holds no study, or one of another version.
    pub fn of(out: &Path) -> Result<Self> {
        let file = out.join(STATE);
        let operator = |text: String| Error::Operator(format!("{}: {text}", file.display()));
        let text = tidegate_config::read_text(&file, LARGEST)
            .map_err(|error| operator(format!("{error}; give the folder of a study")))?;
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| {
            operator(format!("is damaged ({error}); run the study anew into another folder"))
        })?;
        check_format(&file, &value)?;
        let version = value["version"].as_str().unwrap_or("unknown").to_owned();
        serde_json::from_value(value).map_err(|error| {
            operator(format!(
                "is of another version of the program ({version}; this one is {}), or damaged ({error}); give a folder of this version, or run the study anew into another",
                env!("CARGO_PKG_VERSION")
            ))
        })
    }
}

/// The parts of an experiment that say how its runs are analysed.
const ANALYSIS: [&str; 5] = ["claims", "figures", "tables", "overhead", "servers"];

/// An experiment without [`ANALYSIS`].
fn without_analysis(experiment: &Experiment) -> Experiment {
    let (claims, figures, tables) = (Vec::new(), Vec::new(), Vec::new());
    let (overhead, servers) = (None, None);
    Experiment { claims, figures, tables, overhead, servers, ..experiment.clone() }
}

/// Rounds and requests of a full and of a quick run.
fn volume(experiment: &Experiment) -> [(u32, Option<u32>); 2] {
    [experiment.windows, experiment.quick].map(|it| (it.repetitions, it.requests))
}

/// Checks that this program can read a folder by the `format` of its state.
///
/// # Errors
/// [`Error::Operator`]: it cannot.
fn check_format(file: &Path, state: &serde_json::Value) -> Result<()> {
    let (format, version) = (&state["format"], state["version"].as_str().unwrap_or("unknown"));
    if *format == FORMAT {
        return Ok(());
    }
    Err(Error::Operator(format!(
        "{}: has format {format}, of version {version} of the program, and this one reads {FORMAT}; use that version, or run the study anew into another folder",
        file.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::BuiltIn;
    use crate::folder::RUNS;

    fn state() -> State {
        State {
            format: FORMAT,
            version: "1".into(),
            experiment: BuiltIn::named("overload").unwrap().experiment(),
            quick: true,
            seed: 1,
            server_cores: "0".into(),
            driver_cores: "1".into(),
            processor_share: 0.25,
            scenarios: BTreeMap::from([("shop.toml".into(), "name = \"shop\"".into())]),
            machine: Machine::default(),
        }
    }

    fn error(state: &State, out: &Path, resume: bool) -> String {
        let error = state.claim(out, resume).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        error.to_string()
    }

    #[test]
    fn a_folder_is_continued_by_the_same_study_alone() {
        let out = tempfile::tempdir().unwrap();
        state().claim(out.path(), false).unwrap();
        state().claim(out.path(), true).unwrap();
        assert!(error(&state(), out.path(), false).contains("--resume continues it"));
        for (other, expected) in [
            (State { quick: false, ..state() }, "another --quick"),
            (State { seed: 2, ..state() }, "another --seed"),
            (State { server_cores: "0,1".into(), ..state() }, "other --server-cores"),
            (State { scenarios: BTreeMap::new(), ..state() }, "another text of a scenario file"),
            (State { version: "2".into(), ..state() }, "another version of the program"),
            (State { format: FORMAT + 1, ..state() }, "another version of the program"),
        ] {
            let text = error(&other, out.path(), true);
            assert!(text.contains(expected) && text.contains("another --out"), "{text}");
        }
        let mut other = state();
        other.experiment.windows.repetitions += 1;
        assert!(error(&other, out.path(), true).contains("version of the experiment's file"));
        other.experiment.name = "x".into();
        assert!(error(&other, out.path(), true).contains("another experiment"));
        assert_eq!(State::of(out.path()).unwrap(), state());
    }

    #[test]
    fn a_study_is_analysed_again_with_other_claims_figures_and_tables() {
        let out = tempfile::tempdir().unwrap();
        state().claim(out.path(), false).unwrap();
        // As written by a program that knew other figures.
        let file = out.path().join(STATE);
        let mut earlier: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        earlier["experiment"]["figures"] = serde_json::json!([{ "shape": "round" }]);
        earlier["experiment"]["tables"] = serde_json::json!([{ "id": "another" }]);
        earlier["experiment"]["overhead"] = serde_json::json!({ "factor": "policy" });
        earlier["experiment"]["servers"] = serde_json::json!({ "per_server": "1" });
        earlier["experiment"]["about"] = "another sentence".into();
        std::fs::write(&file, earlier.to_string()).unwrap();
        let mut now = state();
        now.experiment.claims.pop();
        now.claim(out.path(), true).unwrap();
        assert_eq!(State::of(out.path()).unwrap(), now);
    }

    #[test]
    fn a_folder_of_another_format_says_which_and_what_to_do() {
        let out = tempfile::tempdir().unwrap();
        let other = State { format: FORMAT + 1, version: "9.9".into(), ..state() };
        other.claim(out.path(), false).unwrap();
        let error = State::of(out.path()).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        for expected in ["has format 2, of version 9.9", "reads 1", "run the study anew"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn a_folder_whose_state_has_no_experiment_is_not_touched() {
        let out = tempfile::tempdir().unwrap();
        let text = format!("{{\"study\": \"messages\", \"format\": {FORMAT}, \"version\": \"1\"}}");
        std::fs::write(out.path().join(STATE), &text).unwrap();
        for resume in [false, true] {
            assert!(error(&state(), out.path(), resume).contains("cannot be read"));
        }
        let error = State::of(out.path()).unwrap_err().to_string();
        assert!(error.contains("is of another version of the program"), "{error}");
        assert_eq!(std::fs::read_to_string(out.path().join(STATE)).unwrap(), text);
    }

    #[test]
    fn results_without_a_state_and_a_damaged_state_are_not_touched() {
        let out = tempfile::tempdir().unwrap();
        std::fs::create_dir(out.path().join(RUNS)).unwrap();
        assert!(error(&state(), out.path(), false).contains("cannot be continued"));
        std::fs::write(out.path().join(STATE), "{").unwrap();
        assert!(error(&state(), out.path(), true).contains("cannot be read"));
    }
}
