//! Messages of the handshake's kind that come after the handshake, however records
//! cut them.
//!
//! Source: RFC 8446, sections 4 and 5.1.

use rustls::{Error, HandshakeType, InvalidMessage};

/// Bytes of a message before its body.
const HEAD: usize = 4;
/// Most bytes of a body, as rustls has it; a ticket has a few hundred.
const LARGEST: usize = 0xffff;

/// What has come and is not a whole message yet.
#[derive(Debug, Default)]
pub(super) struct Messages(Vec<u8>);

impl Messages {
    /// Whether no message has begun.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what a record carries. Whole messages are to be [taken](Self::next)
    /// before more is added.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Takes the first whole message, without its head.
    ///
    /// # Errors
    /// The announced length exceeds the limit.
    pub(super) fn next(&mut self) -> Result<Option<(HandshakeType, Vec<u8>)>, Error> {
        let Some(&[kind, a, b, c]) = self.0.first_chunk::<HEAD>() else { return Ok(None) };
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        if length > LARGEST {
            return Err(InvalidMessage::HandshakePayloadTooLarge.into());
        }
        let end = HEAD + length;
        if self.0.len() < end {
            return Ok(None);
        }
        let body = self.0[HEAD..end].to_vec();
        // Most often nothing, which takes no place.
        self.0 = self.0[end..].to_vec();
        Ok(Some((kind.into(), body)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn take_all(messages: &mut Messages) -> Vec<(u8, Vec<u8>)> {
        let next = || messages.next().unwrap().map(|(kind, body)| (kind.into(), body));
        std::iter::from_fn(next).collect()
    }

    proptest! {
        #[test]
        fn messages_are_whole_however_they_are_cut(
            sent in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..300)), 0..8),
            cut in 1..200_usize,
        ) {
            let mut bytes = Vec::new();
            for (kind, body) in &sent {
                bytes.push(*kind);
                bytes.extend(&(body.len() as u32).to_be_bytes()[1..]);
                bytes.extend(body);
            }
            let (mut messages, mut got) = (Messages::default(), Vec::new());
            for piece in bytes.chunks(cut) {
                messages.add(piece);
                got.extend(take_all(&mut messages));
            }
            prop_assert_eq!(got, sent);
            prop_assert!(messages.is_empty());
            prop_assert_eq!(messages.0.capacity(), 0, "nothing is held after");
        }
    }

    #[test]
    fn a_message_that_would_be_too_long_is_not_waited_for() {
        let mut messages = Messages::default();
        messages.add(&[4, 1, 0, 0]);
        let error = messages.next().unwrap_err();
        assert_eq!(error, InvalidMessage::HandshakePayloadTooLarge.into());
    }
}
