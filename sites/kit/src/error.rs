//! Errors of a site, by whose fault they are.

use std::fmt;
use std::time::Duration;

/// Result of the fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error, by whose fault it is.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client's: a request that the site refuses.
    #[error("{0}")]
    Client(Refusal),
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

/// A refused request: its status, the reasons, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status, 400 to 499.
    pub status: u16,
    /// The heading: one short sentence that names the mistake.
    pub what: String,
    /// The reasons, one entry for each correction to make.
    pub why: Vec<String>,
    /// What the user can do now.
    pub remedy: String,
    /// After how long the same request may be accepted, for status 429.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// A refusal with one reason.
    pub fn new(status: u16, what: &str, why: impl Into<String>, remedy: &str) -> Self {
        Self {
            status,
            what: what.into(),
            why: vec![why.into()],
            remedy: remedy.into(),
            retry_after: None,
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Client(refusal)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.what, self.why.join("; "), self.remedy)
    }
}
