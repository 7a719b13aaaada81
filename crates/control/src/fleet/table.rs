//! What the holder of the lease tells the gates.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::demand::is_name;
use super::{MOST_GATES, Malformed};

/// Lines of a table in one message.
pub const MOST_LINES: usize = 150;

/// How the service is divided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Revision of the lease under which it was made.
    pub epoch: u64,
    /// Number of the table in this epoch, from 1.
    pub sequence: u64,
    /// Gates of the fleet, those included that were lost within the last ten minutes.
    pub gates: u32,
    /// Requests per second that the service answers to all gates.
    pub requests_per_s: f64,
    /// The gates that are heard of. Shares are of the whole and add up to 1 or, in the first
    /// second of an epoch, to what these gates had before.
    pub shares: Vec<GateShare>,
}

/// One gate in a [`Table`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateShare {
    /// Name of the gate.
    pub gate: String,
    /// Its start.
    pub start: u64,
    /// Number of the last report of it that counts here.
    pub report: u64,
    /// Its share of the service, 0 to 1.
    pub share: f64,
    /// Requests per second that the service answers to it.
    pub requests_per_s: f64,
}

impl Table {
    /// The table in parts of at most [`MOST_LINES`]: that of hundreds of gates takes several messages.
    pub fn parts(&self) -> impl Iterator<Item = Self> {
        let lines = self.shares.chunks(MOST_LINES);
        lines.map(|lines| Self { shares: lines.to_vec(), ..*self })
    }

    /// The line of a gate, if it has one.
    pub fn line(&self, gate: &str) -> Option<&GateShare> {
        self.shares.iter().find(|line| line.gate == gate)
    }

    /// Whether it can be what a [`Divider`](super::Divider) makes.
    ///
    /// # Errors
    ///
    /// Which value cannot be true.
    pub fn check(&self) -> Result<(), Malformed> {
        let rate = |per_s: f64| (0.0..=1e12).contains(&per_s);
        let mut sum = 0.0;
        for line in &self.shares {
            if !is_name(&line.gate) {
                return Err(Malformed("gate"));
            }
            if !(0.0..=1.0).contains(&line.share) {
                return Err(Malformed("share"));
            }
            if !rate(line.requests_per_s) {
                return Err(Malformed("requests_per_s"));
            }
            sum += line.share;
        }
        if self.shares.len() > MOST_GATES || sum > 1.0 + 1e-6 {
            return Err(Malformed("shares"));
        }
        if !rate(self.requests_per_s) {
            return Err(Malformed("requests_per_s"));
        }
        let gates = self.gates as usize;
        if gates < self.shares.len() || gates == 0 || gates > 2 * MOST_GATES {
            return Err(Malformed("gates"));
        }
        Ok(())
    }
}

/// Why a gate did not take a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// It is of an older epoch, or not newer than the last of this epoch.
    Old,
    /// A value cannot be true.
    Malformed(Malformed),
    /// It has no line of this gate's start: the gate is not counted yet, or no longer.
    NotListed,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Old => f.write_str("the table is older than the one in use"),
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::NotListed => f.write_str("the table does not list this gate"),
        }
    }
}

impl std::error::Error for Stale {}
