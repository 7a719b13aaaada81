//! Messages encrypted one by one with a key that both tiers have: for connections that are
//! too short for a handshake.
//!
//! A message is an HTTP body of this form, numbers in network order:
//!
//! | field | bytes |
//! | --- | --- |
//! | version, 1 | 1 |
//! | length and name of the key | 1 and 1 to 32 |
//! | sender: random, new with each process | 16 |
//! | number of the message, counted by the sender | 8 |
//! | time, milliseconds since 1970 | 8 |
//! | body, encrypted, and its tag | n and 16 |
//!
//! Each sender encrypts with a key of its own, derived from the shared one by HKDF-SHA-256
//! with the sender as salt and the direction as information; the nonce is the number of the
//! message. So no nonce is used twice under one key, however many processes share it and
//! however many messages they send.
//!
//! The associated data is the header above and where the message belongs: for a request its
//! direction, path and the address that it was sent to; for an answer its direction, path,
//! status and the request's sender and number. A request is accepted once, for a minute,
//! and by the process alone that it was sent to.
//!
//! Sources: RFC 5869 (HKDF), RFC 5116 (AEAD).

mod envelope;
mod keys;
mod opener;
mod sealer;

pub use keys::{Cipher, KeyRing};
pub(super) use opener::{Opener, Refused};
pub(super) use sealer::Sealer;

/// The media type of a sealed message.
pub(super) const MEDIA_TYPE: &str = "application/vnd.tidegate.sealed";
