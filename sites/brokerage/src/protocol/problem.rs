//! What takes the place of an answer: a problem, or an outage.

use serde::{Deserialize, Serialize};

use tidegate_sitekit::Problem;

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

/// The session is over, or there was none.
pub fn signed_out() -> Problem {
    Problem::new(
        401,
        "Please sign in",
        "You are not signed in, or were signed out after a while without a request.",
        "Sign in, then continue where you were.",
    )
}
