//! Figures over time: points for plots, subwindows for confidence intervals.

use serde::{Deserialize, Serialize};
use tidegate_stats::{CensoredHistogram, Encoded, Percentiles};

/// Figures of a short interval, for charts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// End of the interval, since the start of the run.
    pub at_s: f64,
    /// Length of the interval.
    pub length_s: f64,
    /// Within the measured window.
    pub measured: bool,
    /// Sessions offered per second.
    pub offered_per_s: f64,
    /// Sessions admitted per second.
    pub admitted_per_s: f64,
    /// Sessions refused per second.
    pub refused_per_s: f64,
    /// Sessions completed per second.
    pub completed_per_s: f64,
    /// Sessions abandoned per second.
    pub abandoned_per_s: f64,
    /// Sessions failed per second.
    pub failed_per_s: f64,
    /// Requests answered per second.
    pub requests_per_s: f64,
    /// Full handshakes per second.
    pub full_handshakes_per_s: f64,
    /// Resumed handshakes per second.
    pub resumed_handshakes_per_s: f64,
    /// Sessions in flight at the end of the interval.
    pub in_flight: u64,
    /// Response time from intended start.
    pub response: Percentiles,
    /// CPU share of the busiest thread of the load generator.
    pub driver_cpu_share: f64,
    /// Missed starts.
    pub missed_starts: u64,
}

impl Point {
    /// The rates, which a mean or a sum is made of alike.
    pub fn rates_mut(&mut self) -> [&mut f64; 9] {
        [
            &mut self.offered_per_s,
            &mut self.admitted_per_s,
            &mut self.refused_per_s,
            &mut self.completed_per_s,
            &mut self.abandoned_per_s,
            &mut self.failed_per_s,
            &mut self.requests_per_s,
            &mut self.full_handshakes_per_s,
            &mut self.resumed_handshakes_per_s,
        ]
    }
}

/// Counts of one of the equal parts of the measured window, `stretches` in JSON. Confidence
/// intervals of the figures are computed from them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Subwindow {
    /// Length.
    pub length_s: f64,
    /// Sessions offered by the schedule.
    pub offered: u64,
    /// Sessions completed.
    pub completed: u64,
    /// Sessions refused.
    pub refused: u64,
    /// Sessions abandoned.
    pub abandoned: u64,
    /// Sessions that failed.
    pub failed: u64,
    /// Admitted sessions that ended by themselves.
    pub admitted_ended: u64,
    /// Requests answered completely with an allowed status.
    pub requests_ok: u64,
    /// Requests answered otherwise or not at all.
    pub requests_failed: u64,
    /// Full handshakes completed.
    pub full_handshakes: u64,
    /// Resumed handshakes.
    pub resumed_handshakes: u64,
    /// Response times from intended start, in microseconds: an HdrHistogram in V2 format,
    /// Base64.
    pub response: String,
    /// How long requests waited in vain for a response, in the same format; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<String>,
    /// How long requests had waited that were open at the end of the run, in the same format;
    /// absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<String>,
}

impl Subwindow {
    /// All counts.
    pub(crate) fn counts(&self) -> [u64; 10] {
        let mut counts = Self { response: String::new(), unanswered: None, open: None, ..*self };
        counts.counts_mut().map(|count| *count)
    }

    /// The response times; `None` if a histogram is invalid.
    pub fn times(&self) -> Option<CensoredHistogram> {
        let [open, lost] = [&self.open, &self.unanswered].map(|part| part.as_deref());
        CensoredHistogram::decode(&self.response, open, lost)
    }

    /// Adds the same stretch of another shard; `None` if a histogram is invalid.
    pub(crate) fn merge(&mut self, other: &Self) -> Option<()> {
        let mut response = self.times()?;
        response.merge(&other.times()?);
        let Encoded { exact, open, lost } = response.encode();
        (self.response, self.unanswered, self.open) = (exact, lost, open);
        self.length_s = self.length_s.max(other.length_s);
        let theirs = other.counts();
        self.counts_mut().into_iter().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        Some(())
    }

    /// All counts, in the same order.
    fn counts_mut(&mut self) -> [&mut u64; 10] {
        [
            &mut self.offered,
            &mut self.completed,
            &mut self.refused,
            &mut self.abandoned,
            &mut self.failed,
            &mut self.admitted_ended,
            &mut self.requests_ok,
            &mut self.requests_failed,
            &mut self.full_handshakes,
            &mut self.resumed_handshakes,
        ]
    }
}
