//! The cookie of a session: what a ticket is where TLS does not end at the gate. It is a sealed
//! value (see [`sealed_value`](crate::admission::sealed_value)).

use crate::admission::sealed_value::text_len;
use crate::admission::tickets::{Keyring, SessionId, TicketError};

/// The label of the keys' derivation (RFC 5869, `info`).
pub(super) const LABEL: &[u8] = b"tidegate session cookie 1";
/// Version of the claims' encoding; a cookie of another version does not open.
const ENCODING: u8 = 1;
const CLAIMS_LEN: usize = 1 + 16 + 4 + 4;

/// Length of a value, in characters.
pub const VALUE_LEN: usize = text_len(CLAIMS_LEN);

/// The value of a cookie as it was sent.
pub type Value = [u8; VALUE_LEN];

/// What a cookie says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CookieClaims {
    /// The session.
    pub session: SessionId,
    /// When the session began, in seconds since 1970.
    pub began: u64,
    /// When this cookie was made, in seconds since 1970.
    pub issued: u64,
}

impl CookieClaims {
    /// Whether a new one is due at `now`: after a quarter of the lifetime, so that a customer
    /// has three quarters of it left after each request, and few responses set one.
    pub fn is_renewable(&self, now: u64, lifetime_s: u64) -> bool {
        now >= self.issued.saturating_add(lifetime_s / 4)
    }

    fn encode(&self) -> [u8; CLAIMS_LEN] {
        let mut out = [ENCODING; CLAIMS_LEN];
        out[1..17].copy_from_slice(&self.session);
        // Seconds in 32 bits last until 2106.
        out[17..21].copy_from_slice(&(self.began as u32).to_be_bytes());
        out[21..].copy_from_slice(&(self.issued as u32).to_be_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (encoding, rest) = bytes.split_first()?;
        let (session, rest) = rest.split_first_chunk::<16>()?;
        let (began, rest) = rest.split_first_chunk::<4>()?;
        let issued = <[u8; 4]>::try_from(rest).ok()?;
        (*encoding == ENCODING).then(|| Self {
            session: *session,
            began: u32::from_be_bytes(*began).into(),
            issued: u32::from_be_bytes(issued).into(),
        })
    }
}

impl Keyring {
    /// Seals a cookie; `None` if the system's random generator failed.
    pub fn seal_cookie(&self, claims: &CookieClaims) -> Option<String> {
        self.seal_value(|key| &key.cookies, claims.encode(), claims.issued)
    }

    /// Opens a cookie at `now`, in seconds since 1970.
    ///
    /// # Errors
    /// It was not sealed by the gate, or has expired.
    pub fn open_cookie(&self, value: &Value, now: u64) -> Result<CookieClaims, TicketError> {
        let plain = self.open_value::<CLAIMS_LEN>(|key| &key.cookies, value)?;
        let claims = CookieClaims::decode(&plain).ok_or(TicketError::Foreign)?;
        if now > claims.issued.saturating_add(self.lifetime_s()) {
            return Err(TicketError::Expired);
        }
        Ok(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::tickets::{Claims, Holder, Terms};
    use crate::ticket_secret::{NAME_LEN, Secret};
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use proptest::prelude::*;
    use std::time::Duration;

    const HOUR: Duration = Duration::from_secs(3600);
    const CLAIMS: CookieClaims =
        CookieClaims { session: *b"0123456789abcdef", began: 1_000, issued: 2_000 };

    fn ring() -> Keyring {
        Keyring::new(HOUR, HOUR / 2, 2_000).unwrap()
    }

    fn value(text: &str) -> Value {
        text.as_bytes().try_into().unwrap()
    }

    #[test]
    fn a_cookie_opens_to_what_was_sealed_until_it_expires() {
        let ring = ring();
        let cookie = value(&ring.seal_cookie(&CLAIMS).unwrap());
        assert_eq!(ring.open_cookie(&cookie, 5_600), Ok(CLAIMS));
        assert_eq!(ring.open_cookie(&cookie, 5_601), Err(TicketError::Expired));
        assert_eq!(self::ring().open_cookie(&cookie, 2_001), Err(TicketError::Foreign));
    }

    #[test]
    fn a_cookie_is_renewed_after_a_quarter_of_its_lifetime() {
        assert!(!CLAIMS.is_renewable(2_899, 3_600));
        assert!(CLAIMS.is_renewable(2_900, 3_600));
    }

    #[test]
    fn two_cookies_of_a_session_do_not_show_that_they_are_the_same() {
        let ring = ring();
        let [one, two] = [(); 2].map(|()| ring.seal_cookie(&CLAIMS).unwrap());
        let name = NAME_LEN * 4 / 3;
        assert_eq!(one[..name], two[..name], "the key's name");
        assert_ne!(one[name + 2..], two[name + 2..]);
    }

    #[test]
    fn an_old_key_opens_cookies_as_long_as_tickets() {
        let ring = ring();
        let last = CookieClaims { issued: 3_799, ..CLAIMS };
        let cookie = value(&ring.seal_cookie(&last).unwrap());
        assert!(ring.rotate(3_800).unwrap());
        assert_eq!(ring.open_cookie(&cookie, 7_399), Ok(last));
        assert!(ring.rotate(5_600).unwrap() && ring.rotate(7_491).unwrap());
        assert_eq!(ring.open_cookie(&cookie, 7_399), Err(TicketError::Foreign));
    }

    #[test]
    fn gates_with_the_same_ticket_key_open_each_others_cookies() {
        let secret = || Secret { name: [3; 8], since: 0, secret: vec![7; 32].into() };
        let [one, two] = [(); 2].map(|()| Keyring::of(&[secret()], HOUR, HOUR).unwrap());
        let cookie = value(&one.seal_cookie(&CLAIMS).unwrap());
        assert_eq!(two.open_cookie(&cookie, 2_000), Ok(CLAIMS));
    }

    #[test]
    fn a_ticket_is_no_cookie_and_a_cookie_no_ticket() {
        let ring = ring();
        let cookie = ring.seal_cookie(&CLAIMS).unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(&cookie).unwrap();
        assert_eq!(ring.open(&bytes, 2_000), Err(TicketError::Foreign));
        let terms = Terms { version: 0x0304, suite: 0x1301, extended_master_secret: false };
        let (session, began, issued) = (CLAIMS.session, 1_000, 2_000);
        let (uses, server_name, client_auth) = (0, 0, 0);
        let holder = Holder::Session;
        let claims =
            Claims { session, holder, began, issued, uses, terms, server_name, client_auth };
        let ticket = ring.seal(&claims, b"").unwrap();
        let shown = URL_SAFE_NO_PAD.encode(&ticket[..bytes.len()]);
        assert_eq!(ring.open_cookie(&value(&shown), 2_000), Err(TicketError::Foreign));
    }

    proptest! {
        #[test]
        fn no_changed_cookie_opens(at in 0..VALUE_LEN, by in any::<u8>()) {
            let ring = ring();
            let mut cookie = value(&ring.seal_cookie(&CLAIMS).unwrap());
            prop_assume!(cookie[at] != by);
            cookie[at] = by;
            prop_assert_eq!(ring.open_cookie(&cookie, 2_001), Err(TicketError::Foreign));
        }

        #[test]
        fn arbitrary_values_never_open(junk in proptest::collection::vec(any::<u8>(), VALUE_LEN)) {
            let junk = Value::try_from(junk).unwrap();
            prop_assert_eq!(ring().open_cookie(&junk, 2_001), Err(TicketError::Foreign));
        }
    }
}
