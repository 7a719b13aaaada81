//! The folder of a study. What is in it under its own name is complete: files are written
//! beside their place and renamed.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::summary::{FORMAT, Summary};
use crate::{Error, Result};

/// Name of the file that a finished study leaves; without it the study is not finished.
pub const SUMMARY: &str = "summary.json";
/// Name of the file that says whose the runs of a folder are.
pub const STATE: &str = "study.json";
/// Name of the folder of runs.
pub const RUNS: &str = "runs";
/// Name of the page that shows it.
const PAGE: &str = "report.html";
/// Largest file of a study that is read, in bytes.
pub const LARGEST: u64 = 256 << 20;
/// What a name has while its file is being written.
const PARTIAL: &str = "partial";
/// What to do where a file cannot be written.
pub const MAKE_ROOM: &str = "make room and run the study again, an experiment with --resume";

/// The folder of a study.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Creates the folder if it does not exist.
    ///
    /// # Errors
    /// [`Error::Operator`]: it cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).map_err(|error| {
            Error::Operator(format!(
                "--out {}: cannot be created: {error}; give a folder that may be written",
                path.display()
            ))
        })?;
        Ok(Self { path: path.to_owned() })
    }

    /// Makes a folder a study's own, with `state` as its [`STATE`]: a new or empty one, or with
    /// `resume` one of which `difference` finds nothing wrong, given the text of its state.
    ///
    /// # Errors
    /// [`Error::Operator`]: it holds a study and `resume` is not set, or one that differs;
    /// [`Error::Machine`]: it cannot be written.
    pub fn claim(
        out: &Path,
        resume: bool,
        state: &impl Serialize,
        difference: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let operator =
            |text: &str| Err(Error::Operator(format!("--out {}: {text}", out.display())));
        let folder = Self::create(out)?;
        match tidegate_config::read_text(&folder.file(STATE), LARGEST) {
            Ok(text) => match difference(&text) {
                Some(difference) => return operator(&difference),
                None if !resume => {
                    return operator(
                        "holds a study already; --resume continues it, another --out starts anew",
                    );
                }
                None => {}
            },
            Err(_) if folder.file(RUNS).exists() || folder.file(SUMMARY).exists() => {
                return operator(&format!(
                    "has results and no {STATE}, so that it cannot be continued; give another --out"
                ));
            }
            Err(_) => {}
        }
        let text = serde_json::to_string_pretty(state)
            .map_err(|error| Error::Internal(format!("cannot write the state: {error}")))?;
        folder.write(STATE, (text + "\n").as_bytes())?;
        Ok(folder)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file as a whole, in place of one that is there.
    ///
    /// # Errors
    /// [`Error::Machine`]: it cannot be written, such as on a full disk; then the former
    /// file stays.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf> {
        let place = self.file(name);
        let partial = self.file(&format!("{name}.{PARTIAL}"));
        let written = File::create(&partial).and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&partial, &place)
        });
        written.map_err(|error| {
            let _ = fs::remove_file(&partial);
            Error::Machine(format!("cannot write {}: {error}; {MAKE_ROOM}", place.display()))
        })?;
        Ok(place)
    }

    /// Writes the study's result; the study is finished with it.
    ///
    /// # Errors
    /// As of [`Folder::write`].
    pub fn finish(&self, summary: &Summary) -> Result<PathBuf> {
        let text = serde_json::to_string_pretty(summary)
            .map_err(|error| Error::Internal(format!("cannot write the summary: {error}")))?;
        self.write(SUMMARY, (text + "\n").as_bytes())
    }

    /// Takes the earlier result of this study away: the folder has none until it is complete.
    ///
    /// # Errors
    /// [`Error::Operator`]: the folder has the runs of an experiment, or the result of another
    /// study or version;
    /// [`Error::Machine`]: it cannot be removed.
    pub fn begin_anew(&self, study: &str) -> Result<()> {
        if [STATE, RUNS].iter().any(|name| self.file(name).exists()) {
            return Err(Error::Operator(format!(
                "--out {}: holds the runs of another study; give another folder",
                self.path().display()
            )));
        }
        if !self.file(SUMMARY).exists() {
            return Ok(());
        }
        match self.result() {
            Ok(earlier) if earlier.study == study => self.remove_result(),
            Ok(_) | Err(_) => Err(Error::Operator(format!(
                "--out {}: holds the result of another study or version; give another folder",
                self.path().display()
            ))),
        }
    }

    /// Takes an earlier result away, the summary first and then its page: the folder has none
    /// until its measurements are complete again.
    ///
    /// # Errors
    /// [`Error::Machine`]: a file cannot be removed.
    pub fn remove_result(&self) -> Result<()> {
        for path in [SUMMARY, PAGE].map(|name| self.file(name)) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::Machine(format!(
                        "cannot remove {}: {error}; check the rights of the folder",
                        path.display()
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The result of a finished study.
    ///
    /// # Errors
    /// [`Error::Operator`]: there is none, it is of another version, or it is not a result.
    pub fn result(&self) -> Result<Summary> {
        let path = self.file(SUMMARY);
        let operator = |text: String| Error::Operator(format!("{}: {text}", path.display()));
        let text = tidegate_config::read_text(&path, LARGEST)
            .map_err(|error| operator(format!("{error}; give the folder of a finished study")))?;
        let value: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| operator(format!("is no result of a study: {error}")))?;
        match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(format) if format == u64::from(FORMAT) => serde_json::from_value(value)
                .map_err(|error| operator(format!("is no result of a study: {error}"))),
            Some(format) => Err(operator(format!(
                "has format {format} and this program reads {FORMAT}; run the study anew into another folder"
            ))),
            None => Err(operator("is no result of a study: it has no `format`".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_host::Provenance;

    #[test]
    fn an_earlier_result_is_taken_away_and_that_of_another_study_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(root.path()).unwrap();
        assert!(folder.begin_anew("capacity").is_ok());
        folder.finish(&Summary::new("capacity", true, Provenance::read())).unwrap();
        folder.write(PAGE, b"a page").unwrap();
        assert!(folder.begin_anew("capacity").is_ok() && folder.result().is_err());
        assert!(!folder.file(PAGE).exists(), "the page of a result that is gone");
        folder.finish(&Summary::new("overload", true, Provenance::read())).unwrap();
        let error = folder.begin_anew("capacity").unwrap_err();
        assert!(error.to_string().contains("another study"), "{error}");
        assert_eq!(folder.result().unwrap().study, "overload");
    }

    #[test]
    fn the_folder_of_an_experiment_that_was_interrupted_is_not_taken_by_another_study() {
        for name in [STATE, RUNS] {
            let root = tempfile::tempdir().unwrap();
            let folder = Folder::create(root.path()).unwrap();
            folder.write(name, b"").unwrap();
            let error = folder.begin_anew("capacity").unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains("the runs of another study"), "{error}");
        }
    }

    #[test]
    fn a_result_is_read_as_it_was_written() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(&root.path().join("a/b")).unwrap();
        let summary = Summary::new("overload", true, Provenance::read());
        folder.finish(&summary).unwrap();
        assert_eq!(folder.result().unwrap(), summary);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_without_a_result_or_of_another_version_says_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(root.path()).unwrap();
        for (text, expected) in [
            (None, "finished study"),
            (Some("{"), "no result of a study"),
            (Some("{}"), "no `format`"),
            (Some("{\"format\": 0}"), "anew into another folder"),
            (Some("{\"format\": 1}"), "no result of a study"),
        ] {
            if let Some(text) = text {
                folder.write(SUMMARY, text.as_bytes()).unwrap();
            }
            let error = folder.result().unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }
}
