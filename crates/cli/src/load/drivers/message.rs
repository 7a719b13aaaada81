//! Messages between the lead and its drivers: one line of JSON each, over standard input
//! and output of the driver. A driver stops at the end of its input, so no driver outlives
//! its lead.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tidegate_load::{Shard, ShardResult, Snapshot};

/// Environment variable that is set for driver processes.
pub const DRIVER: &str = "TIDEGATE_LOAD_DRIVER";
/// The first line to a driver.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    /// Its shard of the test.
    pub shard: Shard,
    /// Number of the run among those of `--repeat`, from 1.
    pub run: u32,
    /// Processors of its threads; empty for one thread that is not pinned.
    pub cores: Vec<usize>,
    /// File of its requests as JSON lines; replaces the flag.
    pub raw: Option<PathBuf>,
    /// File of its requests as Parquet; replaces the flag.
    pub parquet: Option<PathBuf>,
}

/// The second line to a driver: the common start.
#[derive(Debug, Serialize, Deserialize)]
pub struct Start {
    /// Nanoseconds since 1970.
    pub at_unix_ns: u64,
}

impl From<SystemTime> for Start {
    fn from(at: SystemTime) -> Self {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        // Nanoseconds exceed 64 bits in the year 2554.
        Self { at_unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX) }
    }
}

/// A line from a driver.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The target answers and the driver waits for the start.
    Ready,
    /// The state of the run.
    Snapshot(Box<Snapshot>),
    /// The result.
    Done(Box<ShardResult>),
    /// The driver cannot continue.
    Failed {
        /// Reason.
        message: String,
        /// 2 for bad input, 3 for a failed run.
        exit_code: u8,
    },
}
