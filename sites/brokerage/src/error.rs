//! Why a request of the brokerage could not be carried out.

use crate::protocol::{Outage, Problem};
use tidegate_sitekit::link;

/// Result of what a tier does for another.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a request could not be carried out, by whose fault it is.
#[derive(Clone, Debug)]
pub enum Error {
    /// The customer's: a request that is refused.
    Refused(Problem),
    /// A tier's: it cannot be reached, or failed.
    Outage(Outage),
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

impl From<Outage> for Error {
    fn from(outage: Outage) -> Self {
        Self::Outage(outage)
    }
}

impl From<link::Error> for Error {
    fn from(error: link::Error) -> Self {
        let may_be_done = error.kind.may_be_done();
        Self::Outage(Outage { cause: error.to_string(), may_be_done })
    }
}

impl From<tidegate_sitekit::Error> for Error {
    fn from(error: tidegate_sitekit::Error) -> Self {
        match error {
            tidegate_sitekit::Error::Client(problem) => problem.into(),
            // A transaction that fails has changed nothing, unless it fails in its commit.
            other => Self::Outage(Outage { cause: other.to_string(), may_be_done: true }),
        }
    }
}

impl From<tidegate_sitekit::database::Error> for Error {
    fn from(error: tidegate_sitekit::database::Error) -> Self {
        tidegate_sitekit::Error::from(error).into()
    }
}

/// A failure that cannot happen while the code is right.
pub fn defect(what: &str) -> Error {
    Outage { cause: format!("internal error: {what}"), may_be_done: false }.into()
}
