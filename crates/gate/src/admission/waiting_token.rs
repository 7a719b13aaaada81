//! The token of somebody in the waiting room: when they came and when they were last seen, in a
//! cookie that only the gate can make and read (see
//! [`sealed_value`](crate::admission::sealed_value)). Every gate with the key reads it, so nothing
//! is stored for those who wait.
//!
//! It binds to no address: those of mobile networks change. A token that is shared is one place
//! all the same, since the room lets each identifier in once.

use crate::admission::sealed_value::text_len;
use crate::admission::tickets::{Keyring, TicketError};
use tidegate_control::waiting_room::WaitingToken;

/// The label of the keys' derivation (RFC 5869, `info`).
pub(super) const LABEL: &[u8] = b"tidegate waiting token 1";
/// Version of the claims' encoding; a token of another version does not open.
const ENCODING: u8 = 1;
const CLAIMS_LEN: usize = 1 + 16 + 8 + 8;

/// Length of a token, in characters.
pub const TOKEN_LEN: usize = text_len(CLAIMS_LEN);

fn encode(token: &WaitingToken) -> [u8; CLAIMS_LEN] {
    let mut out = [ENCODING; CLAIMS_LEN];
    out[1..17].copy_from_slice(&token.id);
    out[17..25].copy_from_slice(&token.arrived_ms.to_be_bytes());
    out[25..].copy_from_slice(&token.seen_ms.to_be_bytes());
    out
}

fn decode(bytes: &[u8; CLAIMS_LEN]) -> Option<WaitingToken> {
    let (encoding, rest) = bytes.split_first()?;
    let (id, rest) = rest.split_first_chunk::<16>()?;
    let (arrived, seen) = rest.split_first_chunk::<8>()?;
    let seen = <[u8; 8]>::try_from(seen).ok()?;
    (*encoding == ENCODING).then(|| WaitingToken {
        id: *id,
        arrived_ms: u64::from_be_bytes(*arrived),
        seen_ms: u64::from_be_bytes(seen),
    })
}

impl Keyring {
    /// Seals a token now, in seconds since 1970; `None` if the system's random generator failed.
    pub fn seal_waiting(&self, token: &WaitingToken, now: u64) -> Option<String> {
        self.seal_value(|key| &key.waiting, encode(token), now)
    }

    /// Opens a token, whatever its age.
    ///
    /// # Errors
    /// It was not sealed by the gate.
    pub fn open_waiting(&self, value: &[u8]) -> Result<WaitingToken, TicketError> {
        let plain = self.open_value::<CLAIMS_LEN>(|key| &key.waiting, value)?;
        decode(&plain).ok_or(TicketError::Foreign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::session_cookie::CookieClaims;
    use crate::ticket_secret::Secret;
    use proptest::prelude::*;
    use std::time::Duration;

    const HOUR: Duration = Duration::from_secs(3600);
    const TOKEN: WaitingToken =
        WaitingToken { id: *b"0123456789abcdef", arrived_ms: 1_000_000, seen_ms: 2_000_000 };

    fn ring() -> Keyring {
        Keyring::new(HOUR, HOUR / 2, 2_000).unwrap()
    }

    #[test]
    fn a_token_opens_to_what_was_sealed_and_another_gates_does_not() {
        let ring = ring();
        let text = ring.seal_waiting(&TOKEN, 2_000).unwrap();
        assert_eq!(text.len(), TOKEN_LEN);
        assert_eq!(ring.open_waiting(text.as_bytes()), Ok(TOKEN));
        assert_eq!(self::ring().open_waiting(text.as_bytes()), Err(TicketError::Foreign));
    }

    #[test]
    fn a_token_opens_after_the_key_was_replaced() {
        let ring = ring();
        let text = ring.seal_waiting(&TOKEN, 2_000).unwrap();
        assert!(ring.rotate(3_800).unwrap());
        assert_eq!(ring.open_waiting(text.as_bytes()), Ok(TOKEN));
    }

    #[test]
    fn gates_with_the_same_ticket_key_open_each_others_tokens() {
        let secret = || Secret { name: [3; 8], since: 0, secret: vec![7; 32].into() };
        let [one, two] = [(); 2].map(|()| Keyring::of(&[secret()], HOUR, HOUR).unwrap());
        let text = one.seal_waiting(&TOKEN, 2_000).unwrap();
        assert_eq!(two.open_waiting(text.as_bytes()), Ok(TOKEN));
    }

    #[test]
    fn a_session_cookie_is_no_token() {
        let ring = ring();
        let claims = CookieClaims { session: TOKEN.id, began: 1_000, issued: 2_000 };
        let cookie = ring.seal_cookie(&claims).unwrap();
        assert_eq!(ring.open_waiting(cookie.as_bytes()), Err(TicketError::Foreign));
    }

    proptest! {
        #[test]
        fn no_changed_token_opens(at in 0..TOKEN_LEN, by in any::<u8>()) {
            let ring = ring();
            let mut text = ring.seal_waiting(&TOKEN, 2_000).unwrap().into_bytes();
            prop_assume!(text[at] != by);
            text[at] = by;
            prop_assert_eq!(ring.open_waiting(&text), Err(TicketError::Foreign));
        }

        #[test]
        fn arbitrary_bytes_never_open(junk in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(ring().open_waiting(&junk), Err(TicketError::Foreign));
        }
    }
}
