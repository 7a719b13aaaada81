//! Errors of a site, by whose fault they are.

use crate::problem::Problem;

/// Result of the fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error, by whose fault it is.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client's: a request that the site refuses.
    #[error("{0}")]
    Client(Problem),
    /// The operator's: options, files, addresses, a database of another kind.
    /// One line with the mistake and its remedy.
    #[error("{0}")]
    Operator(String),
    /// The upstream's: the database failed while the site was running.
    #[error("database: {0}")]
    Database(#[from] crate::database::Error),
    /// A defect of the site.
    #[error("internal error: {0}")]
    Internal(String),
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Client(problem)
    }
}
