//! A claim of a paper, or of the experiment's own, and what the run shows of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use tidegate_stats::Verdict;

/// Whose claim it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    /// A conclusion of a paper.
    Paper,
    /// A claim of this project, or of whoever wrote the experiment.
    #[default]
    Own,
    /// It follows from the set-up: if it fails, the measurement is wrong.
    Check,
}

impl ClaimKind {
    /// The kind of a claim whose file states none: that of a paper if the source begins with
    /// `paper` or with a paper's number, such as `001, Table 2`.
    pub fn of_source(source: &str) -> Self {
        let first = source.split([' ', ',']).next().unwrap_or_default();
        let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
        if is_number || first == "paper" { Self::Paper } else { Self::Own }
    }
}

/// A claim and the evidence for or against it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Short name, unique in a study: lower-case words with hyphens.
    pub id: String,
    /// Where it is made: paper and section, table or figure.
    pub source: String,
    /// Whose it is; [`ClaimKind::Own`] in results of before this was kept.
    #[serde(default)]
    pub kind: ClaimKind,
    /// The claim in one sentence.
    pub text: String,
    /// What the run shows of it.
    pub verdict: Verdict,
    /// The figures by name, with their unit in the name.
    pub evidence: BTreeMap<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_names_a_paper_makes_its_conclusion_and_no_other_does() {
        let papers = ["001, 7.1.1 and Figure 5", "000, Figure 8", "paper 002, conclusion"];
        assert!(papers.iter().all(|it| ClaimKind::of_source(it) == ClaimKind::Paper));
        let own = ["this project, on the paper's conclusion", "our plan of 2026", "1st draft", ""];
        assert!(own.iter().all(|it| ClaimKind::of_source(it) == ClaimKind::Own));
    }
}
