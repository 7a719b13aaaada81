//! Newcomers who wait, before their handshake, for the next budget: per core a
//! line, bounded in number, bytes and time.
//!
//! The oldest goes in first, and bursts pass. Under a lasting overload the
//! oldest would always be those whose time is nearly up: everybody who gets in
//! would have waited to the limit first, and no more of them would get in. So
//! once people have been turned away for a while, the newest goes in first,
//! who has hardly waited, and nobody waits for long.
//! Source: Maurer 2015, "Fail at Scale", ACM Queue 13(8): adaptive LIFO.
//!
//! Who waits has neither a task nor a place in the runtime. Most of those who
//! wait under a lasting overload do so in vain, and must not cost more than a
//! refusal.

use crate::account::Counters;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The line of one core.
pub struct Line<T> {
    /// The oldest in front.
    places: RefCell<VecDeque<Place<T>>>,
    bytes: Cell<usize>,
    most: usize,
    most_bytes: usize,
    most_time: Duration,
    turned_away: Cell<Option<Spell>>,
    counters: Arc<Counters>,
}

struct Place<T> {
    who: T,
    bytes: usize,
    since: Instant,
}

/// A time in which people were turned away, without a pause as long as the
/// hold time.
#[derive(Clone, Copy)]
struct Spell {
    first: Instant,
    last: Instant,
}

/// How long a spell must be to count as a lasting overload, in hold times.
const LASTING: u32 = 2;
/// The share of the hold time that anybody waits then: long enough for the next
/// lull, too short to be felt.
const STANDING: u32 = 8;

impl<T> Line<T> {
    /// An empty line for at most so many connections with so many bytes, who
    /// each wait no longer than that time.
    pub fn new(
        most: usize,
        most_bytes: usize,
        most_time: Duration,
        counters: Arc<Counters>,
    ) -> Self {
        let (places, bytes, turned_away) = (RefCell::default(), Cell::new(0), Cell::new(None));
        Self { places, bytes, most, most_bytes, most_time, turned_away, counters }
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.places.borrow().is_empty()
    }

    /// Takes the last place in the line, with so many bytes; an error if there
    /// is no room.
    ///
    /// # Errors
    /// Who found no room.
    pub fn join(&self, who: T, bytes: usize, now: Instant) -> Result<(), T> {
        let mut places = self.places.borrow_mut();
        let full = places.len() >= self.most || self.bytes.get() + bytes > self.most_bytes;
        if full || self.most_time.is_zero() {
            return Err(who);
        }
        places.push_back(Place { who, bytes, since: now });
        self.bytes.set(self.bytes.get() + bytes);
        self.counters.holding[0].add(1);
        self.counters.holding_bytes[0].add(bytes as u64);
        Ok(())
    }

    /// Somebody is turned away, at the door or after waiting.
    pub fn turn_away(&self, now: Instant) {
        let spell = self.turned_away.get().filter(|spell| now - spell.last < self.most_time);
        let first = spell.map_or(now, |spell| spell.first);
        self.turned_away.set(Some(Spell { first, last: now }));
    }

    /// Whether the newest goes in first.
    pub fn newest_first(&self, now: Instant) -> bool {
        self.turned_away.get().is_some_and(|Spell { first, last }| {
            last - first > self.most_time * LASTING && now - last < self.most_time
        })
    }

    /// Looks at whose turn it is.
    pub fn look<R>(&self, now: Instant, at: impl FnOnce(&T) -> R) -> Option<R> {
        let places = self.places.borrow();
        let next = if self.newest_first(now) { places.back() } else { places.front() };
        next.map(|place| at(&place.who))
    }

    /// Whose turn it is leaves the line.
    pub fn take(&self, now: Instant) -> Option<T> {
        if self.newest_first(now) {
            let newest = self.places.borrow_mut().pop_back();
            self.leave(newest?, now)
        } else {
            self.take_oldest(now)
        }
    }

    /// Who has waited longest leaves the line.
    pub fn take_oldest(&self, now: Instant) -> Option<T> {
        let oldest = self.places.borrow_mut().pop_front();
        self.leave(oldest?, now)
    }

    /// When the time of who has waited longest is up, as things are now.
    pub fn expires(&self, now: Instant) -> Option<Instant> {
        let share = if self.newest_first(now) { STANDING } else { 1 };
        self.places.borrow().front().map(|place| place.since + self.most_time / share)
    }

    fn leave(&self, place: Place<T>, now: Instant) -> Option<T> {
        self.bytes.set(self.bytes.get() - place.bytes);
        self.counters.holding[0].sub(1);
        self.counters.holding_bytes[0].sub(place.bytes as u64);
        self.counters.hold_ns[0].add((now - place.since).as_nanos() as u64);
        Some(place.who)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Duration = Duration::from_secs(2);

    fn line(most: usize, most_bytes: usize) -> Line<u32> {
        Line::new(most, most_bytes, HOLD, Arc::default())
    }

    #[test]
    fn nobody_joins_a_line_without_time() {
        let line = Line::new(10, 1_000, Duration::ZERO, Arc::default());
        assert_eq!(line.join(1, 1, Instant::now()), Err(1));
    }

    #[test]
    fn first_come_first_served() {
        let (line, now) = (line(10, 1_000), Instant::now());
        (1..=3).for_each(|who| line.join(who, 1, now).unwrap());
        assert_eq!(line.look(now, |who| *who), Some(1));
        assert_eq!(
            [line.take(now), line.take(now), line.take(now), line.take(now)],
            [Some(1), Some(2), Some(3), None]
        );
    }

    #[test]
    fn the_newest_goes_first_while_people_are_turned_away_for_long() {
        let (line, begin) = (line(10, 1_000), Instant::now());
        let at = |seconds| begin + Duration::from_secs_f64(seconds);
        (1..=3).for_each(|who| line.join(who, 1, begin).unwrap());
        for second in 0..=4 {
            line.turn_away(at(f64::from(second)));
        }
        assert_eq!(line.look(at(4.0), |who| *who), Some(1), "4 s are two hold times");
        line.turn_away(at(4.1));
        assert_eq!(line.take(at(6.0)), Some(3));
        assert_eq!(line.take(at(6.1)), Some(1), "nobody was turned away for a hold time");
        line.turn_away(at(6.2));
        assert_eq!(line.take(at(6.3)), Some(2), "one alone is no spell");
    }

    #[test]
    fn the_line_is_bounded_in_number_and_bytes() {
        let now = Instant::now();
        let short = line(2, 1_000);
        (1..=2).for_each(|who| short.join(who, 1, now).unwrap());
        assert_eq!(short.join(3, 1, now), Err(3));
        let light = line(10, 1_000);
        light.join(1, 600, now).unwrap();
        assert_eq!(light.join(2, 401, now), Err(2));
        assert_eq!(light.counters.holding_bytes[0].get(), 600);
        light.take_oldest(now);
        light.join(2, 1_000, now).unwrap();
        light.take(now);
        assert_eq!(
            (light.counters.holding[0].get(), light.counters.holding_bytes[0].get()),
            (0, 0)
        );
    }

    #[test]
    fn time_is_up_for_who_has_waited_longest() {
        let (line, now) = (line(10, 1_000), Instant::now());
        assert_eq!(line.expires(now), None);
        line.join(1, 1, now).unwrap();
        line.join(2, 1, now + HOLD).unwrap();
        assert_eq!(line.expires(now), Some(now + HOLD));
        line.take_oldest(now + HOLD);
        assert_eq!(line.counters.hold_ns[0].get(), 2_000_000_000);
        assert_eq!(line.expires(now + HOLD), Some(now + HOLD + HOLD));
    }

    #[test]
    fn while_people_are_turned_away_for_long_nobody_waits_for_long() {
        let (line, begin) = (line(10, 1_000), Instant::now());
        line.join(1, 1, begin).unwrap();
        (0..=5).for_each(|second| line.turn_away(begin + Duration::from_secs(second)));
        assert_eq!(line.expires(begin + Duration::from_secs(5)), Some(begin + HOLD / 8));
    }
}
