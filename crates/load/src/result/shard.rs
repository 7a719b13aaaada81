//! The result of a shard, complete enough to be merged with the other shards.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidegate_stats::{CensoredHistogram, Encoded};

use super::arrival_entry::ArrivalEntry;
use super::driver::{AgentOf, DriverShard};
use super::interval::Interval;
use super::tally::Tally;
use crate::arrivals::Arrivals;
use crate::client::connections::Http;
use crate::plan::Plan;
use crate::plan::fingerprint::fingerprint;
use crate::plan::shard::Shard;
use crate::scenario::length::SessionLength;
use crate::scenario::thresholds::Threshold;

/// The measured figures of a shard.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShardResult {
    /// [`ShardResult::FORMAT`].
    pub(crate) format: u32,
    pub(crate) test: Test,
    pub(crate) driver: DriverShard,
    /// Length of the measured window.
    pub(crate) measured: Duration,
    pub(crate) tally: Tally,
    /// The run second by second, warm-up included.
    pub(crate) seconds: Vec<Second>,
}

/// A second with its histogram of response times.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Second {
    pub(crate) interval: Interval,
    /// Its response times; `None` beyond the space limit.
    pub(crate) times: Option<Encoded>,
}

/// What all shards of a test have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Test {
    /// Version of the program.
    pub(crate) version: String,
    /// Fingerprint of everything that determines what customers do, see [`fingerprint`].
    pub(crate) fingerprint: String,
    pub(crate) scenario: String,
    pub(crate) target: String,
    pub(crate) arrivals: String,
    /// The same in full. Shards of one test have the same fingerprint, so the first one's stands
    /// for all.
    #[serde(default)]
    pub(crate) arrival_entries: Vec<ArrivalEntry>,
    #[serde(default)]
    pub(crate) max_sessions: Option<u64>,
    pub(crate) seed: u64,
    pub(crate) started_at_unix_ms: u64,
    pub(crate) warm_up: Duration,
    pub(crate) measure: Duration,
    pub(crate) http2: bool,
    pub(crate) time_scale: f64,
    pub(crate) patience_scale: f64,
    pub(crate) patience_ms: f64,
    pub(crate) session_length: SessionLength,
    #[serde(default)]
    pub(crate) session_think_ms: f64,
    pub(crate) warnings: Vec<String>,
    pub(crate) full_share_asked: Option<f64>,
    pub(crate) thresholds: Vec<Threshold>,
}

/// Most seconds of a run, including a partial one.
const MOST_SECONDS: usize = Plan::LONGEST.as_secs() as usize + 1;
/// Larger than any count of a run. Sums of such counts over [`Shard::MOST`] shards fit
/// into a u64.
const MOST_COUNTED: u64 = 1 << 50;

impl ShardResult {
    /// Version of the format. Increased with every change, because shards of different
    /// formats cannot be added.
    pub const FORMAT: u32 = 5;

    /// The shard.
    pub fn shard(&self) -> Shard {
        self.driver.shard
    }

    /// Notes the agent that ran it.
    pub fn set_agent(&mut self, agent: AgentOf) {
        self.driver.agent = Some(agent);
    }

    /// Checks that it can be merged.
    ///
    /// # Errors
    /// A figure that no run can have.
    pub fn check(&self) -> Result<(), String> {
        if self.seconds.len() > MOST_SECONDS {
            return Err(format!("has {} seconds", self.seconds.len()));
        }
        let longest = Plan::LONGEST + Duration::from_secs(1);
        let times = self.seconds.iter().flat_map(|it| [it.interval.at, it.interval.length]);
        if times.chain([self.measured, self.test.warm_up]).any(|time| time > longest) {
            return Err("lasts longer than a day".to_owned());
        }
        if let Some(bad) = self.tally.stretches.iter().position(|it| {
            it.times().is_none_or(|times| times.count() > MOST_COUNTED)
                || !(0.0..=86_401.0).contains(&it.length_s)
        }) {
            return Err(format!("stretch {bad} is invalid"));
        }
        let seconds = self.seconds.iter().map(|it| it.interval.most()).max();
        let most = self.tally.most().max(seconds.unwrap_or_default());
        if most > MOST_COUNTED { Err(format!("counts {most}")) } else { Ok(()) }
    }
}

/// Decodes a histogram of plausible size.
pub(crate) fn histogram(times: &Encoded) -> Option<CensoredHistogram> {
    times.decode().filter(|times| times.count() <= MOST_COUNTED)
}

impl Test {
    /// The test of a plan.
    pub(crate) fn of(plan: &Plan, started_at_unix_ms: u64, arrivals: &Arrivals) -> Self {
        let rules = plan.scenario.session();
        let patience = rules.patience.mul_f64(plan.patience_factor());
        let parts = plan.scenario.definition();
        let think =
            |class: Option<&str>| parts.rules(class.and_then(|name| parts.class(name))).think;
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            fingerprint: plan.shard.map(|_| fingerprint(plan)).unwrap_or_default(),
            scenario: plan.scenario.name().to_owned(),
            target: plan.target.clone(),
            arrivals: arrivals.to_string(),
            arrival_entries: ArrivalEntry::all(arrivals, think),
            max_sessions: plan.max_sessions,
            seed: plan.seed,
            started_at_unix_ms,
            warm_up: plan.warm_up,
            measure: plan.measure,
            http2: plan.http == Http::Two,
            time_scale: plan.time_scale,
            patience_scale: plan.patience_scale,
            patience_ms: patience.as_secs_f64() * 1000.0,
            session_length: match arrivals.is_open() {
                true => SessionLength::ONE,
                false => plan.scenario.session_length(),
            },
            session_think_ms: match arrivals.is_open() {
                true => 0.0,
                false => plan.scenario.session_duration().as_secs_f64() * 1000.0,
            },
            warnings: plan.warnings(),
            full_share_asked: plan.full_share,
            thresholds: plan.scenario.thresholds().to_vec(),
        }
    }
}
