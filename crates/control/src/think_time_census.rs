//! The think-time census: active sessions with nothing under way, by the time for which
//! they have been thinking.
//!
//! A customer who makes another request mostly does so soon. One who has been silent for
//! long has usually left, and most customers leave without closing the connection. So
//! thinking sessions are counted by age, and requests by the age at which they come.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Classes of age: see [`age`].
pub const AGES: usize = 11;

/// The class of a session that has been thinking for so many ticks: 0, 1, 2 to 3, 4 to 7
/// and so on; the last is 512 and more.
pub fn age(ticks: u64) -> usize {
    ((u64::BITS - ticks.leading_zeros()) as usize).min(AGES - 1)
}

/// Ticks with a counter of their own: those of all classes but the last.
const RING: usize = 1 << (AGES - 2);

/// Counts thinking sessions by the tick at which they began. Constant time and space.
///
/// One thread at a time counts, without locked instructions, and another may advance the
/// ticks; any may read, and may see counts that are a few apart.
#[derive(Debug)]
pub struct ThinkTimeCensus {
    now: AtomicU64,
    /// The tick up to which counters are assigned to the newest ticks possible.
    ordered: AtomicU64,
    since: [AtomicU64; RING],
    longer: AtomicU64,
    requests_by_age: [AtomicU64; AGES],
}

/// The counts at a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CensusCounts {
    /// Sessions that are thinking, by [`age`].
    pub thinking: [u64; AGES],
    /// Requests since the start, by the age of the session then.
    pub requests_by_age: [u64; AGES],
}

impl CensusCounts {
    /// Requests since earlier counts, by the age of the session then.
    pub fn requests_since(&self, before: &Self) -> [u64; AGES] {
        std::array::from_fn(|age| {
            self.requests_by_age[age].wrapping_sub(before.requests_by_age[age])
        })
    }
}

impl Default for ThinkTimeCensus {
    fn default() -> Self {
        Self {
            now: AtomicU64::new(0),
            ordered: AtomicU64::new(0),
            since: std::array::from_fn(|_| AtomicU64::new(0)),
            longer: AtomicU64::new(0),
            requests_by_age: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl ThinkTimeCensus {
    /// Advances to the next tick.
    pub fn tick(&self) {
        add(&self.now, 1);
    }

    /// Ticks so far.
    pub fn now(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// A session begins to think. Returns the tick, which identifies its age.
    pub fn begins(&self) -> u64 {
        let now = self.now.load(Relaxed);
        self.began(now);
        now
    }

    /// Adds a session that has been thinking since that tick.
    pub fn began(&self, since: u64) {
        add(self.place(since), 1);
    }

    /// A session that has been thinking since that tick makes a request.
    pub fn requests(&self, since: u64) {
        self.ends(since);
        add(&self.requests_by_age[age(self.ordered.load(Relaxed).saturating_sub(since))], 1);
    }

    /// A session makes a request while another is under way.
    pub fn requests_besides(&self) {
        add(&self.requests_by_age[0], 1);
    }

    /// A session that has been thinking since that tick has ended.
    pub fn ends(&self, since: u64) {
        let place = self.place(since);
        place.store(place.load(Relaxed).saturating_sub(1), Relaxed);
    }

    /// Adds the present counts.
    pub fn add_to(&self, counts: &mut CensusCounts) {
        let (now, ordered) = (self.now.load(Relaxed), self.ordered.load(Relaxed));
        for back in 0..(RING as u64).min(ordered + 1) {
            let since = ordered - back;
            counts.thinking[age(now.saturating_sub(since))] +=
                self.since[since as usize % RING].load(Relaxed);
        }
        counts.thinking[AGES - 1] += self.longer.load(Relaxed);
        for (sum, requests_by_age) in counts.requests_by_age.iter_mut().zip(&self.requests_by_age) {
            *sum += requests_by_age.load(Relaxed);
        }
    }

    /// The counter of sessions that have been thinking since that tick, after the
    /// counters of old ticks were assigned to newer ones.
    fn place(&self, since: u64) -> &AtomicU64 {
        let (now, ordered) = (self.now.load(Relaxed), self.ordered.load(Relaxed));
        for tick in (ordered + 1..=now).take(RING) {
            let place = &self.since[tick as usize % RING];
            add(&self.longer, place.load(Relaxed));
            place.store(0, Relaxed);
        }
        self.ordered.store(now, Relaxed);
        if now.saturating_sub(since) < RING as u64 {
            &self.since[since.min(now) as usize % RING]
        } else {
            &self.longer
        }
    }
}

fn add(count: &AtomicU64, more: u64) {
    count.store(count.load(Relaxed).wrapping_add(more), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ticks: u64) -> ThinkTimeCensus {
        let census = ThinkTimeCensus::default();
        go_on(&census, ticks);
        census
    }

    fn go_on(census: &ThinkTimeCensus, ticks: u64) {
        (0..ticks).for_each(|_| census.tick());
    }

    fn counts(census: &ThinkTimeCensus) -> CensusCounts {
        let mut counts = CensusCounts::default();
        census.add_to(&mut counts);
        counts
    }

    #[test]
    fn ages_double_from_class_to_class() {
        let classes = [0, 1, 2, 3, 4, 7, 8, 255, 256, 511, 512, u64::MAX].map(age);
        assert_eq!(classes, [0, 1, 2, 2, 3, 3, 4, 8, 9, 9, 10, 10]);
    }

    #[test]
    fn a_thinking_session_grows_older_until_it_makes_a_request_or_ends() {
        let census = at(5);
        assert_eq!([(); 3].map(|()| census.begins()), [5; 3]);
        assert_eq!(counts(&census).thinking[0], 3);
        census.requests(5);
        go_on(&census, 3);
        census.requests(5);
        go_on(&census, 1);
        let then = counts(&census);
        assert_eq!(
            (then.thinking[age(4)], then.requests_by_age[0], then.requests_by_age[age(3)]),
            (1, 1, 1)
        );
        census.ends(5);
        let none = counts(&census);
        assert_eq!((none.thinking, none.requests_by_age), ([0; AGES], then.requests_by_age));
        census.requests_besides();
        assert_eq!(counts(&census).requests_since(&none), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn sessions_that_have_been_thinking_for_long_are_counted_together() {
        let census = at(0);
        census.begins();
        go_on(&census, 100);
        census.begins();
        // Time passes without events; then it passes far in one step.
        go_on(&census, 511);
        assert_eq!(counts(&census).thinking[AGES - 1], 1);
        go_on(&census, 1);
        assert_eq!(counts(&census).thinking[AGES - 1], 2);
        go_on(&census, 90_000);
        let since = census.begins();
        assert_eq!(counts(&census).thinking[AGES - 1], 2);
        go_on(&census, 1);
        census.requests(0);
        census.ends(100);
        let then = counts(&census);
        assert_eq!((then.thinking[AGES - 1], then.requests_by_age[AGES - 1]), (0, 1));
        assert_eq!(then.thinking[1], 1);
        census.ends(since);
        assert_eq!(counts(&census).thinking, [0; AGES]);
    }

    #[test]
    fn a_session_may_be_added_with_an_age() {
        let census = at(10);
        census.began(3);
        assert_eq!(counts(&census).thinking[age(7)], 1);
        go_on(&census, 9990);
        census.began(1);
        assert_eq!(counts(&census).thinking[AGES - 1], 2);
    }

    #[test]
    fn a_count_never_goes_below_zero() {
        let census = at(3);
        census.ends(7);
        assert_eq!(counts(&census), CensusCounts::default());
    }
}
