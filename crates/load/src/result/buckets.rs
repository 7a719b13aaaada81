//! Response times in the fixed buckets of exporters.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Upper bounds of the buckets in seconds, ascending. One more bucket holds larger values.
pub const BOUNDS_S: [f64; 16] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

/// Response times since the start of the run, by bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Buckets {
    /// Counts, not cumulative: bucket `i` includes `BOUNDS_S[i]`.
    pub counts: [u64; BOUNDS_S.len() + 1],
    /// Sum of all response times.
    pub sum: Duration,
}

impl Buckets {
    pub(crate) fn record(&mut self, response: Duration) {
        let seconds = response.as_secs_f64();
        self.counts[BOUNDS_S.partition_point(|bound| *bound < seconds)] += 1;
        self.sum = self.sum.saturating_add(response);
    }

    /// Adds the counts of another shard.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.sum = self.sum.saturating_add(other.sum);
    }
}
