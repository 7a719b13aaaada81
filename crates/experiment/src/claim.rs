//! A claim of a paper, or of the experiment's own, and what the run shows of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use tidegate_stats::Verdict;

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
