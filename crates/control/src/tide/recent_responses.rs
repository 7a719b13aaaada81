//! The responses of the last second or so, summed.

use serde::{Deserialize, Serialize};

use crate::number::sane;
use crate::reading::Reading;
use crate::tide::tuning::Tuning;

/// Recent responses, exponentially faded: number, sums of their times and of the
/// logarithms of their times in nanoseconds; and the same of abandoned waits.
///
/// An abandoned wait counts as a response of that length, a lower bound of what it would
/// have taken: where most customers lose patience first, the responses alone are a
/// biased sample, and where all do there are none. Abandoned waits shorter than the calm
/// response are ignored, so that clients that hang up at once do not look like an
/// upstream that has become faster.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RecentResponses {
    /// Time over which they are summed, and that over which they fade, in seconds.
    pub(crate) span_s: f64,
    pub(crate) memory_s: f64,
    pub(crate) count: f64,
    /// Responses to all gates, by the part that is this one's.
    #[serde(default)]
    all: f64,
    time_s: f64,
    time_ln: f64,
    given_up: f64,
    given_up_ln: f64,
}

impl RecentResponses {
    pub(crate) fn add(
        &mut self,
        reading: &Reading,
        interval_s: f64,
        calm: Option<ResponseTime>,
        tuning: &Tuning,
    ) {
        let waits_per_s = self.waits() / self.span_s.max(f64::MIN_POSITIVE);
        let memory_s = (tuning.latency_responses / waits_per_s)
            .clamp(tuning.latency_memory_s, tuning.latency_memory_max_s);
        let keep = (-interval_s / memory_s).exp();
        let count = reading.upstream_responses as f64;
        (self.span_s, self.memory_s) = (self.span_s * keep + interval_s, memory_s);
        self.count = self.count * keep + count;
        self.all = self.all * keep + count + reading.part.others;
        self.time_s = self.time_s * keep + sane(reading.upstream_time_s).min(count * 600.0);
        self.time_ln = self.time_ln * keep + sane(reading.upstream_time_ln).min(count * 40.0);
        let given_up = reading.upstream_given_up as f64;
        let given_up_ln = sane(reading.given_up_time_ln).min(given_up * 40.0);
        let least_ln = calm.map_or(0.0, |calm| (calm.typical_s * 1e9).ln());
        let counts = f64::from(u8::from(given_up_ln >= given_up * least_ln));
        self.given_up = self.given_up * keep + counts * given_up;
        self.given_up_ln = self.given_up_ln * keep + counts * given_up_ln;
    }

    /// Responses and abandoned waits.
    pub(crate) fn waits(&self) -> f64 {
        self.count + self.given_up
    }

    pub(crate) fn per_s(&self) -> f64 {
        if self.span_s > 0.0 { self.count / self.span_s } else { 0.0 }
    }

    /// Responses per second to all gates.
    pub(crate) fn whole_per_s(&self) -> f64 {
        if self.span_s > 0.0 { self.all / self.span_s } else { 0.0 }
    }

    /// Response times in seconds; `None`: too few for a mean.
    pub(crate) fn response(&self, tuning: &Tuning) -> Option<ResponseTime> {
        let typical_s = ((self.time_ln + self.given_up_ln) / self.waits()).exp() * 1e-9;
        (self.waits() >= tuning.latency_responses / 10.0).then(|| ResponseTime {
            typical_s,
            mean_s: if self.count > 0.0 { self.time_s / self.count } else { typical_s },
        })
    }
}

/// Response times: geometric and arithmetic mean, in seconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ResponseTime {
    pub(crate) typical_s: f64,
    pub(crate) mean_s: f64,
}
