//! Which places were used: each admits once.

use super::WaitingId;
use std::collections::{HashSet, VecDeque};

/// Most admissions from the room that a gate remembers, so that no place is used twice and
/// tickets of those who waited are recognized: about 50 bytes each.
const ADMITTED_REMEMBERED: usize = 400_000;

/// Identifiers that were admitted, as many as fit, the newest.
#[derive(Debug, Default)]
pub struct Admitted {
    ids: HashSet<WaitingId>,
    order: VecDeque<(u64, WaitingId)>,
    /// Identifiers that were admitted up to this time are forgotten, in milliseconds.
    forgotten_ms: Option<u64>,
    /// Own ones that the other gates of a fleet were not told of, the newest [`MOST_UNTOLD`].
    untold: VecDeque<(u64, WaitingId)>,
}

/// Most admissions that wait to be told: those of five minutes without NATS, at 30 a second.
const MOST_UNTOLD: usize = 20_000;
/// Most admissions in one message to the other gates.
pub const MOST_TOLD: usize = 1000;
/// Bytes of an admission: when, in milliseconds, big-endian, and the identifier.
const ENTRY: usize = 24;
/// Most bytes of [`WaitingRoom::take_used`](super::WaitingRoom::take_used).
pub const MOST_TOLD_BYTES: usize = MOST_TOLD * ENTRY;

fn to_bytes(entries: impl Iterator<Item = (u64, WaitingId)>) -> Vec<u8> {
    entries.flat_map(|(at, id)| at.to_be_bytes().into_iter().chain(id)).collect()
}

/// Entries of [`to_bytes`]. What is shorter than an entry is left out.
fn from_bytes(bytes: &[u8]) -> impl DoubleEndedIterator<Item = (u64, WaitingId)> {
    bytes.as_chunks::<ENTRY>().0.iter().map(|entry| {
        let (mut at, mut id) = ([0; 8], WaitingId::default());
        at.copy_from_slice(&entry[..8]);
        id.copy_from_slice(&entry[8..]);
        (u64::from_be_bytes(at), id)
    })
}

impl Admitted {
    /// An identifier is used.
    pub fn add(&mut self, id: WaitingId, now_ms: u64) {
        self.add_within(id, now_ms, ADMITTED_REMEMBERED);
        if self.untold.len() == MOST_UNTOLD {
            self.untold.pop_front();
        }
        self.untold.push_back((now_ms, id));
    }

    /// The first of those that were added here and not taken yet, as bytes of [`Admitted::since`].
    pub fn take_untold(&mut self) -> Vec<u8> {
        to_bytes(self.untold.drain(..self.untold.len().min(MOST_TOLD)))
    }

    /// What was taken could not be told, and is to be taken again.
    pub fn put_back_untold(&mut self, bytes: &[u8]) {
        let room = MOST_UNTOLD - self.untold.len();
        from_bytes(bytes).rev().take(room).for_each(|entry| self.untold.push_front(entry));
    }

    fn add_within(&mut self, id: WaitingId, now_ms: u64, most: usize) {
        if !self.ids.insert(id) {
            return;
        }
        self.order.push_back((now_ms, id));
        while self.order.len() > most {
            let Some((at, oldest)) = self.order.pop_front() else { break };
            self.ids.remove(&oldest);
            self.forgotten_ms = Some(at);
        }
    }

    /// Those that were admitted since a time, as bytes: when, big-endian, and the identifier, of
    /// each. The first tells in place of an identifier, with zeros, until when some are forgotten.
    pub fn since(&self, from_ms: u64) -> Vec<u8> {
        let forgotten = self.forgotten_ms.filter(|forgotten| *forgotten >= from_ms);
        let forgotten = forgotten.map(|at| (at, WaitingId::default()));
        let later = self.order.iter().filter(|(at, _)| *at >= from_ms).copied();
        to_bytes(forgotten.into_iter().chain(later))
    }

    /// Adds what another has of [`Admitted::since`]. What is shorter than an entry is left out.
    pub fn add_all(&mut self, bytes: &[u8]) {
        for (at, id) in from_bytes(bytes) {
            if id == WaitingId::default() {
                self.forgotten_ms = self.forgotten_ms.max(Some(at));
            } else {
                self.add_within(id, at, ADMITTED_REMEMBERED);
            }
        }
    }

    /// Whether an identifier was used, as far as is remembered.
    pub fn has(&self, id: &WaitingId) -> bool {
        self.ids.contains(id)
    }

    /// Whether a place may not have been used yet, which was last seen then: it was not, and
    /// none that was is forgotten that could be it.
    pub fn may_be_unused(&self, id: &WaitingId, seen_ms: u64) -> bool {
        !self.has(id) && self.forgotten_ms.is_none_or(|forgotten| seen_ms > forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_used_place_stays_used_when_it_is_forgotten() {
        let mut admitted = Admitted::default();
        admitted.add_within([1; 16], 1_000, 2);
        assert!(admitted.has(&[1; 16]) && !admitted.may_be_unused(&[1; 16], 900));
        admitted.add_within([2; 16], 2_000, 2);
        admitted.add_within([3; 16], 3_000, 2);
        assert!(!admitted.has(&[1; 16]));
        assert!(!admitted.may_be_unused(&[1; 16], 1_000), "its token was last seen before it");
        assert!(admitted.may_be_unused(&[4; 16], 1_001), "seen since, and not admitted");
    }

    #[test]
    fn other_gates_are_told_of_each_once_and_tell_it_to_nobody() {
        let (mut here, mut there) = (Admitted::default(), Admitted::default());
        here.add([1; 16], 1_000);
        here.add([2; 16], 2_000);
        there.add_all(&here.take_untold());
        assert!(there.has(&[1; 16]) && there.has(&[2; 16]));
        assert!(here.take_untold().is_empty() && there.take_untold().is_empty());
    }

    #[test]
    fn those_that_could_not_be_told_are_told_in_later_messages_as_many_as_each_holds() {
        let mut here = Admitted::default();
        (0..=MOST_TOLD as u64).for_each(|at| here.add((u128::from(at) + 9).to_be_bytes(), at));
        let told = here.take_untold();
        assert_eq!((told.len(), &told[..8]), (MOST_TOLD_BYTES, &0_u64.to_be_bytes()[..]));
        here.put_back_untold(&told);
        assert_eq!(here.take_untold(), told);
        assert_eq!(here.take_untold().len(), ENTRY);
        (0..=MOST_UNTOLD as u64).for_each(|at| here.add((u128::from(at) + 9).to_be_bytes(), at));
        here.put_back_untold(&told);
        assert_eq!(here.take_untold()[..8], 1_u64.to_be_bytes(), "the newest are kept");
    }

    #[test]
    fn another_gate_knows_what_was_used_and_what_was_forgotten() {
        let mut before = Admitted::default();
        for id in 1..=3 {
            before.add_within([id; 16], 1_000 * u64::from(id), 2);
        }
        let mut after = Admitted::default();
        after.add_all(&before.since(600));
        after.add_all(&before.since(600));
        assert!(after.has(&[2; 16]) && after.has(&[3; 16]));
        assert!(!after.may_be_unused(&[1; 16], 1_000) && after.may_be_unused(&[4; 16], 1_001));
        assert_eq!(after.order.len(), 2, "each once");
        // The last one is cut off.
        let mut cut = Admitted::default();
        cut.add_all(&before.since(2_500)[..23]);
        assert!(cut.order.is_empty());
    }
}
