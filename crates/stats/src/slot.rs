//! Which of a histogram's counts a duration belongs to.
//!
//! Source: Tene, HdrHistogram, the layout of its counts for three digits: every
//! microsecond of the first 2048 has its own, from there every power of two has 1024.

use std::time::Duration;

/// Powers of two of the values that have a count of their own each, and of those that one
/// power of two has after that.
const FIRST: u32 = 11;
const EACH: u32 = FIRST - 1;

/// The shortest and the longest duration, in microseconds.
const SHORTEST: u64 = 1;
const LONGEST: u64 = 3_600_000_000;

/// A duration to the resolution of a [`Latency`](crate::Latency): worked out once for
/// all histograms that record it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(u16);

impl Slot {
    /// How many there are.
    pub(crate) const COUNT: usize = Self::of_micros(LONGEST).0 as usize + 1;

    /// That of some microseconds; clamped as in a [`Latency`](crate::Latency).
    #[inline]
    pub(crate) const fn of_micros(micros: u64) -> Self {
        let micros = match micros {
            0 => SHORTEST,
            SHORTEST..LONGEST => micros,
            _ => LONGEST,
        };
        let shift = (micros | ((1 << FIRST) - 1)).ilog2() - EACH;
        // The longest is in that of 23 220.
        Self(((shift << EACH) as u64 + (micros >> shift)) as u16)
    }

    /// That of an index below [`Slot::COUNT`].
    pub(crate) fn at(index: usize) -> Self {
        debug_assert!(index < Self::COUNT);
        Self(index as u16)
    }

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The shortest duration that belongs here, in microseconds.
    pub(crate) fn least(self) -> u64 {
        (u64::from(self.0) - (u64::from(self.shift()) << EACH)) << self.shift()
    }

    /// The longest.
    pub(crate) fn most(self) -> u64 {
        self.least() + (1 << self.shift()) - 1
    }

    /// The one in the middle, the later of two.
    pub(crate) fn middle(self) -> u64 {
        self.least() + ((1 << self.shift()) >> 1)
    }

    fn shift(self) -> u32 {
        u32::from(self.0 >> EACH).saturating_sub(1)
    }
}

impl From<Duration> for Slot {
    /// That of a duration rounded to the nearest microsecond.
    #[inline]
    fn from(duration: Duration) -> Self {
        // In 64 bits, since 128 take far longer to divide; what does not fit is longer
        // than the longest.
        let whole = duration.as_secs().saturating_mul(1_000_000);
        let rest = (u64::from(duration.subsec_nanos()) + 500) / 1000;
        Self::of_micros(whole.saturating_add(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_follow_each_other_without_a_gap_up_to_an_hour() {
        let mut next = 0;
        for index in 0..Slot::COUNT {
            let slot = Slot::at(index);
            assert_eq!(slot.least(), next);
            let width = slot.most() - slot.least() + 1;
            assert!(width == 1 || width * 1000 < slot.least(), "a thousandth at most");
            assert_eq!(slot.middle(), slot.least() + width / 2);
            next = slot.most() + 1;
            for micros in [slot.least().max(1), slot.middle().max(1), slot.most().max(1)] {
                assert_eq!(Slot::of_micros(micros).index(), index.max(1));
            }
        }
        assert!(next > LONGEST);
    }

    #[test]
    fn durations_are_rounded_and_clamped() {
        let least = |nanos| Slot::from(Duration::from_nanos(nanos)).least();
        assert_eq!([0, 400, 1499, 1500, 999_499, 999_500].map(least), [1, 1, 1, 2, 999, 1000]);
        assert_eq!(least(2_049_400), 2048);
        assert_eq!(Slot::from(Duration::MAX), Slot::from(Duration::from_secs(3600)));
    }
}
