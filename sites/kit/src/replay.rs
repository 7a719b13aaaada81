//! The messages received within the window, so that each is accepted once. Pure: time is an
//! argument.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;
use std::time::Duration;

/// How old a message may be. Sender and receiver share a clock to within this and
/// [`FUTURE`].
pub const WINDOW: Duration = Duration::from_secs(60);
/// How far a message's time may lie in the future.
pub const FUTURE: Duration = Duration::from_secs(5);
/// Most messages that a receiver keeps: 16,000 per second through the window, 50 to 70 MB.
pub const MOST_KEPT: usize = 1 << 20;

/// Received messages, in bounded memory: at most a given number is kept, each until the
/// window has passed and its time alone refuses it. When the store is full, further messages
/// are refused: forgetting one would let it be replayed.
#[derive(Debug)]
pub struct Replay<Id> {
    capacity: usize,
    received: HashSet<Id>,
    /// Received messages by the second in which they may be forgotten, ascending.
    until: VecDeque<(u64, Vec<Id>)>,
}

/// Why a message is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAccepted {
    /// It is older than [`WINDOW`].
    Stale,
    /// It is from further in the future than [`FUTURE`].
    Future,
    /// It was received before.
    Replayed,
    /// No more can be kept, so that a replay could not be recognised.
    Full,
}

/// Checks the time of a message.
///
/// # Errors
/// It is too old, or from the future.
pub fn check_time(sent_ms: u64, now_ms: u64) -> Result<(), NotAccepted> {
    if sent_ms > now_ms.saturating_add(ms(FUTURE)) {
        return Err(NotAccepted::Future);
    }
    if sent_ms.saturating_add(ms(WINDOW)) < now_ms {
        return Err(NotAccepted::Stale);
    }
    Ok(())
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).expect("a minute fits")
}

impl<Id: Copy + Eq + Hash> Replay<Id> {
    /// A store of at most `capacity` messages. One takes about three times the size of its
    /// identity.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, received: HashSet::new(), until: VecDeque::new() }
    }

    /// Accepts a message that was sent at this time, which [`check_time`] allows.
    ///
    /// # Errors
    /// It was received before, or there is no room.
    pub fn accept_sent(&mut self, id: Id, sent_ms: u64, now_ms: u64) -> Result<(), NotAccepted> {
        self.accept(id, sent_ms.saturating_add(ms(WINDOW)), now_ms)
    }

    /// Accepts a message that is not refused by its time before `until_ms`.
    ///
    /// # Errors
    /// It was received before, or there is no room.
    pub fn accept(&mut self, id: Id, until_ms: u64, now_ms: u64) -> Result<(), NotAccepted> {
        self.forget(now_ms);
        if self.received.contains(&id) {
            return Err(NotAccepted::Replayed);
        }
        if self.received.len() >= self.capacity {
            return Err(NotAccepted::Full);
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
    #[cfg(test)]
    fn len(&self) -> usize {
        self.received.len()
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

    fn id(number: u8) -> [u8; 16] {
        [number; 16]
    }

    #[test]
    fn a_message_is_accepted_once_until_its_time_is_over() {
        let mut replay = Replay::new(10);
        assert_eq!(replay.accept(id(1), 60_500, 0), Ok(()));
        for now in [0, 30_000, 60_999] {
            assert_eq!(replay.accept(id(1), 60_500, now), Err(NotAccepted::Replayed), "{now}");
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
        assert_eq!(replay.accept(id(3), 10_000, 0), Err(NotAccepted::Full));
        assert_eq!(replay.accept(id(1), 10_000, 0), Err(NotAccepted::Replayed));
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
