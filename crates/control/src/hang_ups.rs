//! How long customers stay in the admission queue, learned from those who hang up in it.
//!
//! A customer who hangs up has waited in vain, and often comes back as another connection
//! that costs a refusal. So nobody waits until an age at which too many have hung up.

use std::time::Duration;

use crate::Time;

/// The most customers that may hang up in the queue, of all that come.
const SHARE: f64 = 0.0025;
/// Hang-ups from which they count: a single one says nothing.
const EVIDENCE: f64 = 2.0;
/// Time in which what was seen loses half of its weight: people and their software change.
const HALF_LIFE_S: f64 = 30.0;
/// Time between two estimates.
const BETWEEN: Duration = Duration::from_millis(100);
/// Classes of age: four to a doubling, from a millisecond to over a minute.
const AGES: usize = 64;
const CLASSES_PER_DOUBLING: f64 = 4.0;
const YOUNGEST_S: f64 = 1e-3;

/// The customers that came and those that hung up, by their age in the queue.
///
/// The weights of both fall by half in half a minute. The bound is the greatest age at which
/// at most one in four hundred customers had hung up. While it keeps customers from
/// waiting longer, the hang-ups that it follows from fade, and it rises until a few
/// more show that it still holds.
#[derive(Clone, Debug)]
pub(crate) struct HangUps {
    customers: f64,
    by_age: [f64; AGES],
    /// When the weights were last reduced and the bound was estimated.
    estimated_at: Time,
    bound: Duration,
}

impl HangUps {
    pub(crate) fn new() -> Self {
        Self { customers: 0.0, by_age: [0.0; AGES], estimated_at: Time::ZERO, bound: Duration::MAX }
    }

    /// A customer left the queue, admitted or refused.
    pub(crate) fn stayed(&mut self, now: Time) {
        self.customers += 1.0;
        self.estimate(now);
    }

    /// A customer hung up after so long in the queue.
    pub(crate) fn hung_up(&mut self, now: Time, age: Duration) {
        self.customers += 1.0;
        self.by_age[class_of(age)] += 1.0;
        self.estimate(now);
    }

    /// The age that nobody is to wait beyond; [`Duration::MAX`]: hardly anybody hangs up.
    pub(crate) fn bound(&self) -> Duration {
        self.bound
    }

    fn estimate(&mut self, now: Time) {
        let since = now.saturating_sub(self.estimated_at);
        if since < BETWEEN {
            return;
        }
        self.estimated_at = now;
        let most = (SHARE * self.customers).max(EVIDENCE);
        let mut hung_up = 0.0;
        let beyond = self.by_age.iter().position(|number| {
            hung_up += number;
            hung_up >= most
        });
        self.bound = beyond.map_or(Duration::MAX, youngest_of);
        let kept = 0.5_f64.powf(since.as_secs_f64() / HALF_LIFE_S);
        self.customers *= kept;
        self.by_age.iter_mut().for_each(|number| *number *= kept);
    }
}

/// The class of an age; the first and the last have no end.
fn class_of(age: Duration) -> usize {
    let doublings = (age.as_secs_f64() / YOUNGEST_S).max(1.0).log2();
    ((doublings * CLASSES_PER_DOUBLING + 1e-5) as usize).min(AGES - 1)
}

/// The least age of a class.
fn youngest_of(class: usize) -> Duration {
    Duration::from_secs_f64(YOUNGEST_S * 2_f64.powf(class as f64 / CLASSES_PER_DOUBLING))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Time {
        Duration::from_secs_f64(seconds)
    }

    /// A second with so many customers, of whom some hang up at an age.
    fn second(seen: &mut HangUps, from_s: f64, customers: u32, hang_ups: u32, age: Duration) {
        for n in 0..customers {
            let now = at(from_s + f64::from(n) / f64::from(customers));
            if n < hang_ups { seen.hung_up(now, age) } else { seen.stayed(now) }
        }
    }

    #[test]
    fn ages_have_four_classes_to_a_doubling() {
        let classes = [0, 1, 2, 4, 8, 1000, 100_000_000].map(Duration::from_millis).map(class_of);
        // 1000 ms are 9.97 doublings, of which there are 39 whole quarters.
        assert_eq!(classes, [0, 0, 4, 8, 12, 39, 63]);
        assert_eq!(youngest_of(8), Duration::from_millis(4));
        for class in 0..AGES {
            assert_eq!(class_of(youngest_of(class)), class);
        }
    }

    #[test]
    fn nobody_waits_to_an_age_at_which_more_than_one_in_four_hundred_hung_up() {
        let mut seen = HangUps::new();
        second(&mut seen, 1.0, 1000, 2, Duration::from_millis(500));
        assert_eq!(seen.bound(), Duration::MAX, "2 of 1000");
        second(&mut seen, 2.0, 1000, 10, Duration::from_millis(500));
        // The class of 500 ms begins at 2^(35/4) ms.
        assert_eq!(seen.bound(), youngest_of(35));
        assert!((0.4..0.5).contains(&seen.bound().as_secs_f64()));
    }

    #[test]
    fn a_single_hang_up_bounds_nothing() {
        let mut seen = HangUps::new();
        seen.hung_up(at(1.0), Duration::from_secs(1));
        seen.stayed(at(1.2));
        assert_eq!(seen.bound(), Duration::MAX);
        seen.hung_up(at(1.3), Duration::from_secs(1));
        seen.hung_up(at(1.5), Duration::from_secs(1));
        assert!(seen.bound() < Duration::from_secs(1));
    }

    #[test]
    fn hang_ups_fade_when_nobody_waits_so_long_any_more() {
        let mut seen = HangUps::new();
        second(&mut seen, 1.0, 1000, 20, Duration::from_secs(1));
        assert!(seen.bound() < Duration::from_secs(1));
        let mut fades_s = 1.0;
        while seen.bound() < Duration::MAX {
            fades_s += 1.0;
            assert!(fades_s < 300.0);
            second(&mut seen, fades_s, 100, 0, Duration::ZERO);
        }
        // 20 are one in four hundred of 8000 customers, which come within a minute.
        assert!((30.0..90.0).contains(&fades_s), "{fades_s}");
    }
}
