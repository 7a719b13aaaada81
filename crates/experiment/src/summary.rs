//! The figures of a study, as in `summary.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tidegate_host::{Machine, Provenance};

use crate::claim::{Claim, Verdict};

/// Version of the files in a study's folder. A folder of another version is not continued.
pub const FORMAT: u32 = 1;

/// Name of the table of what a reader has to know.
pub(crate) const NOTES: &str = "notes";
/// Name of the table of figures.
pub(crate) const FIGURES: &str = "figures";

/// A row of a table: values by column.
pub type Row = Map<String, Value>;

/// The result of a study. Field names are a contract with scripts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of the folder's files, [`FORMAT`].
    pub format: u32,
    /// Name of the study.
    pub study: String,
    /// The machine that it ran on.
    pub machine: Machine,
    /// Commit, command and start.
    pub provenance: Provenance,
    /// A short run, whose figures are rough.
    pub quick: bool,
    /// Tables by name; columns carry their unit in the name.
    pub tables: BTreeMap<String, Vec<Row>>,
    /// The claims that were checked.
    pub claims: Vec<Claim>,
}

impl Summary {
    /// A result without tables and claims.
    pub fn new(study: &str, quick: bool, provenance: Provenance) -> Self {
        Self {
            format: FORMAT,
            study: study.to_owned(),
            machine: Machine::read(),
            provenance,
            quick,
            tables: BTreeMap::new(),
            claims: Vec::new(),
        }
    }

    /// Keeps what a reader has to know in the table `notes`; none without notes.
    pub fn add_notes(&mut self, notes: &[String]) {
        let row = |note: &String| Row::from_iter([("note".to_owned(), note.as_str().into())]);
        if !notes.is_empty() {
            self.tables.insert(NOTES.into(), notes.iter().map(row).collect());
        }
    }

    /// How many claims have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().filter(|claim| claim.verdict == verdict).count()
    }
}
