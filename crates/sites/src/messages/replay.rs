//! The messages received within the window, so that each is accepted once. Pure: time is an
//! argument.

use std::collections::{HashSet, VecDeque};

use super::message::Id;
use super::refused::Refused;

/// Received messages, in bounded memory: at most a given number is kept, each until the
/// window has passed and its time alone refuses it. When the store is full, further messages
/// are refused: forgetting one would let it be replayed.
#[derive(Debug)]
pub struct Replay {
    capacity: usize,
    received: HashSet<Id>,
    /// Received messages by the second in which they may be forgotten, ascending.
    until: VecDeque<(u64, Vec<Id>)>,
}

impl Replay {
    /// A store of at most `capacity` messages. One takes about 50 bytes.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, received: HashSet::new(), until: VecDeque::new() }
    }

    /// Accepts a message that is not refused by its time before `until_ms`.
    ///
    /// # Errors
    /// [`Refused::Replayed`] or [`Refused::StoreFull`].
    pub fn accept(&mut self, id: Id, until_ms: u64, now_ms: u64) -> Result<(), Refused> {
        self.forget(now_ms);
        if self.received.contains(&id) {
            return Err(Refused::Replayed);
        }
        if self.received.len() >= self.capacity {
            return Err(Refused::StoreFull);
        }
        self.received.insert(id);
        // Rounded up: a message is not forgotten before its time refuses it.
        let second = until_ms / 1000 + 1;
        match self.until.binary_search_by_key(&second, |(second, _)| *second) {
            Ok(at) => self.until[at].1.push(id),
            Err(at) => self.until.insert(at, (second, vec![id])),
        }
        Ok(())
    }

    /// How many messages are kept.
    pub fn len(&self) -> usize {
        self.received.len()
    }

    /// Whether no message is kept.
    pub fn is_empty(&self) -> bool {
        self.received.is_empty()
    }

    fn forget(&mut self, now_ms: u64) {
        while let Some((second, _)) = self.until.front()
            && second * 1000 <= now_ms
        {
            for id in self.until.pop_front().into_iter().flat_map(|(_, ids)| ids) {
                self.received.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> Id {
        Id([number; 16])
    }

    #[test]
    fn a_message_is_accepted_once_until_its_time_is_over() {
        let mut replay = Replay::new(10);
        assert_eq!(replay.accept(id(1), 60_500, 0), Ok(()));
        for now in [0, 30_000, 60_999] {
            assert_eq!(replay.accept(id(1), 60_500, now), Err(Refused::Replayed), "{now}");
        }
        assert_eq!(replay.accept(id(2), 90_000, 61_000), Ok(()));
        assert_eq!(replay.len(), 1, "the first is forgotten");
    }

    #[test]
    fn a_full_store_refuses_and_forgets_nothing() {
        let mut replay = Replay::new(2);
        for number in [1, 2] {
            replay.accept(id(number), 10_000, 0).unwrap();
        }
        assert_eq!(replay.accept(id(3), 10_000, 0), Err(Refused::StoreFull));
        assert_eq!(replay.accept(id(1), 10_000, 0), Err(Refused::Replayed));
        assert_eq!(replay.accept(id(3), 30_000, 11_000), Ok(()));
    }

    #[test]
    fn messages_are_forgotten_in_the_order_of_their_times() {
        let mut replay = Replay::new(9);
        for (number, until) in [(1, 30_000), (2, 10_000), (3, 20_000), (4, 10_500)] {
            replay.accept(id(number), until, 0).unwrap();
        }
        replay.accept(id(5), 50_000, 11_000).unwrap();
        assert_eq!(replay.len(), 3);
        replay.accept(id(6), 50_000, 31_000).unwrap();
        assert_eq!(replay.len(), 2);
    }
}
