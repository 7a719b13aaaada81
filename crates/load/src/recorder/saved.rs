//! Seconds with their histograms, which only a part of a test keeps: they are
//! merged with those of the other parts.

use tidegate_stats::Latency;

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
    pub(super) fn push(&mut self, interval: Interval, response: &Latency) {
        let response = (self.bytes < ROOM).then(|| response.encode());
        self.bytes += response.as_ref().map_or(0, String::len);
        self.all.push(Second { interval, response });
    }

    pub(super) fn finish(self) -> Vec<Second> {
        self.all
    }
}
