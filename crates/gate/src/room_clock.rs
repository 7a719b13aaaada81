//! The waiting room's clock. Places are ordered by it and lapse by it, so it follows the system's
//! clock without being stepped by it: a machine that was suspended, or that starts before it knows
//! the time, is right again later, and nobody loses their place meanwhile.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tidegate_control::waiting_room::KEPT;

/// The most by which the clock is set in a tick of the control loop: a tenth of the tick, so that
/// customers who come when their pages say are still in time.
const MOST_MS: i64 = 10;

/// A clock that never goes back. Times are in milliseconds since 1970.
#[derive(Debug)]
pub struct RoomClock {
    /// The time at the gate's start, as it is known by now.
    started_ms: AtomicI64,
    latest_ms: AtomicU64,
    /// Until so long after the start, customers may hold places of the gate before.
    adopted_until_ms: AtomicU64,
}

impl RoomClock {
    /// The clock of a gate that starts at this time.
    pub fn new(started_ms: u64) -> Self {
        let started = i64::try_from(started_ms).unwrap_or(i64::MAX);
        Self {
            started_ms: AtomicI64::new(started),
            latest_ms: AtomicU64::new(started_ms),
            adopted_until_ms: AtomicU64::new(0),
        }
    }

    /// Goes on with the clock of the gate before, which shows this time. Those with a place there
    /// have not asked this one yet, so for as long as places are kept somebody waits.
    pub fn adopt(&self, now_ms: u64, since_start: Duration) {
        let passed = u64::try_from(since_start.as_millis()).unwrap_or(u64::MAX);
        let started = now_ms.cast_signed().saturating_sub_unsigned(passed);
        self.started_ms.store(started, Relaxed);
        self.latest_ms.store(now_ms, Relaxed);
        let kept = KEPT.as_millis() as u64;
        self.adopted_until_ms.store(passed.saturating_add(kept), Relaxed);
    }

    /// The time when so much has passed since the start.
    pub fn at(&self, since_start: Duration) -> u64 {
        let now = u64::try_from(self.raw(since_start)).unwrap_or(0);
        now.max(self.latest_ms.fetch_max(now, Relaxed))
    }

    /// Follows the system's clock, which shows this time. Call it at each tick of the control loop.
    /// Where nobody waits, no place can lapse, and it is set forward at once.
    pub fn follow(&self, system_ms: u64, since_start: Duration, nobody_waits: bool) {
        let system = i64::try_from(system_ms).unwrap_or(i64::MAX);
        let behind = system.saturating_sub(self.raw(since_start));
        let adopted_until = Duration::from_millis(self.adopted_until_ms.load(Relaxed));
        let nobody_waits = nobody_waits && since_start >= adopted_until;
        let most = if nobody_waits { i64::MAX } else { MOST_MS };
        self.started_ms.fetch_add(behind.clamp(-MOST_MS, most), Relaxed);
    }

    fn raw(&self, since_start: Duration) -> i64 {
        let passed = i64::try_from(since_start.as_millis()).unwrap_or(i64::MAX);
        self.started_ms.load(Relaxed).saturating_add(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::clock::TICK;

    const START: u64 = 1_700_000_000_000;
    const TEN_MINUTES: u64 = 600_000;

    /// The times that a clock shows at each tick, while the system's shows what it should after a
    /// step.
    fn shown(clock: &RoomClock, ticks: std::ops::Range<u32>, step_ms: i64, idle: bool) -> Vec<u64> {
        let at = |tick| {
            let since = TICK * tick;
            let system = (START + since.as_millis() as u64).saturating_add_signed(step_ms);
            clock.follow(system, since, idle);
            clock.at(since)
        };
        ticks.map(at).collect()
    }

    #[test]
    fn a_clock_that_was_stepped_is_followed_by_a_tenth_faster_or_slower_and_never_back() {
        for step in [TEN_MINUTES as i64, -(TEN_MINUTES as i64)] {
            let clock = RoomClock::new(START);
            // It shows the start until that has come again.
            shown(&clock, 0..1, step, false);
            let hour = shown(&clock, 1..36_000, step, false);
            let steps = hour.windows(2).map(|pair| pair[1] - pair[0]);
            assert!(steps.into_iter().all(|ms| (90..=110).contains(&ms)), "{step}");
            let right = shown(&clock, 36_000..61_000, step, false).pop().unwrap();
            assert_eq!(right, (START + 6_099_900).saturating_add_signed(step));
        }
    }

    #[test]
    fn the_next_gate_goes_on_with_it_for_as_long_as_places_are_kept() {
        for step in [TEN_MINUTES as i64, -(TEN_MINUTES as i64)] {
            // The system's clock was stepped before the gate started.
            let clock = RoomClock::new(START.saturating_add_signed(step));
            clock.adopt(START, Duration::ZERO);
            let kept = (KEPT.as_millis() / TICK.as_millis()) as u32;
            let shown = shown(&clock, 0..kept, step, true);
            assert!(shown[0].abs_diff(START) <= 10, "{step}: {}", shown[0]);
            let steps = shown[1..].windows(2).map(|pair| pair[1] - pair[0]);
            assert!(steps.into_iter().all(|ms| (90..=110).contains(&ms)), "{step}");
        }
    }

    #[test]
    fn while_nobody_waits_a_late_clock_is_set_at_once_and_an_early_one_never_goes_back() {
        let clock = RoomClock::new(START);
        let late = shown(&clock, 0..10, TEN_MINUTES as i64, true);
        assert_eq!(late[0], START + TEN_MINUTES);
        let early = shown(&clock, 10..100, 0, true);
        assert!(early[0] > late[9] && early.is_sorted(), "{early:?}");
    }
}
