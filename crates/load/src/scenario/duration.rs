//! Sessions that end by time: at the first move to a given page after a drawn duration.
//!
//! Source: TPC-W 1.8, clauses 6.1 and 6.2, the User Session Minimum Duration.

use std::time::Duration;

use rand::SeedableRng;

use super::walk::{Step, exponential};
use crate::rng::Rng;

/// Modifier of a session's seed for its duration, so that all other draws are the same with
/// and without a duration.
const DRAW: u64 = 0x94D0_49BB_1331_11EB;

/// The minimum duration of sessions, and the page at which they end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinimumDuration {
    /// Mean of the negative exponential duration.
    pub mean: Duration,
    /// No duration is longer than this many times its mean.
    pub cap: f64,
    /// A session ends in place of the first move to this page after it.
    pub end_at: u16,
}

impl MinimumDuration {
    /// Whether the session of this seed ends in place of this step, `after` its begin; all
    /// durations are multiplied by `scale`.
    pub(crate) fn ends(&self, step: Step, after: Duration, scale: f64, seed: u64) -> bool {
        step == Step::Visit(self.end_at) && after >= self.of(seed).mul_f64(scale)
    }

    /// The minimum duration of the session of this seed.
    pub(super) fn of(&self, seed: u64) -> Duration {
        self.mean.mul_f64(exponential(self.cap, &mut Rng::seed_from_u64(seed ^ DRAW)))
    }
}
