//! Limits how often a line of the log is written.

use std::array;
use std::time::Duration;

/// The least time between two lines of a kind, and the time without an event after which
/// what the lines tell of is over.
pub const PERIOD: Duration = Duration::from_secs(60);

/// A line that is written at most once a minute, with how much `N` counters have grown since
/// the last one. Pure: time is an argument.
#[derive(Clone, Copy, Debug)]
pub struct Seldom<const N: usize = 1> {
    written: Option<Duration>,
    counts: [u64; N],
}

impl<const N: usize> Default for Seldom<N> {
    fn default() -> Self {
        Self { written: None, counts: [0; N] }
    }
}

impl<const N: usize> Seldom<N> {
    /// A line was written at this time, with the counters at these values.
    pub fn written(now: Duration, counts: [u64; N]) -> Self {
        Self { written: Some(now), counts }
    }

    /// How much the counters have grown since the last line, where one is due: it is written
    /// now. Call it with a time that never falls.
    pub fn due(&mut self, now: Duration, counts: [u64; N]) -> Option<[u64; N]> {
        if counts == self.counts || self.written.is_some_and(|at| now < at + PERIOD) {
            return None;
        }
        let more = array::from_fn(|n| counts[n] - self.counts[n]);
        *self = Self::written(now, counts);
        Some(more)
    }

    /// The time since the last line; zero before the first.
    pub fn since(&self, now: Duration) -> Duration {
        now - self.written.unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_written_at_once_and_the_others_once_a_minute() {
        let (mut seldom, mut total) = (Seldom::default(), 0);
        let mut count = |more, seconds| {
            total += more;
            seldom.due(Duration::from_secs(seconds), [total]).map(|[more]| more)
        };
        assert_eq!(count(0, 0), None);
        assert_eq!(count(1, 1), Some(1));
        assert_eq!((count(5, 2), count(7, 60)), (None, None));
        assert_eq!(count(0, 61), Some(12));
        assert_eq!(count(0, 200), None);
        assert_eq!(count(2, 201), Some(2));
    }
}
