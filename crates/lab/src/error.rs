//! Errors of an experiment, by whose fault they are.

use std::fmt::Display;
use std::path::Path;

/// Result of the fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error, by whose fault it is. The text is one line with what happened and, where there
/// is one, the error of the system.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The operator's: flags, files, processors or programs; with the remedy.
    #[error("{0}")]
    Operator(String),
    /// The machine's: it lacks what an experiment needs, such as memory, disk space, ports or
    /// control groups.
    #[error("{0}")]
    Machine(String),
    /// That of a process of the experiment: it does not start, ends, or does not do its work.
    #[error("{0}")]
    Process(String),
    /// A defect of this program.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// The exit code of a program that ends with this error: 2 for bad input, 3 for a run
    /// that failed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Operator(_) => 2,
            Self::Machine(_) | Self::Process(_) | Self::Internal(_) => 3,
        }
    }
}

impl From<tidegate_sitekit::Error> for Error {
    fn from(error: tidegate_sitekit::Error) -> Self {
        match error {
            tidegate_sitekit::Error::Operator(text) => Self::Operator(text),
            tidegate_sitekit::Error::Database(_) => Self::Process(format!("the site's {error}")),
            tidegate_sitekit::Error::Internal(text) => Self::Internal(text),
            // No request is made here.
            tidegate_sitekit::Error::Client(_) => Self::Internal(error.to_string()),
        }
    }
}

/// Adds to an error what failed, and whose fault that is.
pub(crate) trait Fault<T> {
    /// The machine's.
    fn of_machine(self, what: impl Display) -> Result<T>;

    /// That of a process of the experiment.
    fn of_process(self, what: impl Display) -> Result<T>;

    /// The machine's: this file cannot be written; with the remedy.
    fn of_writing(self, file: &Path) -> Result<T>;
}

impl<T, E: Display> Fault<T> for std::result::Result<T, E> {
    fn of_machine(self, what: impl Display) -> Result<T> {
        self.map_err(|error| Error::Machine(format!("{what}: {error}")))
    }

    fn of_process(self, what: impl Display) -> Result<T> {
        self.map_err(|error| Error::Process(format!("{what}: {error}")))
    }

    fn of_writing(self, file: &Path) -> Result<T> {
        self.map_err(|error| {
            Error::Machine(format!(
                "cannot write {}: {error}; make room, or choose a folder that may be written",
                file.display()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_operators_mistakes_are_bad_input() {
        let text = || "x".to_owned();
        let all = [Error::Operator, Error::Machine, Error::Process, Error::Internal];
        assert_eq!(all.map(|of| of(text()).exit_code()), [2, 3, 3, 3]);
        let site = tidegate_sitekit::Error::Operator(text());
        assert_eq!(Error::from(site), Error::Operator(text()));
        let site = tidegate_sitekit::Error::Internal(text());
        assert_eq!(Error::from(site).to_string(), "internal error: x");
    }

    #[test]
    fn an_error_of_the_system_follows_what_failed() {
        let full = || Err::<(), _>(std::io::Error::from(std::io::ErrorKind::StorageFull));
        let error = full().of_machine("cannot write a").unwrap_err();
        assert_eq!(error.to_string(), "cannot write a: no storage space");
        assert!(matches!(full().of_process("b"), Err(Error::Process(_))));
        let error = full().of_writing(Path::new("/a/b")).unwrap_err().to_string();
        assert!(error.starts_with("cannot write /a/b: no storage space; make room"), "{error}");
    }
}
