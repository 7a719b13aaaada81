//! A site of one process, and what its kind has in common: its database, a copy of it, its flags.

use std::path::{Path, PathBuf};

use tidegate_lab::{Process, RunningProcessor, Service};

use super::System;
use crate::experiment::Settings;
use crate::folder::MAKE_ROOM;
use crate::{Error, Result};

/// A site that is ready. Its process ends when this is dropped, then what is beside it.
#[derive(Debug)]
pub(super) struct Served {
    service: Service,
    customers: u64,
    /// Not counted as part of the service: it stands for a service on another machine.
    _processor: Option<RunningProcessor>,
    _data: Option<Copy>,
}

impl Served {
    /// A service whose population has so many customers.
    pub(super) fn new(service: Service, customers: u64) -> Self {
        Self { service, customers, _processor: None, _data: None }
    }

    /// With a card processor beside it.
    pub(super) fn with_processor(self, processor: RunningProcessor) -> Self {
        Self { _processor: Some(processor), ..self }
    }

    /// With a copy of its database, which ends with it.
    pub(super) fn with_copy(self, data: Copy) -> Self {
        Self { _data: Some(data), ..self }
    }
}

impl System for Served {
    fn url(&self, _: bool) -> Result<String> {
        Ok(self.service.address("site")?.to_owned())
    }

    fn process(&self) -> &Process {
        self.service.process()
    }

    fn customers(&self) -> Option<u64> {
        Some(self.customers)
    }
}

/// A copy of a database file, so that every run begins with the same. It is removed when this is
/// dropped.
#[derive(Debug)]
pub(super) struct Copy(PathBuf);

impl Copy {
    /// The folder of the data of a run, with a copy of `file` unless the database is on a server.
    ///
    /// # Errors
    /// The disk is full.
    pub(super) fn make(file: &Path, settings: &Settings, run: &Path) -> Result<Self> {
        let data = run.join("data");
        let copied = std::fs::create_dir_all(&data).and_then(|()| {
            match settings.database.is_none().then(|| file.file_name()).flatten() {
                Some(name) => std::fs::copy(file, data.join(name)).map(drop),
                None => Ok(()),
            }
        });
        copied.map_err(|error| {
            let data = data.display();
            Error::Machine(format!("cannot copy the database to {data}: {error}; {MAKE_ROOM}"))
        })?;
        Ok(Self(data))
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // The next run begins with a copy of its own. What is left is told by the disk alone.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The database of a site, with the remedy where it cannot be made.
pub(super) fn prepared<T>(
    made: tidegate_sitekit::Result<T>,
    settings: &Settings,
    data: &Path,
) -> Result<T> {
    made.map_err(|error| match error {
        tidegate_sitekit::Error::Database(_) if settings.database.is_some() => Error::Process(
            format!("the site's {error}; look at the log of the server of system.database"),
        ),
        tidegate_sitekit::Error::Database(_) => Error::Process(format!(
            "the site's {error}; make room in {}, or give --out another folder",
            data.display()
        )),
        other => other.into(),
    })
}

/// Number of customers of a population.
pub(super) fn customers(of: i64) -> Result<u64> {
    u64::try_from(of).map_err(|_| Error::Internal("the population has no customers".into()))
}

/// Arguments of this program: words, then the flags that have a value.
pub(super) fn arguments<const N: usize>(
    words: &[&str],
    flags: [(&str, Option<String>); N],
) -> Vec<String> {
    let mut args: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    for (flag, value) in flags {
        args.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
    }
    args
}

/// A path as an argument.
pub(super) fn path(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_a_copy_of_the_database_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("b2b.db");
        std::fs::write(&file, "rows").unwrap();
        let run = folder.path().join("run");
        let copy = Copy::make(&file, &Settings::default(), &run).unwrap();
        let copied = copy.folder().join("b2b.db");
        assert_eq!(std::fs::read_to_string(copied).unwrap(), "rows");
        drop(copy);
        assert!(!run.join("data").exists() && file.exists());
        // A server has the database itself.
        let database = Some("postgres://x".to_owned());
        let settings = Settings { database, ..Settings::default() };
        let copy = Copy::make(&folder.path().join("none.db"), &settings, &run).unwrap();
        assert_eq!(std::fs::read_dir(copy.folder()).unwrap().count(), 0);
    }

    #[test]
    fn flags_without_a_value_are_left_out() {
        let args = arguments(&["site", "b2b"], [("--data", Some("x".into())), ("--trace", None)]);
        assert_eq!(args, ["site", "b2b", "--data", "x"]);
    }
}
