//! The distribution of request durations, in fixed buckets.

use crate::telemetry::labels::Key;
use serde::Serialize;

/// Upper bounds of the buckets of `tidegate_request_duration_seconds`, in
/// seconds, ascending; one more bucket has what is above the last.
pub const DURATION_BOUNDS_S: [f64; 16] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

/// A bucket of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurationBucket(usize);

impl DurationBucket {
    /// How many there are.
    pub const COUNT: usize = DURATION_BOUNDS_S.len() + 1;

    /// The bucket of a duration in seconds. NaN goes to the last.
    pub fn of(seconds: f64) -> Self {
        let above = DURATION_BOUNDS_S.len();
        Self(DURATION_BOUNDS_S.iter().position(|bound| seconds <= *bound).unwrap_or(above))
    }
}

impl Key for DurationBucket {
    #[inline]
    fn place(self) -> usize {
        self.0
    }
}

/// Durations of requests, from the last byte of the head read to the last byte
/// of the response handed to the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Durations {
    /// Requests per bucket, each in one only (not cumulative): bucket `i` has
    /// durations up to and including `DURATION_BOUNDS_S[i]` and above the
    /// bound before; the last has the rest.
    pub buckets: [u64; DurationBucket::COUNT],
    /// Sum of all durations, in seconds.
    pub sum_s: f64,
}

impl Durations {
    /// Counts one duration, in seconds.
    pub fn record(&mut self, seconds: f64) {
        self.buckets[DurationBucket::of(seconds).0] += 1;
        self.sum_s += if seconds.is_finite() { seconds.max(0.0) } else { 0.0 };
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

/// The duration in seconds that this share of the requests in these buckets did not exceed, by
/// linear interpolation within its bucket; `None` without requests. Of the last bucket, which has
/// no end, it is the begin.
///
/// Source: `histogram_quantile` of Prometheus.
pub fn quantile(buckets: &[u64; DurationBucket::COUNT], share: f64) -> Option<f64> {
    let all: u64 = buckets.iter().sum();
    let rank = share * all as f64;
    let (mut below, mut from) = (0.0, 0.0);
    for (at, count) in buckets.iter().map(|count| *count as f64).enumerate() {
        let Some(to) = DURATION_BOUNDS_S.get(at) else { break };
        if count > 0.0 && below + count >= rank {
            return Some(from + (to - from) * ((rank - below) / count).clamp(0.0, 1.0));
        }
        (below, from) = (below + count, *to);
    }
    (all > 0).then_some(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_interpolated_within_its_bucket() {
        let mut buckets = [0; DurationBucket::COUNT];
        assert_eq!(quantile(&buckets, 0.5), None);
        // Up to 5 ms 10 requests; above that and up to 10 ms 80; up to 25 ms 10.
        (buckets[2], buckets[3], buckets[4]) = (10, 80, 10);
        let ms = |share| quantile(&buckets, share).map(|s| (s * 1e4).round() / 10.0);
        // 5 + 5 × 40 / 80; at its bucket's end; 10 + 15 × 5 / 10; 2.5 + 2.5 × 5 / 10.
        assert_eq!([0.5, 0.9, 0.95, 0.05].map(ms), [7.5, 10.0, 17.5, 3.8].map(Some));
        let mut slow = [0; DurationBucket::COUNT];
        slow[DurationBucket::COUNT - 1] = 1;
        assert_eq!(quantile(&slow, 0.5), Some(300.0), "longer than the last bound");
    }

    #[test]
    fn durations_that_are_no_numbers_do_not_spoil_the_sum() {
        let mut durations = Durations::default();
        durations.record(f64::NAN);
        durations.record(-1.0);
        assert_eq!((durations.count(), durations.sum_s), (2, 0.0));
    }
}
