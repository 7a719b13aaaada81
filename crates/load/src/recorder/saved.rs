//! Seconds with their histograms. Only a shard keeps them, for merging.

use tidegate_stats::Histogram;

use crate::result::interval::Interval;
use crate::result::shard::Second;

/// Room for histograms, in bytes as they are saved: about a day at ten thousand
/// answers a second.
const ROOM: usize = 512 << 20;

/// All seconds so far.
#[derive(Default)]
pub(super) struct SavedSeconds {
    all: Vec<Second>,
    bytes: usize,
}

impl SavedSeconds {
    pub(super) fn push(&mut self, interval: Interval, response: &Histogram) {
        let response = (self.bytes < ROOM).then(|| response.encode());
        self.bytes += response.as_ref().map_or(0, String::len);
        self.all.push(Second { interval, response });
    }

    pub(super) fn finish(self) -> Vec<Second> {
        self.all
    }
}
