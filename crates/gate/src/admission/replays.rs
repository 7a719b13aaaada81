//! Detects exact copies of hellos: recorded from the network and sent again. A client
//! draws 32 random bytes for each hello, so no customer sends one twice, and no handshake
//! with a copy can succeed: its sender lacks the secret of the key exchange.
//!
//! Memory is bounded: hashes of the last hellos are kept in two generations, of which the
//! older is dropped when the newer is full.
//!
//! Source: RFC 8446, section 8.2 (Client Hello Recording).

use crate::limits::HELLOS_REMEMBERED;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// The hellos that a core has seen lately.
#[derive(Debug)]
pub struct SeenHellos {
    /// Unpredictable, so that nobody can make a customer's hello look like a copy.
    hash: RandomState,
    newer: HashSet<u64>,
    older: HashSet<u64>,
    generation: usize,
}

impl Default for SeenHellos {
    fn default() -> Self {
        Self::new(HELLOS_REMEMBERED / 2)
    }
}

impl SeenHellos {
    fn new(generation: usize) -> Self {
        let (newer, older) = (HashSet::new(), HashSet::new());
        Self { hash: RandomState::new(), newer, older, generation }
    }

    /// Whether a hello with these random bytes was noted.
    pub fn has(&self, random: &[u8]) -> bool {
        let hash = self.hash.hash_one(random);
        self.newer.contains(&hash) || self.older.contains(&hash)
    }

    /// Notes a hello.
    pub fn note(&mut self, random: &[u8]) {
        if self.newer.len() >= self.generation {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(self.hash.hash_one(random));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_found_among_the_last_hellos() {
        let mut seen = SeenHellos::new(100);
        for n in 0..1_000_u32 {
            assert!(!seen.has(&n.to_be_bytes()));
            seen.note(&n.to_be_bytes());
            assert!(seen.has(&n.saturating_sub(99).to_be_bytes()));
        }
        assert!(!seen.has(&0_u32.to_be_bytes()));
        assert!(seen.newer.len() + seen.older.len() <= 200);
    }
}
