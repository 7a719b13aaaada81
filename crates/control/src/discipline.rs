//! The discipline of the admission queue: order, longest wait and time between
//! decisions. The gate and the simulated gate use it alike.

use std::time::Duration;

use crate::Time;

/// Length of a period of refusals from which an overload counts as lasting, in hold times.
const LASTING: u32 = 2;
/// Then the share of the hold time that a session waits: long enough for the backlog to
/// fall below its limit, too short to be noticed.
const STANDING: u32 = 8;
/// Of the time that the oldest session has waited, the part that may be allowed as
/// backlog at the end of the hold time.
const ALLOWED: f64 = 0.5;
/// So many sessions wait for the whole hold time all the same: where few arrive, the
/// queue might be empty otherwise when the backlog falls below its limit.
const KEPT: usize = 4;
/// Time between two decisions for those who wait: not so short that deciding is work,
/// and not so long that a moment below the backlog limit or a change of plan is missed.
const BETWEEN: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(10));

/// Which queued session is decided on first, and how long a session may wait.
///
/// Usually the oldest comes first, and bursts pass. Under a lasting overload the oldest
/// is always one whose time is nearly over: every admitted session would have waited to
/// the limit, and no more would be admitted. So after refusals for a while the newest
/// comes first, which has hardly waited, and no session waits for long.
///
/// Source: Maurer 2015, "Fail at Scale", ACM Queue 13(8): adaptive LIFO.
#[derive(Clone, Copy, Debug)]
pub struct Discipline {
    hold_time: Duration,
    /// The first and the last refusal without a pause as long as the hold time.
    refusals: Option<(Time, Time)>,
}

impl Discipline {
    /// No session waits longer than `hold_time`.
    pub fn new(hold_time: Duration) -> Self {
        Self { hold_time, refusals: None }
    }

    /// A session is refused, at once or after waiting, or its customer has left before:
    /// where patience is shorter than the hold time, nothing else shows the overload.
    pub fn turn_away(&mut self, now: Time) {
        let refusals = self.refusals.filter(|(_, last)| now.saturating_sub(*last) < self.hold_time);
        self.refusals = Some((refusals.map_or(now, |(first, _)| first), now));
    }

    /// Whether the newest session comes first.
    pub fn newest_first(&self, now: Time) -> bool {
        self.refusals.is_some_and(|(first, last)| {
            last.saturating_sub(first) > self.hold_time * LASTING
                && now.saturating_sub(last) < self.hold_time
        })
    }

    /// How long after a negative decision with this hint another one is worthwhile.
    pub fn ask_again_after(retry_after: Duration) -> Duration {
        retry_after.clamp(BETWEEN.0, BETWEEN.1)
    }

    /// Backlog that is allowed above the backlog limit when the oldest session has waited
    /// so long, as the time that processors need for it; without a limit where sessions
    /// are not held. It grows with the square of the wait, so that sessions wait for the
    /// limit while there is time, and none is refused for it.
    pub fn allowed_backlog(&self, waited: Duration) -> Duration {
        if self.hold_time.is_zero() {
            return Duration::MAX;
        }
        let share = waited.as_secs_f64() / self.hold_time.as_secs_f64();
        waited.mul_f64(ALLOWED * share.min(1.0))
    }

    /// How long the oldest of `waiting` sessions may wait at present.
    pub fn longest_wait(&self, now: Time, waiting: usize) -> Duration {
        let short = waiting > KEPT && self.newest_first(now);
        if short { self.hold_time / STANDING } else { self.hold_time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allowed_backlog_grows_with_the_square_of_the_wait() {
        // Half of an eighth of a second, of half a second, of one, and of what is over it.
        let discipline = Discipline::new(Duration::from_secs(1));
        let allowed = [0, 125, 500, 1000, 2000]
            .map(|ms| discipline.allowed_backlog(Duration::from_millis(ms)).as_secs_f64() * 1e3);
        assert_eq!(allowed, [0.0, 7.8125, 125.0, 500.0, 1000.0]);
        let without_queue = Discipline::new(Duration::ZERO);
        assert_eq!(without_queue.allowed_backlog(Duration::ZERO), Duration::MAX);
    }

    #[test]
    fn decisions_are_repeated_after_one_to_ten_milliseconds() {
        let after = [0, 300, 4000, 60_000_000].map(Duration::from_micros);
        let expected = [1000, 1000, 4000, 10_000].map(Duration::from_micros);
        assert_eq!(after.map(Discipline::ask_again_after), expected);
    }
}
