//! Whose a folder is: `study.json` names the settings of its measurements. A folder of others is
//! not touched.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tidegate_host::Machine;

use super::NAME;
use tidegate_experiment::folder::{Folder, LARGEST, STATE};
use tidegate_experiment::{Error, Result};

/// What the measurements of a folder have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// [`NAME`].
    pub study: String,
    /// Version of the folder's files, as in `summary.json`.
    pub format: u32,
    /// Version of the program.
    pub version: String,
    /// Whether it is a quick run.
    pub quick: bool,
    /// Seed of the order of the configurations.
    pub seed: u64,
    /// Requests of the long series.
    pub requests: usize,
    /// How often every configuration is measured.
    pub rounds: u32,
    /// Whether the configurations on Java are measured.
    pub java: bool,
    /// The machine.
    pub machine: Machine,
}

impl Settings {
    /// Makes a folder the study's own: a new or empty one, or with `resume` one of the same
    /// settings.
    ///
    /// # Errors
    /// [`Error::Operator`]: it holds a study and `resume` is not set, or has other settings;
    /// [`Error::Machine`]: it cannot be written.
    pub(super) fn claim(&self, out: &Path, resume: bool) -> Result<Folder> {
        Folder::claim(out, resume, self, |text| {
            self.difference(text)
                .map(|difference| format!("{difference}, or another --out to start anew"))
        })
    }

    /// What a folder has of other settings, and what to give in place of this; `None` if they
    /// are the same.
    fn difference(&self, text: &str) -> Option<String> {
        let value: serde_json::Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => {
                return Some(format!("its {STATE} is damaged ({error}); remove the folder"));
            }
        };
        if value["study"] != NAME {
            return Some("holds another study; give the folder of this one".into());
        }
        let (format, version) = (&value["format"], &value["version"]);
        if *format != self.format || *version != self.version.as_str() {
            return Some(format!(
                "is of another version of the program (format {format}, version {version}; this one has {} and {:?}); continue with that version",
                self.format, self.version
            ));
        }
        let other: Self = match serde_json::from_value(value) {
            Ok(other) => other,
            Err(error) => {
                return Some(format!("its {STATE} is damaged ({error}); remove the folder"));
            }
        };
        if other.machine != self.machine {
            return Some("was measured on another machine; continue there".into());
        }
        let quick = |quick| if quick { "--quick" } else { "no --quick" }.to_owned();
        let java = |java| if java { "with Java" } else { "without Java" }.to_owned();
        let flag = |name: &str, value: u64| format!("{name} {value}");
        let requests = |it: &Self| flag("--requests", it.requests as u64);
        let rounds = |it: &Self| flag("--rounds", it.rounds.into());
        let differ: Vec<String> = [
            (quick(other.quick), quick(self.quick)),
            (flag("--seed", other.seed), flag("--seed", self.seed)),
            (requests(&other), requests(self)),
            (rounds(&other), rounds(self)),
            (java(other.java), java(self.java)),
        ]
        .into_iter()
        .filter(|(there, here)| there != here)
        .map(|(there, here)| format!("{there} (here {here})"))
        .collect();
        if differ.is_empty() {
            return None;
        }
        let java = match (other.java, self.java) {
            (true, false) => {
                " without --without-java, where Java, Tomcat and the services are found"
            }
            (false, true) => " and --without-java",
            _ => "",
        };
        Some(format!("was begun with {}; give the same flags{java}", differ.join(", ")))
    }

    /// The settings of a folder; `None` if it is not one of this study.
    ///
    /// # Errors
    /// [`Error::Operator`]: it is of another version, or damaged.
    pub(crate) fn of(out: &Path) -> Result<Option<Self>> {
        let file = out.join(STATE);
        let text = tidegate_config::read_text(&file, LARGEST).unwrap_or_default();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        if value["study"] != NAME {
            return Ok(None);
        }
        tidegate_experiment::state::check_format(&file, &value)?;
        serde_json::from_value(value).map(Some).map_err(|error| {
            Error::Operator(format!(
                "{}: is damaged ({error}); run the study anew into another folder",
                file.display()
            ))
        })
    }

    /// What two folders may have otherwise, in words.
    pub(crate) fn named(&self) -> [(&'static str, String); 8] {
        [
            ("version", self.version.clone()),
            ("machine", self.machine.to_string()),
            ("processors of the machine", self.machine.cpus.to_string()),
            ("quick", self.quick.to_string()),
            ("seed", self.seed.to_string()),
            ("requests", self.requests.to_string()),
            ("rounds", self.rounds.to_string()),
            ("on Java as well", self.java.to_string()),
        ]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use tidegate_experiment::FORMAT;

    pub(crate) fn settings() -> Settings {
        Settings {
            study: NAME.into(),
            format: FORMAT,
            version: "1".into(),
            quick: true,
            seed: 1,
            requests: 20,
            rounds: 2,
            java: false,
            machine: Machine::default(),
        }
    }

    fn error(settings: &Settings, out: &Path, resume: bool) -> String {
        let error = settings.claim(out, resume).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        error.to_string()
    }

    #[test]
    fn a_folder_is_continued_with_the_same_settings_alone_and_the_message_names_the_others() {
        let out = tempfile::tempdir().unwrap();
        settings().claim(out.path(), false).unwrap();
        settings().claim(out.path(), true).unwrap();
        assert!(error(&settings(), out.path(), false).contains("--resume continues it"));
        for (other, expected) in [
            (Settings { quick: false, ..settings() }, "--quick (here no --quick)"),
            (Settings { seed: 2, ..settings() }, "--seed 1 (here --seed 2)"),
            (Settings { requests: 30, ..settings() }, "--requests 20 (here --requests 30)"),
            (Settings { rounds: 3, ..settings() }, "--rounds 2 (here --rounds 3)"),
            (Settings { java: true, ..settings() }, "the same flags and --without-java"),
            (Settings { version: "2".into(), ..settings() }, "another version of the program"),
            (Settings { format: FORMAT + 1, ..settings() }, "another version of the program"),
            (
                Settings { machine: Machine { cpus: 99, ..Machine::default() }, ..settings() },
                "another machine",
            ),
        ] {
            let text = error(&other, out.path(), true);
            assert!(text.contains(expected) && text.contains("another --out"), "{text}");
        }
        assert_eq!(Settings::of(out.path()).unwrap(), Some(settings()));
    }

    #[test]
    fn a_folder_of_another_study_and_one_whose_settings_are_unknown_are_not_touched() {
        let out = tempfile::tempdir().unwrap();
        std::fs::write(out.path().join("summary.json"), "{}").unwrap();
        assert!(error(&settings(), out.path(), false).contains("cannot be continued"));
        std::fs::write(out.path().join(STATE), "{\"experiment\": {}}").unwrap();
        assert!(error(&settings(), out.path(), true).contains("holds another study"));
        assert_eq!(Settings::of(out.path()).unwrap(), None);
        std::fs::write(out.path().join(STATE), "{").unwrap();
        assert!(error(&settings(), out.path(), true).contains("damaged"));
        assert_eq!(std::fs::read_to_string(out.path().join(STATE)).unwrap(), "{");
    }
}
