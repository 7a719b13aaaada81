//! The header of a file: who traced, and on which clock.

use serde::{Deserialize, Serialize};
use std::fmt;
use tidegate_host::Machine;

/// What a process that traces is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The load generator: the customers' side.
    Load,
    /// The gate.
    Gate,
    /// The site behind it.
    Site,
}

impl Role {
    /// Every role, from the customer inwards.
    pub const ALL: [Self; 3] = [Self::Load, Self::Gate, Self::Site];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Gate => "gate",
            Self::Site => "site",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The header of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// What the process is.
    pub role: Role,
    /// Its number.
    pub pid: u32,
    /// The machine's name.
    pub host: String,
    /// The kernel's identifier of this boot: processes with the same one share the monotonic
    /// clock.
    pub boot: String,
    /// The machine.
    pub machine: Machine,
    /// Processors that the process may use, with the quota of its control group.
    pub processors: f64,
    /// The monotonic clock at the start, nanoseconds.
    pub started_ns: u64,
    /// The wall clock at the same time, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// CPU time is measured on every so manieth connection; 0: on none.
    pub cpu_every: u32,
    /// Milliseconds between two samples of resources.
    pub sample_ms: u32,
    /// The kernel reports pressure stall information.
    pub pressure: bool,
}
