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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_that_are_no_numbers_do_not_spoil_the_sum() {
        let mut durations = Durations::default();
        durations.record(f64::NAN);
        durations.record(-1.0);
        assert_eq!((durations.count(), durations.sum_s), (2, 0.0));
    }
}
