//! Why requests failed, with a sample of each cause.

use serde::{Deserialize, Serialize};

/// Requests of one page, or of one of its assets, that failed for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestFailure {
    /// The page.
    pub page: String,
    /// The asset of the page, as in the scenario; `None` for the page itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asset: Option<String>,
    /// `status_405`, the name of a [`Failure`](crate::outcome::Failure), or of a
    /// [`Refusal`](crate::outcome::Refusal) or a [`Stage`](crate::outcome::Stage) behind
    /// `refused_` or `abandoned_`.
    pub cause: String,
    /// How many in the window.
    pub count: u64,
    /// One of them, without the values of secrets; only the first causes have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
}

/// A request that failed, as text without control characters but for the ends of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The head and the first kilobyte of the body that was sent.
    pub request: String,
    /// The head of the response; empty if none came.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub response: String,
    /// The first kilobyte of its body, decoded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// The error of the system or of TLS, if there was no response.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
}

impl RequestFailure {
    /// The page or its asset.
    pub fn step(&self) -> String {
        match &self.asset {
            Some(asset) => format!("{}, asset {asset}", self.page),
            None => self.page.clone(),
        }
    }

    /// The cause in words: `status 405`.
    pub fn cause_in_words(&self) -> String {
        self.cause.replace('_', " ")
    }

    /// Whether it is the same step and cause.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (&self.page, &self.asset, &self.cause) == (&other.page, &other.asset, &other.cause)
    }
}
