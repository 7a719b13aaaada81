//! Why a request failed.

use tidegate_sitekit::problem::ApiError;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The processor refuses the request, which has changed nothing and never will.
    #[error("the processor refuses with {status} {}: {}", .error.code, .error.message)]
    Refused {
        /// Status of HTTP.
        status: u16,
        /// What is wrong.
        error: ApiError,
    },
    /// There is no answer that is certain: the request may have been carried out, or may still
    /// be. It can be repeated under the same key, and the payment looked up by its reference.
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
}

impl Error {
    /// The code of a refusal.
    pub fn refusal_code(&self) -> Option<&str> {
        match self {
            Self::Refused { error, .. } => Some(&error.code),
            Self::Unknown(_) => None,
        }
    }
}
