//! What takes the place of an answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use tidegate_sitekit::Refusal;

/// A request that a tier refuses: the customer can do something about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// HTTP status, 400 to 499.
    pub status: u16,
    /// One short sentence that names it.
    pub what: String,
    /// The reasons.
    pub why: Vec<String>,
    /// What the customer can do.
    pub remedy: String,
    /// After how many seconds the same may be accepted.
    pub retry_after_s: Option<u64>,
    /// Mistakes in single fields of a form.
    pub mistakes: Vec<Mistake>,
}

/// A mistake in a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mistake {
    /// Name of the field.
    pub field: String,
    /// What is wrong and how to mend it.
    pub text: String,
}

/// A tier that failed: the operator can do something about it. The text is for logs; pages
/// do not show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(deny_unknown_fields)]
#[error("{cause}")]
pub struct Outage {
    /// Which tier, at which address, and why.
    pub cause: String,
    /// The operation may have been carried out nevertheless.
    pub may_be_done: bool,
}

impl Problem {
    /// One with one reason.
    pub fn new(status: u16, what: &str, why: impl Into<String>, remedy: &str) -> Self {
        Refusal::new(status, what, why, remedy).into()
    }

    /// The session is over, or there was none.
    pub fn signed_out() -> Self {
        Self::new(
            401,
            "Please sign in",
            "You are not signed in, or were signed out after a while without a request.",
            "Sign in, then continue where you were.",
        )
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self {
            status: refusal.status,
            what: refusal.what,
            why: refusal.why,
            remedy: refusal.remedy,
            retry_after_s: refusal.retry_after.map(|wait| wait.as_secs()),
            mistakes: Vec::new(),
        }
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        let mistakes = problem.mistakes.into_iter().map(|mistake| mistake.text);
        Self {
            status: problem.status,
            what: problem.what,
            why: problem.why.into_iter().chain(mistakes).collect(),
            remedy: problem.remedy,
            retry_after: problem.retry_after_s.map(Duration::from_secs),
        }
    }
}
