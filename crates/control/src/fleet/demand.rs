//! What a gate reports.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a gate reports, [five times a second](super::INTERVAL). Counters run since its start,
/// so that a message that is lost loses nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    /// Name of the gate in the fleet: 1 to 64 visible characters of ASCII.
    pub gate: String,
    /// Its start: greater at each start of a gate of this name.
    pub start: u64,
    /// Number of the report since the start, from 1.
    pub sequence: u64,
    /// Time of the report by the gate's own clock, in milliseconds.
    pub at_ms: u64,
    /// The share that it has, by the newest table or by itself: 0 to 1. Who begins to divide
    /// learns from it how much is given already.
    pub share: f64,
    /// What its active sessions will use, as a share of the whole service.
    pub committed: f64,
    /// What one new session per second uses until its first response, as a share of the whole.
    pub session: f64,
    /// New sessions decided on since the start.
    pub offered: u64,
    /// Requests that the service answered since the start.
    pub requests: u64,
}

impl Demand {
    /// Longest name of a gate, in bytes.
    pub const LONGEST_NAME: usize = 64;
    /// More than this is no share of a service, whatever is asked of it.
    const MOST: f64 = 1e6;

    /// Whether it can be what a gate reports.
    ///
    /// # Errors
    ///
    /// Which value cannot be true.
    pub fn check(&self) -> Result<(), Malformed> {
        if !is_name(&self.gate) {
            return Err(Malformed("gate"));
        }
        let share = |share: f64| (0.0..=Self::MOST).contains(&share);
        if !(0.0..=1.0).contains(&self.share) {
            return Err(Malformed("share"));
        }
        match (share(self.committed), share(self.session)) {
            (true, true) => Ok(()),
            (false, _) => Err(Malformed("committed")),
            (_, false) => Err(Malformed("session")),
        }
    }
}

/// Whether it can be the name of a gate.
pub(super) fn is_name(gate: &str) -> bool {
    (1..=Demand::LONGEST_NAME).contains(&gate.len()) && gate.bytes().all(|b| b.is_ascii_graphic())
}

/// A message with a value that cannot be true; its field is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the value of {} cannot be true", self.0)
    }
}

impl std::error::Error for Malformed {}
