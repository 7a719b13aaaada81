//! Newcomers before their handshake: per core a line, bounded in number, bytes
//! and time. Whoever is let in at once leaves it in the same turn of the event
//! loop; the others wait for the next budget.
//!
//! Who waits has neither a task nor a place in the runtime. Most of those who
//! wait under a lasting overload do so in vain, and must not cost more than a
//! refusal.

use crate::telemetry::counters::Counters;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_control::Discipline;

/// The line of one core.
pub struct Line<T> {
    /// The oldest in front.
    places: RefCell<VecDeque<Place<T>>>,
    /// How many of the newest nobody has asked for yet.
    fresh: Cell<usize>,
    bytes: Cell<usize>,
    most: usize,
    most_bytes: usize,
    most_time: Duration,
    discipline: Cell<Discipline>,
    /// From when the discipline counts its time.
    origin: Instant,
    counters: Arc<Counters>,
}

struct Place<T> {
    who: T,
    bytes: usize,
    since: Instant,
}

impl<T> Line<T> {
    /// An empty line for at most so many connections with so many bytes, who
    /// each wait no longer than that time.
    pub fn new(
        most: usize,
        most_bytes: usize,
        most_time: Duration,
        counters: Arc<Counters>,
    ) -> Self {
        let (places, discipline) = (RefCell::default(), Cell::new(Discipline::new(most_time)));
        let (fresh, bytes, origin) = (Cell::new(0), Cell::new(0), Instant::now());
        Self { places, fresh, bytes, most, most_bytes, most_time, discipline, origin, counters }
    }

    /// Takes the last place in the line, with so many bytes.
    pub fn join(&self, who: T, bytes: usize, now: Instant) {
        self.places.borrow_mut().push_back(Place { who, bytes, since: now });
        self.fresh.set(self.fresh.get() + 1);
        self.bytes.set(self.bytes.get() + bytes);
        self.counters.holding[0].add(1);
        self.counters.holding_bytes[0].add(bytes as u64);
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.places.borrow().is_empty()
    }

    /// Whether more wait than may.
    pub fn is_over(&self) -> bool {
        let waiting = self.places.borrow().len();
        waiting > self.most
            || self.bytes.get() > self.most_bytes
            || (waiting > 0 && self.most_time.is_zero())
    }

    /// From now on everybody counts as asked for. How many did not before.
    pub fn settle(&self) -> usize {
        self.fresh.take()
    }

    /// Somebody is turned away, at the door or after waiting.
    pub fn turn_away(&self, now: Instant) {
        let mut discipline = self.discipline.get();
        discipline.turn_away(now - self.origin);
        self.discipline.set(discipline);
    }

    /// Whether the newest goes in first.
    pub fn newest_first(&self, now: Instant) -> bool {
        self.discipline.get().newest_first(now - self.origin)
    }

    /// Looks at whose turn it is, and whether nobody has asked for her yet.
    pub fn look<R>(&self, now: Instant, at: impl FnOnce(&T, bool) -> R) -> Option<R> {
        let (places, fresh) = (self.places.borrow(), self.fresh.get());
        if self.newest_first(now) {
            places.back().map(|place| at(&place.who, fresh > 0))
        } else {
            places.front().map(|place| at(&place.who, fresh == places.len()))
        }
    }

    /// Whose turn it is leaves the line.
    pub fn take(&self, now: Instant) -> Option<T> {
        if self.newest_first(now) {
            let newest = self.places.borrow_mut().pop_back()?;
            self.fresh.set(self.fresh.get().saturating_sub(1));
            Some(self.leave(newest, now))
        } else {
            self.take_oldest(now).map(|(who, _)| who)
        }
    }

    /// Who has waited longest leaves the line. Says whether nobody has asked
    /// for her yet.
    pub fn take_oldest(&self, now: Instant) -> Option<(T, bool)> {
        let mut places = self.places.borrow_mut();
        let fresh = self.fresh.get() == places.len();
        let oldest = places.pop_front()?;
        if fresh {
            self.fresh.set(places.len());
        }
        Some((self.leave(oldest, now), fresh))
    }

    /// How much work may lie before whoever is let in outside a lull, by who has waited
    /// longest.
    pub fn allowed_backlog(&self, now: Instant) -> Duration {
        let places = self.places.borrow();
        let since = places.front().map_or(now, |place| place.since);
        self.discipline.get().allowed_backlog(now.saturating_duration_since(since))
    }

    /// When the time of who has waited longest is up, as things are now.
    pub fn expires(&self, now: Instant) -> Option<Instant> {
        let places = self.places.borrow();
        let longest = self.discipline.get().longest_wait(now - self.origin, places.len());
        places.front().map(|place| place.since + longest)
    }

    fn leave(&self, place: Place<T>, now: Instant) -> T {
        self.bytes.set(self.bytes.get() - place.bytes);
        self.counters.holding[0].sub(1);
        self.counters.holding_bytes[0].sub(place.bytes as u64);
        self.counters.hold_ns[0].add((now - place.since).as_nanos() as u64);
        place.who
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Duration = Duration::from_secs(2);

    fn line(most: usize, most_bytes: usize) -> Line<u32> {
        Line::new(most, most_bytes, HOLD, Arc::default())
    }

    fn look(line: &Line<u32>, now: Instant) -> Option<(u32, bool)> {
        line.look(now, |who, fresh| (*who, fresh))
    }

    #[test]
    fn first_come_first_served() {
        let (line, now) = (line(10, 1_000), Instant::now());
        (1..=3).for_each(|who| line.join(who, 1, now));
        let served: Vec<_> = std::iter::from_fn(|| line.take(now)).collect();
        assert_eq!(served, [1, 2, 3]);
        assert!(line.is_empty());
    }

    #[test]
    fn the_newest_goes_first_while_people_are_turned_away_for_long() {
        let (line, begin) = (line(10, 1_000), Instant::now());
        let at = |seconds| begin + Duration::from_secs_f64(seconds);
        (1..=3).for_each(|who| line.join(who, 1, begin));
        for second in 0..=4 {
            line.turn_away(at(f64::from(second)));
        }
        assert_eq!(look(&line, at(4.0)), Some((1, true)), "4 s are two hold times");
        line.turn_away(at(4.1));
        assert_eq!(line.take(at(6.0)), Some(3));
        assert_eq!(line.take(at(6.1)), Some(1), "nobody was turned away for a hold time");
        line.turn_away(at(6.2));
        assert_eq!(line.take(at(6.3)), Some(2), "one alone is no spell");
    }

    #[test]
    fn those_who_came_since_the_last_question_are_fresh() {
        let (line, now) = (line(10, 1_000), Instant::now());
        line.join(1, 1, now);
        line.join(2, 1, now);
        assert_eq!(look(&line, now), Some((1, true)));
        assert_eq!(line.settle(), 2);
        assert_eq!(look(&line, now), Some((1, false)));
        line.join(3, 1, now);
        assert_eq!(line.take_oldest(now), Some((1, false)));
        assert_eq!(line.take_oldest(now), Some((2, false)));
        assert_eq!(line.take_oldest(now), Some((3, true)));
        assert_eq!((line.take_oldest(now), line.settle()), (None, 0));
    }

    #[test]
    fn the_line_is_bounded_in_number_bytes_and_time() {
        let now = Instant::now();
        let short = line(2, 1_000);
        (1..=2).for_each(|who| short.join(who, 1, now));
        assert!(!short.is_over());
        short.join(3, 1, now);
        assert!(short.is_over());
        let light = line(10, 1_000);
        light.join(1, 600, now);
        light.join(2, 401, now);
        assert!(light.is_over());
        light.take_oldest(now);
        assert!(!light.is_over());
        assert_eq!(light.counters.holding_bytes[0].get(), 401);
        let timeless = Line::new(10, 1_000, Duration::ZERO, Arc::default());
        assert!(!timeless.is_over());
        timeless.join(1, 1, now);
        assert!(timeless.is_over());
    }

    #[test]
    fn time_is_up_for_who_has_waited_longest() {
        let (line, now) = (line(10, 1_000), Instant::now());
        assert_eq!(line.expires(now), None);
        line.join(1, 1, now);
        line.join(2, 1, now + HOLD);
        assert_eq!(line.expires(now), Some(now + HOLD));
        line.take_oldest(now + HOLD);
        assert_eq!(line.counters.hold_ns[0].get(), 2_000_000_000);
        assert_eq!(line.expires(now + HOLD), Some(now + HOLD + HOLD));
    }

    #[test]
    fn who_has_waited_longest_tells_how_much_may_lie_before_whoever_goes_in() {
        let (line, now) = (line(10, 1_000), Instant::now());
        assert_eq!(line.allowed_backlog(now), Duration::ZERO, "nobody waits");
        line.join(1, 1, now);
        line.join(2, 1, now + HOLD / 2);
        let expected = Discipline::new(HOLD).allowed_backlog(HOLD / 2);
        assert!(!expected.is_zero());
        assert_eq!(line.allowed_backlog(now + HOLD / 2), expected);
    }

    #[test]
    fn while_people_are_turned_away_for_long_only_the_last_four_wait_for_long() {
        let (line, begin) = (line(10, 1_000), Instant::now());
        let now = begin + Duration::from_secs(5);
        (0..=5).for_each(|second| line.turn_away(begin + Duration::from_secs(second)));
        (1..=4).for_each(|who| line.join(who, 1, begin));
        assert_eq!(line.expires(now), Some(begin + HOLD));
        line.join(5, 1, now);
        assert_eq!(line.expires(now), Some(begin + HOLD / 8));
    }
}
