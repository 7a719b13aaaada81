//! A claim of a paper, or of the experiment's own, and what the run shows of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a run shows of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The whole interval of the evidence agrees with the claim.
    #[serde(rename = "holds")]
    Holds,
    /// The whole interval contradicts it.
    #[serde(rename = "does not hold")]
    DoesNotHold,
    /// The run cannot tell: the interval contains the limit, or the data are missing.
    #[serde(rename = "undecided")]
    Undecided,
}

/// A claim and the evidence for or against it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Short name, unique in a study: lower-case words with hyphens.
    pub id: String,
    /// Where it is made: paper and section, table or figure.
    pub source: String,
    /// The claim in one sentence.
    pub text: String,
    /// What the run shows of it.
    pub verdict: Verdict,
    /// The figures by name, with their unit in the name.
    pub evidence: BTreeMap<String, Value>,
}

impl From<tidegate_stats::Verdict> for Verdict {
    fn from(verdict: tidegate_stats::Verdict) -> Self {
        match verdict {
            tidegate_stats::Verdict::Met => Self::Holds,
            tidegate_stats::Verdict::Missed => Self::DoesNotHold,
            tidegate_stats::Verdict::Close => Self::Undecided,
        }
    }
}
