//! The times of a run as the scenario states them.

use std::time::Duration;

/// `[run]` of a scenario; `None` where it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTimes {
    /// Time before the measured window.
    pub warm_up: Option<Duration>,
    /// The measured window; above 0.
    pub duration: Option<Duration>,
}
