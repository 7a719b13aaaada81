//! The discipline of the admission queue: order, longest wait and time between
//! decisions. The gate and the simulated gate use it alike.

use std::time::Duration;

use crate::Time;
use crate::hang_ups::HangUps;

/// The part of the hold time that bursts explain: a queue is long when its oldest session has
/// waited for longer, and stands when it has been long for as long again.
const BURST: u32 = 8;
/// Length of a period in which sessions were turned away without a pause from which an
/// overload counts as lasting, in hold times.
const LASTING: u32 = 2;
/// Of the time that the oldest session has waited, the part that may be allowed as
/// backlog at the end of the hold time.
const ALLOWED: f64 = 0.5;
/// The least part of the hold time that hang-ups can shorten it to: those who open
/// connections only to close them must not take the queue from the others.
const LEAST: u32 = 16;
/// Time between two decisions for those who wait: not so short that deciding is work,
/// and not so long that a moment below the backlog limit or a change of plan is missed.
const BETWEEN: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(10));

/// Which queued session is decided on first, and how long a session may wait.
///
/// Usually the oldest comes first, and bursts pass. In a queue that stands the oldest has
/// always waited as long as the queue allows, every admitted session with it, and no more
/// are admitted for it. So there the newest comes first, which has hardly waited. The others
/// are admitted when fewer come, and otherwise refused: after the hold time, or, once the
/// overload lasts, after a small part of it.
///
/// Nobody waits to an age at which customers hang up.
///
/// Source: Maurer 2015, "Fail at Scale", ACM Queue 13(8): adaptive LIFO. Nichols and
/// Jacobson 2012, "Controlling Queue Delay", ACM Queue 10(5): a queue stands if its
/// least delay over an interval is above a target.
#[derive(Clone, Debug)]
pub struct Discipline {
    hold_time: Duration,
    /// Since when the queue has been long.
    long_since: Option<Time>,
    /// When it stood last.
    stood_at: Option<Time>,
    /// The first and the last session turned away without a pause as long as the hold time.
    turned_away: Option<(Time, Time)>,
    hang_ups: HangUps,
}

impl Discipline {
    /// A queue of no more sessions never stands: it is worked off before anybody has waited
    /// long, and without it processors would be idle whenever the backlog falls below its limit.
    pub const FEW: usize = 20;

    /// No session waits longer than `hold_time`.
    pub fn new(hold_time: Duration) -> Self {
        Self {
            hold_time,
            long_since: None,
            stood_at: None,
            turned_away: None,
            hang_ups: HangUps::new(),
        }
    }

    /// So many sessions wait, the oldest for so long. To be called whenever the queue was
    /// decided on.
    pub fn waits(&mut self, now: Time, waiting: usize, oldest: Duration) {
        if waiting <= Self::FEW || oldest < self.burst() {
            self.long_since = None;
            return;
        }
        let since = *self.long_since.get_or_insert(now);
        if now.saturating_sub(since) >= self.burst() {
            self.stood_at = Some(now);
        }
    }

    /// A session is admitted.
    pub fn admits(&mut self, now: Time) {
        self.hang_ups.stayed(now);
    }

    /// A session is refused, at once or after waiting.
    pub fn refuses(&mut self, now: Time) {
        self.turns_away(now);
        self.hang_ups.stayed(now);
    }

    /// A customer hung up after so long in the queue. Where patience is shorter than the hold
    /// time, nothing else shows the overload.
    pub fn hangs_up(&mut self, now: Time, age: Duration) {
        self.turns_away(now);
        self.hang_ups.hung_up(now, age);
    }

    fn turns_away(&mut self, now: Time) {
        let before =
            self.turned_away.filter(|(_, last)| now.saturating_sub(*last) < self.hold_time);
        self.turned_away = Some((before.map_or(now, |(first, _)| first), now));
    }

    /// Whether the newest session comes first.
    pub fn newest_first(&self, now: Time) -> bool {
        self.stood_at.is_some_and(|at| now.saturating_sub(at) < self.hold_time)
            || self.overload_lasts(now)
    }

    fn overload_lasts(&self, now: Time) -> bool {
        self.turned_away.is_some_and(|(first, last)| {
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
    /// limit while there is time, and none is refused for it. Where the newest comes first,
    /// only the wait that a burst explains counts.
    pub fn allowed_backlog(&self, now: Time, waited: Duration) -> Duration {
        if self.hold_time.is_zero() {
            return Duration::MAX;
        }
        let waited = if self.newest_first(now) { waited.min(self.burst()) } else { waited };
        let share = waited.as_secs_f64() / self.hold_time.as_secs_f64();
        waited.mul_f64(ALLOWED * share.min(1.0))
    }

    /// How long the oldest of `waiting` sessions may wait at present.
    pub fn longest_wait(&self, now: Time, waiting: usize) -> Duration {
        let short = waiting > Self::FEW && self.overload_lasts(now);
        let longest = if short { self.burst() } else { self.hold_time };
        longest.min(self.hang_ups.bound().max(self.hold_time / LEAST))
    }

    fn burst(&self) -> Duration {
        self.hold_time / BURST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Duration = Duration::from_secs(2);

    fn at_ms(ms: u64) -> Time {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_allowed_backlog_grows_with_the_square_of_the_wait() {
        // Half of an eighth of a second, of half a second, of one, and of what is over it.
        let discipline = Discipline::new(Duration::from_secs(1));
        let allowed = [0, 125, 500, 1000, 2000]
            .map(|ms| discipline.allowed_backlog(Time::ZERO, at_ms(ms)).as_secs_f64() * 1e3);
        assert_eq!(allowed, [0.0, 7.8125, 125.0, 500.0, 1000.0]);
        let without_queue = Discipline::new(Duration::ZERO);
        assert_eq!(without_queue.allowed_backlog(Time::ZERO, Duration::ZERO), Duration::MAX);
    }

    #[test]
    fn the_newest_comes_first_once_a_queue_is_long_for_an_eighth_of_the_hold_time() {
        let mut discipline = Discipline::new(HOLD);
        discipline.waits(at_ms(1000), 40, at_ms(249));
        assert!(!discipline.newest_first(at_ms(1000)));
        discipline.waits(at_ms(1100), 40, at_ms(250));
        assert!(!discipline.newest_first(at_ms(1100)), "a burst may pass");
        discipline.waits(at_ms(1350), 40, at_ms(300));
        assert!(discipline.newest_first(at_ms(1350)));
        // The oldest waits on, and counts no longer.
        let allowed = |waited| discipline.allowed_backlog(at_ms(1350), at_ms(waited));
        assert_eq!(allowed(1900), allowed(250));
        // It has passed, and is forgotten after a hold time.
        discipline.waits(at_ms(1400), 0, Duration::ZERO);
        assert!(discipline.newest_first(at_ms(3349)) && !discipline.newest_first(at_ms(3350)));
    }

    #[test]
    fn a_burst_and_a_few_sessions_make_no_standing_queue() {
        let mut discipline = Discipline::new(HOLD);
        for (now, waiting, oldest) in
            [(0, 40, 300), (240, 40, 540), (249, 40, 200), (260, 40, 300), (500, 40, 540)]
        {
            discipline.waits(at_ms(now), waiting, at_ms(oldest));
        }
        assert!(!discipline.newest_first(at_ms(500)), "it was short in between");
        let mut few = Discipline::new(HOLD);
        (0..20).for_each(|n| few.waits(at_ms(100 * n), 20, at_ms(1000)));
        assert!(!few.newest_first(at_ms(2000)));
    }

    #[test]
    fn a_lasting_overload_leaves_a_long_queue_an_eighth_of_the_hold_time() {
        let mut discipline = Discipline::new(HOLD);
        (0..=4).for_each(|second| discipline.refuses(at_ms(1000 * second)));
        assert_eq!(discipline.longest_wait(at_ms(4000), 21), HOLD, "4 s are two hold times");
        discipline.hangs_up(at_ms(4100), at_ms(1000));
        assert!(discipline.newest_first(at_ms(4100)));
        assert_eq!(discipline.longest_wait(at_ms(4100), 21), HOLD / 8);
        assert_eq!(discipline.longest_wait(at_ms(4100), 20), HOLD);
        assert_eq!(discipline.longest_wait(at_ms(6100), 21), HOLD, "no refusal for a hold time");
        discipline.refuses(at_ms(6200));
        assert!(!discipline.newest_first(at_ms(6200)), "a single refusal is no lasting overload");
    }

    #[test]
    fn nobody_waits_to_an_age_at_which_customers_hang_up() {
        let mut discipline = Discipline::new(HOLD);
        (0..3).for_each(|n| discipline.hangs_up(at_ms(200 * n), at_ms(1000)));
        let longest = discipline.longest_wait(at_ms(500), 1);
        assert!((at_ms(800)..at_ms(1000)).contains(&longest), "{longest:?}");
        // Connections that are closed at once leave the others a sixteenth.
        (3..30).for_each(|n| discipline.hangs_up(at_ms(200 * n), at_ms(0)));
        assert_eq!(discipline.longest_wait(at_ms(6000), 1), HOLD / 16);
    }

    #[test]
    fn decisions_are_repeated_after_one_to_ten_milliseconds() {
        let after = [0, 300, 4000, 60_000_000].map(Duration::from_micros);
        let expected = [1000, 1000, 4000, 10_000].map(Duration::from_micros);
        assert_eq!(after.map(Discipline::ask_again_after), expected);
    }
}
