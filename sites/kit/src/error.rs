//! Errors of a site, by whose fault they are.

use crate::log_once;
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

impl Error {
    /// What the client is told. A failure that is not the client's is logged, once while it lasts:
    /// its cause is for the operator alone.
    pub fn into_problem(self) -> Problem {
        let ours = |status| {
            let why = "Your request was fine; the site could not carry it out just now.";
            let remedy = "Nothing was changed. Wait a moment, then try again.";
            Problem::new(status, "Something went wrong on our side", why, remedy)
        };
        match self {
            Self::Client(problem) => problem,
            Self::Database(error) => {
                log_once!(error by &error.to_string(), %error, "the database failed");
                ours(503)
            }
            Self::Operator(error) | Self::Internal(error) => {
                log_once!(error by &error, error, "a request failed");
                ours(500)
            }
        }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Client(problem)
    }
}

/// An error with its causes, each once.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        source = inner.source();
    }
    text
}
