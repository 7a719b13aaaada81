//! How many handshakes with a ticket the clients of a prefix may begin without finishing
//! them. Whoever has a ticket without its secret can begin handshakes and finish none, and
//! each costs the gate a key exchange.
//!
//! Each handshake that begins takes one from the allowance of its prefix, and each that
//! finishes returns two: so customers are not limited, however many of them are behind one
//! address, and an attacker among them has to fail more often than they succeed. Without
//! any, the allowance grows with time up to its initial value.
//!
//! Memory is fixed: prefixes share cells by their hash, in two tables with different
//! hashes. A prefix is stopped only where its cells in both are used up.
//!
//! Source: Cormode and Muthukrishnan 2005, "An Improved Data Stream Summary: The Count-Min
//! Sketch and its Applications": the minimum over tables, here the maximum of what is left.

use crate::limits::{UNPROVEN_AT_ONCE, UNPROVEN_PER_SECOND};
use crate::places::prefix::Prefix;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

const TABLES: usize = 2;
const CELLS: usize = 4096;
/// Returned for each handshake that finishes: as many again may begin, and one more.
const RETURNED: f32 = 2.0;

/// The allowances of all prefixes. Times are since an origin of the caller.
#[derive(Debug)]
pub struct Allowance {
    /// Unpredictable, so that nobody can choose prefixes with a customer's cells.
    hash: RandomState,
    cells: Box<[[Cell; CELLS]; TABLES]>,
    most: f32,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    left: f32,
    /// When it was last brought up to date, in milliseconds; wraps after 49 days, which
    /// makes a cell grow late.
    at: u32,
}

impl Allowance {
    /// Nothing is used. No prefix ever has more than `most` left, or the initial value.
    pub fn new(most: usize) -> Self {
        let cell = Cell { left: UNPROVEN_AT_ONCE as f32, at: 0 };
        let cells = Box::new([[cell; CELLS]; TABLES]);
        let mut allowance = Self { hash: RandomState::new(), cells, most: 0.0 };
        allowance.set_most(most);
        allowance
    }

    /// Changes the most that a prefix may have left, if that is above the initial value.
    pub fn set_most(&mut self, most: usize) {
        self.most = (UNPROVEN_AT_ONCE as f32).max(most as f32);
    }

    /// Whether a handshake may begin.
    pub fn is_left(&mut self, prefix: Prefix, now: Duration) -> bool {
        let mut left = 0.0_f32;
        self.update(prefix, now, |cell| left = left.max(cell.left));
        left >= 1.0
    }

    /// A handshake began.
    pub fn begin(&mut self, prefix: Prefix, now: Duration) {
        self.update(prefix, now, |cell| cell.left = (cell.left - 1.0).max(0.0));
    }

    /// A handshake finished.
    pub fn finish(&mut self, prefix: Prefix, now: Duration) {
        let most = self.most;
        self.update(prefix, now, |cell| cell.left = (cell.left + RETURNED).min(most));
    }

    fn update(&mut self, prefix: Prefix, now: Duration, mut change: impl FnMut(&mut Cell)) {
        let now = now.as_millis() as u32;
        let hash = self.hash.hash_one(prefix) as usize;
        for (cells, hash) in self.cells.iter_mut().zip([hash, hash >> 32]) {
            let cell = &mut cells[hash % CELLS];
            let grown = now.wrapping_sub(cell.at) as f32 * (UNPROVEN_PER_SECOND as f32 * 1e-3);
            // What customers earned by finishing stays.
            cell.left = cell.left.max((cell.left + grown).min(UNPROVEN_AT_ONCE as f32));
            cell.at = now;
            change(cell);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::prefix::PrefixLengths;

    fn prefix(n: u32) -> Prefix {
        PrefixLengths { ipv4: 32, ipv6: 56 }.prefix_of(std::net::Ipv4Addr::from_bits(n).into())
    }

    /// How many of so many handshakes may begin.
    fn begun(allowance: &mut Allowance, n: u32, times: u32, now: Duration) -> u32 {
        let mut begun = 0;
        for _ in 0..times {
            if allowance.is_left(prefix(n), now) {
                allowance.begin(prefix(n), now);
                begun += 1;
            }
        }
        begun
    }

    #[test]
    fn a_prefix_may_fail_a_hundred_times_and_then_fifty_times_a_second() {
        let mut allowance = Allowance::new(0);
        assert_eq!(begun(&mut allowance, 1, 500, Duration::ZERO), 100);
        assert_eq!(begun(&mut allowance, 1, 500, Duration::from_secs(1)), 50);
        assert_eq!(begun(&mut allowance, 1, 500, Duration::from_secs(60)), 100);
        assert_eq!(begun(&mut allowance, 2, 500, Duration::from_secs(60)), 100);
    }

    #[test]
    fn a_crowd_behind_one_address_is_not_limited() {
        let mut allowance = Allowance::new(10_000);
        let now = Duration::ZERO;
        // Each round trip the handshakes that began finish.
        for (at_once, expected) in [(50, 50), (500, 150), (500, 300), (500, 500), (5_000, 1_100)] {
            let begun = begun(&mut allowance, 1, at_once, now);
            assert_eq!(begun, expected);
            (0..begun).for_each(|_| allowance.finish(prefix(1), now));
        }
        // A quarter of them fails, as long as it likes.
        for _ in 0..100 {
            assert_eq!(begun(&mut allowance, 1, 100, now), 100);
            (0..75).for_each(|_| allowance.finish(prefix(1), now));
        }
    }

    #[test]
    fn an_allowance_has_a_bound() {
        let mut allowance = Allowance::new(200);
        (0..1_000).for_each(|_| allowance.finish(prefix(1), Duration::ZERO));
        assert_eq!(begun(&mut allowance, 1, 1_000, Duration::ZERO), 200);
        allowance.set_most(300);
        (0..1_000).for_each(|_| allowance.finish(prefix(1), Duration::ZERO));
        assert_eq!(begun(&mut allowance, 1, 1_000, Duration::ZERO), 300);
    }

    #[test]
    fn a_hundred_attackers_leave_others_their_allowance() {
        let mut allowance = Allowance::new(0);
        for n in 0..100 {
            begun(&mut allowance, n, 200, Duration::ZERO);
        }
        // A prefix shares both its cells with attackers with a probability of 0.0006.
        let stopped = (1_000..2_000).filter(|n| !allowance.is_left(prefix(*n), Duration::ZERO));
        assert!(stopped.count() < 50);
    }
}
