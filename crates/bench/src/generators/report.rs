//! The result of a run: raw windows, figures and goals.

use serde::Serialize;

use super::customers::{Kept, Memory};
use super::goals;
use super::row::Row;
use super::tool::Tool;
use crate::goals::Goal;
use crate::machine::Machine;
use crate::report::Ending;

/// Name of the file within the output folder.
pub const FILE: &str = "load.json";

/// The result of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Machine, commit, command.
    pub machine: Machine,
    /// Version that each generator reports.
    pub versions: Vec<(Tool, String)>,
    /// Generators that are not installed.
    pub absent: Vec<Tool>,
    /// Connections busy at once.
    pub connections: u32,
    /// Windows per generator and row.
    pub rounds: u32,
    /// Length of a window.
    pub window_s: f64,
    /// Figures by row.
    pub rows: Vec<Row>,
    /// Memory of idle customers.
    pub memory: Vec<Memory>,
    /// Requested rates.
    pub rates: Vec<Kept>,
    /// Parts that failed.
    pub failed: Vec<Failure>,
}

/// A part that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// The part.
    pub part: &'static str,
    /// The error.
    pub why: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: FAILED: {}", self.part, self.why)
    }
}

impl Report {
    /// The goals with their measured values.
    pub fn goals(&self) -> Vec<Goal> {
        goals::of(&self.rows, &self.memory, &self.rates)
    }

    /// How the run ended.
    pub fn verdict(&self) -> Ending {
        let goals = self.goals();
        Ending::on(!self.failed.is_empty(), goals.iter().map(|goal| goal.verdict))
    }
}
