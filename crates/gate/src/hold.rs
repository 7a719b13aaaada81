//! Newcomers who wait, before their handshake, for the next budget: per core a
//! line in order of arrival, bounded in number, bytes and time.
//!
//! A line is for bursts, which pass. Under a lasting overload it would only
//! stand: everybody who gets in would have waited to the limit first, and no
//! more of them would get in. So once newcomers are turned away, the line is
//! kept short until that has stopped for as long as a newcomer may wait.
//! Source: Nichols and Jacobson 2012, "Controlling Queue Delay", for the
//! difference between a good queue and a standing one.

use crate::account::Counters;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// The line of one core.
pub struct Line {
    places: RefCell<VecDeque<Rc<Place>>>,
    bytes: Cell<usize>,
    most: usize,
    most_bytes: usize,
    most_time: Duration,
    turned_away: Cell<Option<Instant>>,
    counters: Arc<Counters>,
}

/// While newcomers are turned away, each waits at most this share of the time:
/// long enough for the next lull, too short to be felt.
const STANDING: u32 = 20;

struct Place {
    bytes: usize,
    waker: RefCell<Option<Waker>>,
}

impl Line {
    /// An empty line for at most so many connections with so many bytes.
    /// who each wait no longer than that time.
    pub fn new(
        most: usize,
        most_bytes: usize,
        most_time: Duration,
        counters: Arc<Counters>,
    ) -> Rc<Self> {
        let (places, bytes, turned_away) = (RefCell::default(), Cell::new(0), Cell::new(None));
        Rc::new(Self { places, bytes, most, most_bytes, most_time, turned_away, counters })
    }

    /// A newcomer was turned away, at the door or after waiting.
    pub fn turn_away(&self, now: Instant) {
        self.turned_away.set(Some(now));
    }

    /// How long a newcomer who joins now may wait.
    fn patience(&self, now: Instant) -> Duration {
        match self.turned_away.get() {
            Some(at) if now.saturating_duration_since(at) < self.most_time => {
                self.most_time / STANDING
            }
            _ => self.most_time,
        }
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.places.borrow().is_empty()
    }

    /// Takes the last place in the line for a connection of so many bytes;
    /// `None` if there is no room.
    pub fn join(self: &Rc<Self>, bytes: usize) -> Option<Waiting> {
        let mut places = self.places.borrow_mut();
        if self.most_time.is_zero()
            || places.len() >= self.most
            || self.bytes.get() + bytes > self.most_bytes
        {
            return None;
        }
        let since = Instant::now();
        let until = since + self.patience(since);
        let place = Rc::new(Place { bytes, waker: RefCell::new(None) });
        places.push_back(place.clone());
        self.bytes.set(self.bytes.get() + bytes);
        self.counters.holding[0].add(1);
        self.counters.holding_bytes[0].add(bytes as u64);
        Some(Waiting { line: self.clone(), place, since, until })
    }

    fn leave(&self, place: &Rc<Place>) {
        let mut places = self.places.borrow_mut();
        // Whoever leaves is nearly always the first.
        let Some(index) = places.iter().position(|other| Rc::ptr_eq(other, place)) else { return };
        places.remove(index);
        self.bytes.set(self.bytes.get() - place.bytes);
        self.counters.holding[0].sub(1);
        self.counters.holding_bytes[0].sub(place.bytes as u64);
        if index == 0
            && let Some(first) = places.front()
            && let Some(waker) = first.waker.take()
        {
            waker.wake();
        }
    }
}

/// A place in the line; left when dropped.
pub struct Waiting {
    line: Rc<Line>,
    place: Rc<Place>,
    since: Instant,
    until: Instant,
}

impl Waiting {
    /// Whether it is this connection's turn. If not, `waker` is woken when it is.
    pub fn is_first(&self, waker: &Waker) -> bool {
        let first = self.line.places.borrow().front().is_some_and(|p| Rc::ptr_eq(p, &self.place));
        if !first {
            let mut kept = self.place.waker.borrow_mut();
            match &mut *kept {
                Some(kept) => kept.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
        }
        first
    }

    /// When it joined.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// When its wait is over, come what may.
    pub fn until(&self) -> Instant {
        self.until
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.line.counters.hold_ns[0].add(self.since.elapsed().as_nanos() as u64);
        self.line.leave(&self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    fn line(most: usize, most_bytes: usize) -> Rc<Line> {
        Line::new(most, most_bytes, Duration::from_secs(2), Arc::default())
    }

    #[test]
    fn a_line_that_turns_people_away_is_kept_short_until_that_stops() {
        let line = line(10, 1_000);
        let now = Instant::now();
        assert_eq!(line.patience(now), Duration::from_secs(2));
        line.turn_away(now);
        assert_eq!(line.patience(now + Duration::from_millis(1_999)), Duration::from_millis(100));
        assert_eq!(line.patience(now + Duration::from_secs(2)), Duration::from_secs(2));
    }

    #[test]
    fn nobody_joins_a_line_without_time() {
        let line = Line::new(10, 1_000, Duration::ZERO, Arc::default());
        assert!(line.join(1).is_none());
    }

    #[test]
    fn first_come_first_served_and_the_next_is_woken() {
        let line = line(10, 1_000);
        let (first, second) = (line.join(1).unwrap(), line.join(1).unwrap());
        let woken = Arc::new(Count::default());
        let waker = Waker::from(woken.clone());
        assert!(first.is_first(&waker) && !second.is_first(&waker));
        drop(first);
        assert_eq!(woken.0.load(Relaxed), 1);
        assert!(second.is_first(&waker));
    }

    #[test]
    fn who_leaves_from_the_middle_wakes_nobody() {
        let line = line(10, 1_000);
        let waiting: Vec<_> = (0..3).map(|_| line.join(1).unwrap()).collect();
        let woken = Arc::new(Count::default());
        let waker = Waker::from(woken.clone());
        assert!(waiting[0].is_first(&waker) && !waiting[2].is_first(&waker));
        let mut waiting = waiting;
        drop(waiting.remove(1));
        assert_eq!(woken.0.load(Relaxed), 0);
        assert!(!waiting[1].is_first(&waker));
    }

    #[test]
    fn the_line_is_bounded_in_number_and_bytes() {
        let short = line(2, 1_000);
        let _kept = (short.join(1).unwrap(), short.join(1).unwrap());
        assert!(short.join(1).is_none());
        let light = line(10, 1_000);
        let kept = light.join(600).unwrap();
        assert!(light.join(401).is_none());
        drop(kept);
        assert!(light.join(1_000).is_some());
        assert_eq!(light.counters.holding_bytes[0].get(), 0);
    }
}
