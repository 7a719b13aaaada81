//! The clocks that records of several processes of a machine share.
//!
//! Source: `clock_gettime(2)`.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The monotonic clock in nanoseconds: the same for all processes since the start of the machine.
/// No system call where the kernel provides the clock in user space.
#[inline]
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// The wall clock in nanoseconds since 1970; 0 for a clock set before that.
pub fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_advances_as_an_instant_does() {
        let (instant, before) = (std::time::Instant::now(), monotonic_ns());
        while instant.elapsed() < Duration::from_millis(2) {}
        let passed = monotonic_ns() - before;
        assert!(passed >= 1_900_000, "{passed}");
        assert!(unix_ns() > 1_700_000_000 * 1_000_000_000);
    }
}
