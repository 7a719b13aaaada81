//! How far the clock of an agent is ahead of the coordinator's.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An instant by both clocks of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Since some instant of this process, by a clock that is never set.
    pub at: Duration,
    /// Nanoseconds since 1970.
    pub wall_ns: u64,
}

/// The newest packet of the other side, as it is told to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Echo {
    /// When it was sent, by the clock of the other side.
    pub sent_ns: u64,
    /// When it came, by the clock of this side.
    pub received_ns: u64,
}

/// A measured difference of two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// How far the other clock is ahead, in nanoseconds.
    pub ahead_ns: i64,
    /// The offset is within this of `ahead_ns`, in nanoseconds.
    pub error_ns: u64,
}

/// The offset by the round trip with the smallest delay.
///
/// Source: RFC 5905, section 8 (offset and delay) and section 10 (the sample of the smallest
/// delay). Deviation: the clocks' drift within a test is neglected.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClockFilter(Option<ClockOffset>);

impl ClockFilter {
    /// Adds a round trip: `echo` of our packet in one that was sent at `replied_ns` of the other
    /// clock and came at `now_ns` of ours. The offset is `((T2 − T1) + (T3 − T4)) / 2`, the delay
    /// `(T4 − T1) − (T3 − T2)`, and the error half of the delay.
    pub fn add(&mut self, echo: Echo, replied_ns: u64, now_ns: u64) {
        let [t1, t2, t3, t4] = [echo.sent_ns, echo.received_ns, replied_ns, now_ns].map(i128::from);
        let (delay, ahead) = ((t4 - t1) - (t3 - t2), ((t2 - t1) + (t3 - t4)) / 2);
        // A clock that was set in between gives no delay at all.
        let (Ok(delay), Ok(ahead_ns)) = (u64::try_from(delay), i64::try_from(ahead)) else {
            return;
        };
        let error_ns = delay.div_ceil(2);
        if self.0.is_none_or(|best| error_ns < best.error_ns) {
            self.0 = Some(ClockOffset { ahead_ns, error_ns });
        }
    }

    /// The offset; `None` before the first round trip.
    pub fn offset(&self) -> Option<ClockOffset> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_that_of_the_round_trip_with_the_smallest_delay() {
        let mut filter = ClockFilter::default();
        // The other clock is 1000 ahead. Ways of 40 and 10: off by 15, within 25.
        filter.add(Echo { sent_ns: 100, received_ns: 1140 }, 1150, 160);
        assert_eq!(filter.offset(), Some(ClockOffset { ahead_ns: 1015, error_ns: 25 }));
        // Ways of 5 and 6: off by 1, within 6. It waited for 500 in between.
        filter.add(Echo { sent_ns: 200, received_ns: 1205 }, 1705, 711);
        assert_eq!(filter.offset(), Some(ClockOffset { ahead_ns: 999, error_ns: 6 }));
        filter.add(Echo { sent_ns: 800, received_ns: 1900 }, 1901, 1001);
        assert_eq!(filter.offset().unwrap().error_ns, 6);
    }

    #[test]
    fn a_clock_that_was_set_within_a_round_trip_changes_nothing() {
        let mut filter = ClockFilter::default();
        filter.add(Echo { sent_ns: 100, received_ns: 50 }, u64::MAX, 110);
        assert_eq!(filter.offset(), None);
    }
}
