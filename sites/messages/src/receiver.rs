//! What a party accepts, whatever the format: the right parties, a fresh time, each message
//! once, and answers to its own requests only. Pure: time is an argument.

use std::sync::{Mutex, PoisonError};

use crate::keys::Party;
use crate::message::{Id, Message};
use crate::refused::Refused;
use tidegate_sitekit::replay::{MOST_KEPT, NotAccepted, Replay, check_time};

/// One party's memory of what it received. Requests are kept until the window has passed.
#[derive(Debug)]
pub struct Receiver {
    party: Party,
    received: Mutex<Replay<Id>>,
}

impl Receiver {
    /// A party that has received nothing yet.
    pub fn new(party: Party) -> Self {
        Self::with_capacity(party, MOST_KEPT)
    }

    /// The same, with room for this many messages.
    pub fn with_capacity(party: Party, capacity: usize) -> Self {
        Self { party, received: Mutex::new(Replay::new(capacity)) }
    }

    /// Whether a request whose signature was verified is accepted. It is remembered then: a
    /// message that anybody could have made takes no room.
    ///
    /// # Errors
    /// Another sender or recipient, too old, from the future, received before, or no room.
    pub fn accept(&self, request: &Message, now_ms: u64) -> Result<(), Refused> {
        self.check_parties_and_time(request, now_ms)?;
        if request.in_reply_to.is_some() {
            return Err(Refused::Unbound);
        }
        let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(received.accept_sent(request.id, request.issued_ms, now_ms)?)
    }

    /// Whether an answer whose signature was verified is accepted for a request. A request
    /// has one answer, so the name of the request binds it and no memory is needed.
    ///
    /// # Errors
    /// Another sender or recipient, too old, from the future, or to another request.
    pub fn accept_answer(&self, answer: &Message, to: Id, now_ms: u64) -> Result<(), Refused> {
        self.check_parties_and_time(answer, now_ms)?;
        if answer.in_reply_to == Some(to) { Ok(()) } else { Err(Refused::Unbound) }
    }

    fn check_parties_and_time(&self, message: &Message, now_ms: u64) -> Result<(), Refused> {
        if message.recipient != self.party {
            return Err(Refused::Recipient);
        }
        if message.sender != self.party.other() {
            return Err(Refused::Sender);
        }
        Ok(check_time(message.issued_ms, now_ms)?)
    }
}

impl From<NotAccepted> for Refused {
    fn from(why: NotAccepted) -> Self {
        match why {
            NotAccepted::Stale => Self::Stale,
            NotAccepted::Future => Self::Future,
            NotAccepted::Replayed => Self::Replayed,
            NotAccepted::Full => Self::StoreFull,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;

    const NOW: u64 = 1_000_000;

    fn request() -> Message {
        Message::request(Operation::Echo, "x".into(), NOW).unwrap()
    }

    #[test]
    fn a_request_is_accepted_once_and_within_its_time() {
        let server = Receiver::new(Party::Server);
        let request = request();
        for (now, expected) in [
            (NOW - 5_001, Err(Refused::Future)),
            (NOW + 60_001, Err(Refused::Stale)),
            (NOW - 5_000, Ok(())),
            (NOW, Err(Refused::Replayed)),
            (NOW + 60_000, Err(Refused::Replayed)),
            (NOW + 62_000, Err(Refused::Stale)),
            (u64::MAX, Err(Refused::Stale)),
        ] {
            assert_eq!(server.accept(&request, now), expected, "{now}");
        }
        let last = Message { id: Id([9; 16]), issued_ms: u64::MAX, ..request };
        assert_eq!(server.accept(&last, NOW), Err(Refused::Future));
    }

    #[test]
    fn requests_for_or_from_somebody_else_are_refused() {
        let server = Receiver::new(Party::Server);
        let request = request();
        let misdirected = Message { recipient: Party::Client, ..request.clone() };
        assert_eq!(server.accept(&misdirected, NOW), Err(Refused::Recipient));
        let reflected = Message { sender: Party::Server, ..request.clone() };
        assert_eq!(server.accept(&reflected, NOW), Err(Refused::Sender));
        let answer = Message { in_reply_to: Some(request.id), ..request };
        assert_eq!(server.accept(&answer, NOW), Err(Refused::Unbound));
    }

    #[test]
    fn a_full_store_refuses_requests_but_no_answers() {
        let server = Receiver::with_capacity(Party::Server, 1);
        server.accept(&request(), NOW).unwrap();
        assert_eq!(server.accept(&request(), NOW), Err(Refused::StoreFull));
    }

    #[test]
    fn an_answer_is_accepted_for_its_own_request_alone() {
        let client = Receiver::new(Party::Client);
        let (request, other) = (request(), request());
        let answer = request.answer(1, NOW).unwrap();
        assert_eq!(client.accept_answer(&answer, request.id, NOW), Ok(()));
        assert_eq!(client.accept_answer(&answer, other.id, NOW), Err(Refused::Unbound));
        assert_eq!(client.accept_answer(&answer, request.id, NOW + 61_000), Err(Refused::Stale));
    }
}
