//! What can go wrong in a site, sorted by whose fault it is.

use std::fmt;

/// Result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, and whose fault it is.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client's: a request that cannot be carried out as it is.
    #[error("{0}")]
    Client(Refusal),
    /// The operator's: options, files, addresses, a database of another kind.
    /// One line: what is wrong and what to do about it.
    #[error("{0}")]
    Operator(String),
    /// The upstream's: the database failed while the site was running.
    #[error("database: {0}")]
    Database(#[from] crate::database::Error),
    /// Ours.
    #[error("internal error: {0}")]
    Internal(String),
}

/// A request refused: which status, what is wrong, and the way out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status, 400 to 499.
    pub status: u16,
    /// One short sentence that names what is wrong.
    pub what: String,
    /// Why, one entry for each thing to correct.
    pub why: Vec<String>,
    /// What the person can do now.
    pub remedy: String,
}

impl Refusal {
    /// A refusal with one reason.
    pub fn new(status: u16, what: &str, why: impl Into<String>, remedy: &str) -> Self {
        Self { status, what: what.into(), why: vec![why.into()], remedy: remedy.into() }
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
