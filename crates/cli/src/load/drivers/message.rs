//! Messages between the lead and its drivers: one line of JSON each, over standard input
//! and output of the driver. A driver stops at the end of its input, so no driver outlives
//! its lead.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tidegate_load::{CommonStart, Shard, ShardResult, Snapshot};

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
    /// The only files that it reads, in base64 by their path; `None` for those of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<BTreeMap<String, String>>,
    /// What the agent that starts it allows; `None` without an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

impl Job {
    /// A shard whose driver writes no files.
    pub fn new(shard: Shard, run: u32, cores: Vec<usize>) -> Self {
        Self { shard, run, cores, raw: None, parquet: None, files: None, limits: None }
    }
}

/// What an agent allows, whatever the test says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// The services that may be loaded, `HOST:PORT` each.
    pub allow: Vec<String>,
    /// Most open connections.
    pub most_connections: Option<usize>,
    /// Longest test, warm-up included.
    pub longest: Option<Duration>,
}

/// The second line to a driver: the common start.
#[derive(Debug, Serialize, Deserialize)]
pub struct Start {
    /// Nanoseconds since 1970.
    pub at_unix_ns: u64,
    /// The same instant by the clock of the driver, if it is another machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub here_unix_ns: Option<u64>,
}

impl Start {
    /// Of a driver whose clock is ahead by so many nanoseconds.
    pub fn by_clock(at: SystemTime, ahead_ns: i64) -> Self {
        let start = Self::from(at);
        let here_unix_ns = Some(start.at_unix_ns.saturating_add_signed(ahead_ns));
        Self { here_unix_ns, ..start }
    }
}

impl From<Start> for CommonStart {
    fn from(start: Start) -> Self {
        let time = |ns| UNIX_EPOCH + Duration::from_nanos(ns);
        let here = start.here_unix_ns.unwrap_or(start.at_unix_ns);
        Self { at: time(start.at_unix_ns), here: time(here) }
    }
}

impl From<SystemTime> for Start {
    fn from(at: SystemTime) -> Self {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        // Nanoseconds exceed 64 bits in the year 2554.
        let at_unix_ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        Self { at_unix_ns, here_unix_ns: None }
    }
}

/// A line from a driver.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The target answers and the driver waits for the start.
    Ready {
        /// Fingerprint of its plan.
        fingerprint: String,
    },
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
    /// An agent says how its driver ended, in words.
    Ended(String),
}
