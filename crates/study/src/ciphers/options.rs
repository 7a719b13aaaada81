//! What is measured, and how long.

use std::path::PathBuf;
use std::time::Duration;

use tidegate_load::Plan;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// The load, but for its rates, times and TLS: the site, the scenario, the threads and the seed.
    pub plan: Plan,
    /// A few rounds of short runs, with rougher figures.
    pub quick: bool,
    /// Folder of the results.
    pub out: PathBuf,
    /// The site's processes; empty for those that listen at the target's address.
    pub processes: Vec<u32>,
    /// Admin address of the gate before the site, whose clocks are read.
    pub gate_admin: Option<String>,
    /// How often everything is measured.
    pub rounds: Option<u32>,
    /// Measured time of a run.
    pub window: Option<Duration>,
}

/// The times and numbers of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Design {
    pub(super) rounds: u32,
    /// Before the measured time.
    pub(super) warm_up: Duration,
    pub(super) window: Duration,
}

/// Least rounds that give an interval.
const FEWEST: u32 = 2;
/// The load generator tells how far it is four times a second.
const LOOK: Duration = Duration::from_millis(300);
/// Sessions that one customer should complete in a run.
const SESSIONS: f64 = 4.0;

impl Options {
    /// The design for sessions of this length.
    pub(super) fn design(&self, session: Duration) -> Design {
        let (rounds, least) = match self.quick {
            true => (3, Duration::from_millis(800)),
            false => (7, Duration::from_millis(2500)),
        };
        let window = self.window.unwrap_or_else(|| least.max(session.mul_f64(SESSIONS)));
        let warm_up = session.max(window / 5).max(LOOK);
        Design { rounds: self.rounds.unwrap_or(rounds).max(FEWEST), warm_up, window }
    }
}
