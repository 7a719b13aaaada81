//! Which handshakes are full, where a set share of them is to be.

use rand::{RngExt, SeedableRng};

use crate::rng::Rng;

/// Connections within which the share comes out exactly.
const BLOCK: u32 = 100;

/// Decides connection by connection: at random, but of each [`BLOCK`] just as
/// many are full as should be, give or take the fraction that is carried over.
///
/// Source: D. E. Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S
/// (selection sampling).
#[derive(Debug)]
pub(crate) struct HandshakeSchedule {
    share: f64,
    /// Connections of the block that are still to come, and full ones of them.
    left: u32,
    full: u32,
    carry: f64,
    /// Handshakes that came out full though they should not have.
    owed: u32,
    rng: Rng,
}

impl HandshakeSchedule {
    /// `share` is 0 to 1.
    pub(crate) fn new(share: f64, seed: u64) -> Self {
        let rng = Rng::seed_from_u64(seed);
        Self { share, left: 0, full: 0, carry: 0.0, owed: 0, rng }
    }

    /// Whether the next handshake is to be full.
    pub(crate) fn is_full(&mut self) -> bool {
        if self.left == 0 {
            let wanted = f64::from(BLOCK) * self.share + self.carry;
            // A sum of shares may fall short of a whole by a rounding.
            let whole = (wanted + 1e-9).floor();
            (self.left, self.full, self.carry) = (BLOCK, whole as u32, wanted - whole);
        }
        let full = self.rng.random_range(0..self.left) < self.full;
        self.left -= 1;
        self.full -= u32::from(full);
        if full && self.owed > 0 {
            self.owed -= 1;
            return false;
        }
        full
    }

    /// A handshake that was to be resumed is full: for want of a ticket, or
    /// because the server declined it. A later one is resumed in place of a full
    /// one; what cannot be made good within a block is forgotten.
    pub(crate) fn owe(&mut self) {
        self.owed = (self.owed + 1).min(BLOCK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(mix: &mut HandshakeSchedule, connections: u32) -> u32 {
        (0..connections).map(|_| u32::from(mix.is_full())).sum()
    }

    #[test]
    fn the_share_is_exact_in_every_block_and_fractions_are_carried_over() {
        let mut mix = HandshakeSchedule::new(0.3, 1);
        assert!((0..50).all(|_| count(&mut mix, 100) == 30));
        // 0.333 of 1000 is 333, of which each block has 33 or 34.
        let mut mix = HandshakeSchedule::new(0.333, 1);
        let blocks: Vec<u32> = (0..10).map(|_| count(&mut mix, 100)).collect();
        assert_eq!(blocks.iter().sum::<u32>(), 333);
        assert!(blocks.iter().all(|full| (33..=34).contains(full)), "{blocks:?}");
        assert_eq!(count(&mut HandshakeSchedule::new(0.0, 1), 1000), 0);
        assert_eq!(count(&mut HandshakeSchedule::new(1.0, 1), 1000), 1000);
    }

    #[test]
    fn the_order_is_random_and_the_seeds() {
        let order = |seed| {
            let mut mix = HandshakeSchedule::new(0.5, seed);
            (0..400).map(|_| mix.is_full()).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        // Of 399 neighbours about half differ; in strict alternation all would.
        let drawn = order(1);
        let changes = drawn.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((160..=240).contains(&changes), "{changes}");
    }

    #[test]
    fn what_came_out_full_is_made_good_but_no_more_than_a_block() {
        let mut mix = HandshakeSchedule::new(0.3, 1);
        (0..10).for_each(|_| mix.owe());
        assert_eq!(count(&mut mix, 100), 20);
        assert_eq!(count(&mut mix, 100), 30);
        (0..1000).for_each(|_| mix.owe());
        assert_eq!(count(&mut mix, 400), 20);
    }
}
