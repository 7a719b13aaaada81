//! What ends a run.

use std::io;
use std::path::{Path, PathBuf};

/// Why pages were not rendered. The folder of the pages is as it was before the run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operator asked for what cannot be done.
    #[error("{0}")]
    Operator(String),
    /// The site does not answer, or not as it has to.
    #[error("{0}")]
    Site(String),
    /// A file cannot be read or written.
    #[error(
        "cannot {what} {}: {source}; the pages that are there were not touched, and the next run goes on from here",
        path.display()
    )]
    File {
        /// What was to be done: read, write.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A signal ended the run.
    #[error("the run was stopped after {0} answers; the next run goes on from here")]
    Stopped(usize),
}

/// The result of a part of a run.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// 2 for a mistake of the operator, else 3.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Operator(_) => 2,
            Self::Site(_) | Self::File { .. } | Self::Stopped(_) => 3,
        }
    }
}

/// The error of a file.
pub fn of_file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File { what, path, source }
}
