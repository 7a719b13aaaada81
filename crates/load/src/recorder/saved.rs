//! Seconds with their histograms. Only a shard keeps them, for merging.

use tidegate_stats::{CensoredHistogram, Encoded};

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
    pub(super) fn push(&mut self, interval: Interval, response: &CensoredHistogram) {
        let times = (self.bytes < ROOM).then(|| response.encode());
        if let Some(Encoded { exact, open, lost }) = &times {
            let bounds = open.iter().chain(lost).map(String::len).sum::<usize>();
            self.bytes += exact.len() + bounds;
        }
        self.all.push(Second { interval, times });
    }

    pub(super) fn finish(self) -> Vec<Second> {
        self.all
    }
}
