//! The queue discipline of those who wait for the budget: the gate's line and
//! the simulated one follow it alike.

use std::time::Duration;

use crate::Time;

/// How long a spell of turning people away must be to count as a lasting
/// overload, in hold times.
const LASTING: u32 = 2;
/// The share of the hold time that anybody waits then: long enough for the next
/// lull, too short to be felt.
const STANDING: u32 = 8;
/// Of the time that somebody has waited, the part that may be owed before her at the end
/// of the hold time.
const BEARABLE: f64 = 0.5;
/// So many wait for the whole hold time all the same: where few come, nobody
/// might stand in line when the next lull does.
const KEPT: usize = 4;
/// Time between two questions for those who wait: not so short that asking is
/// work, and not so long that a lull passes or a change of plan is missed.
const BETWEEN: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(10));

/// Who of those who wait goes in first, and how long anybody may wait.
///
/// The oldest first, and bursts pass. Under a lasting overload the oldest would
/// always be those whose time is nearly up: everybody who gets in would have
/// waited to the limit first, and no more of them would get in. So once people
/// have been turned away for a while, the newest goes in first, who has hardly
/// waited, and nobody waits for long.
///
/// Source: Maurer 2015, "Fail at Scale", ACM Queue 13(8): adaptive LIFO.
#[derive(Clone, Copy, Debug)]
pub struct Discipline {
    hold_time: Duration,
    /// The first and the last who were turned away without a pause as long as
    /// the hold time.
    spell: Option<(Time, Time)>,
}

impl Discipline {
    /// Nobody waits longer than that time.
    pub fn new(hold_time: Duration) -> Self {
        Self { hold_time, spell: None }
    }

    /// Somebody is turned away, at the door or after waiting, or has left before:
    /// where customers wait less long than they may, nobody else would tell.
    pub fn turn_away(&mut self, now: Time) {
        let spell = self.spell.filter(|(_, last)| now.saturating_sub(*last) < self.hold_time);
        self.spell = Some((spell.map_or(now, |(first, _)| first), now));
    }

    /// Whether the newest goes in first.
    pub fn newest_first(&self, now: Time) -> bool {
        self.spell.is_some_and(|(first, last)| {
            last.saturating_sub(first) > self.hold_time * LASTING
                && now.saturating_sub(last) < self.hold_time
        })
    }

    /// How long after a no it is worth asking for those who wait again, where the
    /// no said when it would be.
    pub fn ask_again_after(retry_after: Duration) -> Duration {
        retry_after.clamp(BETWEEN.0, BETWEEN.1)
    }

    /// How much work may lie before somebody who has waited so long and is let in outside
    /// a lull, as the time that processors take for it; without a limit where nobody is
    /// held. It grows with the square of the wait: lulls are waited for while there is
    /// time, and nobody is turned away for want of one.
    pub fn bearable(&self, waited: Duration) -> Duration {
        if self.hold_time.is_zero() {
            return Duration::MAX;
        }
        let share = waited.as_secs_f64() / self.hold_time.as_secs_f64();
        waited.mul_f64(BEARABLE * share.min(1.0))
    }

    /// The longest that the oldest of so many may wait, as things are now.
    pub fn longest_wait(&self, now: Time, waiting: usize) -> Duration {
        let short = waiting > KEPT && self.newest_first(now);
        if short { self.hold_time / STANDING } else { self.hold_time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_somebody_waits_the_more_may_lie_before_her() {
        // Half of an eighth of a second, of half a second, of one, and of what is over it.
        let discipline = Discipline::new(Duration::from_secs(1));
        let bearable = [0, 125, 500, 1000, 2000]
            .map(|ms| discipline.bearable(Duration::from_millis(ms)).as_secs_f64() * 1e3);
        assert_eq!(bearable, [0.0, 7.8125, 125.0, 500.0, 1000.0]);
        let nobody_is_held = Discipline::new(Duration::ZERO);
        assert_eq!(nobody_is_held.bearable(Duration::ZERO), Duration::MAX);
    }

    #[test]
    fn those_who_wait_are_asked_for_neither_at_once_nor_too_late() {
        let after = [0, 300, 4000, 60_000_000].map(Duration::from_micros);
        let expected = [1000, 1000, 4000, 10_000].map(Duration::from_micros);
        assert_eq!(after.map(Discipline::ask_again_after), expected);
    }
}
