//! Turns of prefixes on all cores: when each was admitted last, and since when the oldest
//! entry of each core waits for a turn of its prefix.
//!
//! The kernel spreads the connections of a prefix over the queues of all cores. Budget
//! that one core gives to a prefix is the other cores' too.

use crate::places::Prefix;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The last turns that are kept: those of more prefixes are forgotten, the oldest first.
const KEPT: usize = 4096;

/// The turns of all cores' prefixes.
#[derive(Debug)]
pub struct Turns {
    last: Mutex<Last>,
    /// Of each core.
    oldest: Vec<Mutex<Option<(Instant, Prefix)>>>,
}

#[derive(Debug, Default)]
struct Last {
    at: HashMap<Prefix, Instant>,
    /// All turns that are kept, in order; of a prefix with several the last one counts.
    order: VecDeque<(Instant, Prefix)>,
}

impl Turns {
    /// No turns yet, for so many cores.
    pub fn new(cores: usize) -> Self {
        Self { last: Mutex::default(), oldest: (0..cores).map(|_| Mutex::default()).collect() }
    }

    /// A prefix has its turn.
    pub fn note(&self, prefix: Prefix, now: Instant) {
        let mut last = self.last();
        last.at.insert(prefix, now);
        last.order.push_back((now, prefix));
        while last.order.len() > KEPT {
            let Some((at, oldest)) = last.order.pop_front() else { break };
            if last.at.get(&oldest) == Some(&at) {
                last.at.remove(&oldest);
            }
        }
    }

    /// The last turn of a prefix on any core; `None`: it had none, or that was long ago.
    pub fn last_of(&self, prefix: Prefix) -> Option<Instant> {
        self.last().at.get(&prefix).copied()
    }

    /// On a core the oldest entry whose prefix has its turn to come waits since then;
    /// `None`: none waits.
    pub fn waits(&self, core: usize, oldest: Option<(Instant, Prefix)>) {
        *lock(&self.oldest[core]) = oldest;
    }

    /// The oldest such entries of the other cores: since when each waits, and its prefix.
    pub fn waiting_elsewhere(&self, core: usize) -> impl Iterator<Item = (Instant, Prefix)> + '_ {
        let others = self.oldest.iter().enumerate().filter(move |(other, _)| *other != core);
        others.filter_map(|(_, oldest)| *lock(oldest))
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        lock(&self.last)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::PrefixLengths;
    use std::time::Duration;

    fn prefix(n: u32) -> Prefix {
        PrefixLengths { ipv4: 32, ipv6: 56 }.prefix_of(std::net::Ipv4Addr::from(n).into())
    }

    #[test]
    fn the_last_turn_counts_and_the_oldest_are_forgotten() {
        let (turns, now) = (Turns::new(1), Instant::now());
        let at = |n: u32| now + Duration::from_millis(n.into());
        turns.note(prefix(0), at(0));
        turns.note(prefix(1), at(1));
        turns.note(prefix(0), at(2));
        assert_eq!(turns.last_of(prefix(0)), Some(at(2)));
        (3..3 + KEPT as u32 - 1).for_each(|n| turns.note(prefix(n), at(n)));
        assert_eq!(turns.last_of(prefix(0)), Some(at(2)), "its first turn was forgotten alone");
        assert_eq!(turns.last_of(prefix(1)), None);
        assert!(turns.last().at.len() <= KEPT && turns.last().order.len() <= KEPT);
    }

    #[test]
    fn a_core_sees_the_oldest_wait_of_the_others() {
        let (turns, since) = (Turns::new(3), Instant::now());
        let elsewhere = |core| turns.waiting_elsewhere(core).collect::<Vec<_>>();
        assert_eq!(elsewhere(0), []);
        turns.waits(1, Some((since, prefix(1))));
        turns.waits(2, Some((since, prefix(2))));
        assert_eq!(elsewhere(0), [(since, prefix(1)), (since, prefix(2))]);
        assert_eq!(elsewhere(2), [(since, prefix(1))]);
        turns.waits(1, None);
        assert_eq!(elsewhere(2), []);
    }
}
