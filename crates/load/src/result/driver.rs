//! The state of the load generator itself.

use serde::{Deserialize, Serialize};
use tidegate_stats::Percentiles;

use crate::plan::shard::Shard;

/// The state of the load generator in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Driver {
    /// Number of threads.
    pub threads: usize,
    /// CPU time over time of the busiest thread; 1 is a whole processor.
    pub cpu_share: f64,
    /// CPU time of all threads.
    pub cpu_s: f64,
    /// CPU time of the thread that aggregates the figures, over the whole run.
    pub folding_cpu_s: f64,
    /// Delay of starts: from intended start to actual start.
    pub start_delay: Percentiles,
    /// Delay of the 20 ms heartbeat of each thread's event loop.
    pub loop_delay: Percentiles,
    /// Seconds for which the event loop of a thread was late by more than
    /// [`MISSED`](crate::result::saturation::MISSED); the largest of all threads.
    pub stalled_s: f64,
    /// The same as a share of the time.
    pub stalled_share: f64,
    /// Share of starts later than [`MISSED`](crate::result::saturation::MISSED).
    pub missed_share: f64,
    /// Events that were dropped: the figures are incomplete.
    pub events_lost: u64,
    /// Reasons why the load generator counts as saturated; empty if it does not.
    pub saturated_because: Vec<String>,
    /// Reasons to read the response times with care, because the delay of the load generator
    /// itself is a material share of them; empty if it is not.
    pub warned_because: Vec<String>,
}

/// The agent that ran a load generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentOf {
    /// Its name.
    pub name: String,
    /// How far its clock was ahead of the coordinator's, in milliseconds.
    pub clock_ahead_ms: f64,
    /// The offset is within this of `clock_ahead_ms`, in milliseconds.
    pub clock_error_ms: f64,
}

/// One of several load generators that shared a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriverShard {
    /// Its shard of the test.
    #[serde(rename = "part")]
    pub shard: Shard,
    /// The machine it ran on.
    pub machine: Machine,
    /// The agent that ran it; `None` without a fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentOf>,
    /// It was stopped early.
    #[serde(default)]
    pub interrupted: bool,
    /// Why one of its files of requests or seconds is incomplete.
    pub raw_error: Option<String>,
    /// Its state in the measured window.
    #[serde(flatten)]
    pub driver: Driver,
}

/// The machine of a load generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Processor model.
    pub cpu: String,
    /// Processors that this process may use.
    pub cpus: usize,
    /// Kernel release.
    pub kernel: String,
}
