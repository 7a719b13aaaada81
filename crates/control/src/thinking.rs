//! Who thinks, and for how long: those inside with nothing under way.
//!
//! Whoever asks again mostly does so soon. Who has not for long has left more often
//! than not, and most customers leave without closing anything. So those who think are
//! counted by the age of their thoughts, and learned is how often each age asks.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Classes of age: see [`age`].
pub const AGES: usize = 11;

/// The class of those who have been thinking for so many ticks: 0, 1, 2 to 3, 4 to 7 and
/// so on; the last is 512 and more.
pub fn age(ticks: u64) -> usize {
    ((u64::BITS - ticks.leading_zeros()) as usize).min(AGES - 1)
}

/// Ticks that are told apart: those of all classes but the last.
const RING: usize = 1 << (AGES - 2);

/// Counts who thinks by the tick since which she does. Constant time and space.
///
/// One thread at a time counts, without locked instructions, and another may tell the
/// ticks; any may read, for whom the counts may be a few apart.
#[derive(Debug)]
pub struct Thinking {
    now: AtomicU64,
    /// The tick up to which places belong to the newest ticks that they can.
    ordered: AtomicU64,
    since: [AtomicU64; RING],
    longer: AtomicU64,
    asked: [AtomicU64; AGES],
}

/// What is known at a tick of those who think.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Thoughts {
    /// How many think, by [`age`].
    pub thinking: [u64; AGES],
    /// How many asked ever, by the age that they had then.
    pub asked: [u64; AGES],
}

impl Thoughts {
    /// How many have asked since, by the age that they had then.
    pub fn asked_since(&self, before: &Self) -> [u64; AGES] {
        std::array::from_fn(|age| self.asked[age].wrapping_sub(before.asked[age]))
    }
}

impl Default for Thinking {
    fn default() -> Self {
        Self {
            now: AtomicU64::new(0),
            ordered: AtomicU64::new(0),
            since: std::array::from_fn(|_| AtomicU64::new(0)),
            longer: AtomicU64::new(0),
            asked: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl Thinking {
    /// A tick has come.
    pub fn tick(&self) {
        add(&self.now, 1);
    }

    /// The ticks so far.
    pub fn now(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// Somebody thinks from now on. Returns the tick, by which she is known.
    pub fn begins(&self) -> u64 {
        let now = self.now.load(Relaxed);
        self.began(now);
        now
    }

    /// Somebody thinks who has done so since that tick.
    pub fn began(&self, since: u64) {
        add(self.place(since), 1);
    }

    /// Somebody who has thought since that tick asks.
    pub fn asks(&self, since: u64) {
        self.ends(since);
        add(&self.asked[age(self.ordered.load(Relaxed).saturating_sub(since))], 1);
    }

    /// Somebody asks who did not think: beside what she has under way.
    pub fn asks_besides(&self) {
        add(&self.asked[0], 1);
    }

    /// Somebody who has thought since that tick has left.
    pub fn ends(&self, since: u64) {
        let place = self.place(since);
        place.store(place.load(Relaxed).saturating_sub(1), Relaxed);
    }

    /// Adds what is known now.
    pub fn add_to(&self, thoughts: &mut Thoughts) {
        let (now, ordered) = (self.now.load(Relaxed), self.ordered.load(Relaxed));
        for back in 0..(RING as u64).min(ordered + 1) {
            let since = ordered - back;
            thoughts.thinking[age(now.saturating_sub(since))] +=
                self.since[since as usize % RING].load(Relaxed);
        }
        thoughts.thinking[AGES - 1] += self.longer.load(Relaxed);
        for (sum, asked) in thoughts.asked.iter_mut().zip(&self.asked) {
            *sum += asked.load(Relaxed);
        }
    }

    /// Where those are counted who have thought since that tick, when the places of old
    /// ticks have gone to newer ones.
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

    fn at(ticks: u64) -> Thinking {
        let thinking = Thinking::default();
        go_on(&thinking, ticks);
        thinking
    }

    fn go_on(thinking: &Thinking, ticks: u64) {
        (0..ticks).for_each(|_| thinking.tick());
    }

    fn thoughts(thinking: &Thinking) -> Thoughts {
        let mut thoughts = Thoughts::default();
        thinking.add_to(&mut thoughts);
        thoughts
    }

    #[test]
    fn ages_double_from_class_to_class() {
        let classes = [0, 1, 2, 3, 4, 7, 8, 255, 256, 511, 512, u64::MAX].map(age);
        assert_eq!(classes, [0, 1, 2, 2, 3, 3, 4, 8, 9, 9, 10, 10]);
    }

    #[test]
    fn who_thinks_grows_older_until_she_asks_or_leaves() {
        let thinking = at(5);
        assert_eq!([(); 3].map(|()| thinking.begins()), [5; 3]);
        assert_eq!(thoughts(&thinking).thinking[0], 3);
        thinking.asks(5);
        go_on(&thinking, 3);
        thinking.asks(5);
        go_on(&thinking, 1);
        let then = thoughts(&thinking);
        assert_eq!((then.thinking[age(4)], then.asked[0], then.asked[age(3)]), (1, 1, 1));
        thinking.ends(5);
        let none = thoughts(&thinking);
        assert_eq!((none.thinking, none.asked), ([0; AGES], then.asked));
        thinking.asks_besides();
        assert_eq!(thoughts(&thinking).asked_since(&none), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn those_who_have_thought_for_long_are_counted_together() {
        let thinking = at(0);
        thinking.begins();
        go_on(&thinking, 100);
        thinking.begins();
        // Time goes on though nothing happens; then it goes far in one step.
        go_on(&thinking, 511);
        assert_eq!(thoughts(&thinking).thinking[AGES - 1], 1);
        go_on(&thinking, 1);
        assert_eq!(thoughts(&thinking).thinking[AGES - 1], 2);
        go_on(&thinking, 90_000);
        let since = thinking.begins();
        assert_eq!(thoughts(&thinking).thinking[AGES - 1], 2);
        go_on(&thinking, 1);
        thinking.asks(0);
        thinking.ends(100);
        let then = thoughts(&thinking);
        assert_eq!((then.thinking[AGES - 1], then.asked[AGES - 1]), (0, 1));
        assert_eq!(then.thinking[1], 1);
        thinking.ends(since);
        assert_eq!(thoughts(&thinking).thinking, [0; AGES]);
    }

    #[test]
    fn somebody_may_come_with_old_thoughts() {
        let thinking = at(10);
        thinking.began(3);
        assert_eq!(thoughts(&thinking).thinking[age(7)], 1);
        go_on(&thinking, 9990);
        thinking.began(1);
        assert_eq!(thoughts(&thinking).thinking[AGES - 1], 2);
    }

    #[test]
    fn a_count_never_goes_below_nothing() {
        let thinking = at(3);
        thinking.ends(7);
        assert_eq!(thoughts(&thinking), Thoughts::default());
    }
}
