//! The result of a run: raw windows, figures, goals, machine and command.

use crate::goals::Goal;
use crate::idle::Idle;
use crate::in_process::{DecisionCost, HelloCost};
use crate::machine::Machine;
use crate::summary::RowSummary;
use crate::windows::Window;
use serde::Serialize;
use tidegate_lab::CorePair;
use tidegate_lab::peers::Kind;
use tidegate_stats::{Summary, Verdict};

/// Name of the file within the output folder.
pub const FILE: &str = "bench.json";

/// The result of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Machine, commit, command.
    pub machine: Machine,
    /// Version that each server reports.
    pub versions: Vec<(Kind, String)>,
    /// Cores of the servers and of the driver.
    pub cores: CorePair,
    /// Connections busy at once.
    pub connections: u32,
    /// Windows per server and row.
    pub rounds: u32,
    /// Length of a window.
    pub window_ms: u64,
    /// Seed of the order.
    pub seed: u64,
    /// The calibration loop over the whole run, in milliseconds.
    pub calibration_ms: Option<Summary>,
    /// The goals with their measured values.
    pub goals: Vec<Goal>,
    /// Cost of reading a hello.
    pub hellos: Vec<HelloCost>,
    /// Cost of a decision.
    pub decisions: Vec<DecisionCost>,
    /// Memory of idle connections.
    pub idle: Vec<Idle>,
    /// Figures by row.
    pub rows: Vec<RowSummary>,
    /// The raw windows, in the order in which they were measured.
    pub windows: Vec<Window>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// No goal is missed beyond what the spread explains.
    Met,
    /// A goal is missed, and its interval does not contain the limit.
    Missed,
    /// Something could not be measured.
    Failed,
}

impl Ending {
    /// How a run ends with these goals. A failed measurement comes before a missed goal.
    pub fn on(failed: bool, mut goals: impl Iterator<Item = Verdict>) -> Self {
        match goals.any(|verdict| verdict == Verdict::DoesNotHold) {
            _ if failed => Self::Failed,
            true => Self::Missed,
            false => Self::Met,
        }
    }

    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Met => 0,
            Self::Missed => 1,
            Self::Failed => 3,
        }
    }
}

impl Report {
    /// How the run ended.
    pub fn verdict(&self) -> Ending {
        let nothing = self.windows.is_empty() && self.hellos.is_empty();
        let failed = self.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.failed);
        Ending::on(nothing || failed, self.goals.iter().map(|goal| goal.verdict))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_goal_is_an_exit_code_of_1_unless_it_is_within_the_spread() {
        use Verdict::{DoesNotHold, Holds, Undecided};
        let code = |goals: &[Verdict]| Ending::on(false, goals.iter().copied()).code();
        assert_eq!(code(&[]), 0);
        assert_eq!(code(&[Holds, Undecided]), 0);
        assert_eq!(code(&[Holds, Undecided, DoesNotHold]), 1);
    }

    #[test]
    fn a_failed_measurement_comes_before_a_missed_goal() {
        assert_eq!(Ending::on(true, [Verdict::DoesNotHold].into_iter()).code(), 3);
        assert_eq!(Ending::on(true, std::iter::empty()).code(), 3);
    }
}
