//! Tickets: the proof that a connection belongs to an active session.
//!
//! On the wire a ticket is `key name (8) · nonce (12) · sealed · tag (16)`,
//! AES-256-GCM with the header as associated data. Sealed are the [`Claims`]
//! and after them the TLS library's own state. Keys rotate: new tickets are
//! sealed with the newest; older keys open until the lifetime has passed.
//! Nothing in a ticket is trusted before it was opened.

use crate::admission::{sealed_value, session_cookie, waiting_token};
use crate::ticket_secret::{NAME_LEN, Secret};
use arc_swap::ArcSwap;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::{error::Unspecified, rand};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tidegate_hello::negotiate;

const TAG_LEN: usize = 16;
const CLAIMS_LEN: usize = 54;
const HEADER_LEN: usize = NAME_LEN + NONCE_LEN;
/// Version of the claims' encoding in a session's ticket; a ticket of another version does not
/// open.
const ENCODING: u8 = 2;
/// The same in a ticket of somebody who waits: what knows no waiting room opens none of these.
const ENCODING_WAITS: u8 = 3;

/// How long after its hello was classified a ticket must still open: longer than
/// any handshake may take.
pub const GRACE: Duration = Duration::from_secs(90);

/// Identifies a session: random, unguessable, never sent outside a ticket.
pub type SessionId = [u8; 16];

/// Draws a new session's identifier.
///
/// # Errors
/// The system's random generator failed.
pub fn new_session_id() -> Result<SessionId, Unspecified> {
    let mut id = [0; 16];
    rand::fill(&mut id)?;
    Ok(id)
}

/// Version and suite that a handshake ends with, and whether it uses the
/// extended master secret (always `false` for TLS 1.3, which has no other).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Protocol version, 0x0303 or 0x0304.
    pub version: u16,
    /// Cipher suite.
    pub suite: u16,
    /// Extended master secret (RFC 7627), TLS 1.2 only.
    pub extended_master_secret: bool,
}

/// Who holds a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A customer of an admitted session.
    Session,
    /// Somebody in the waiting room: the ticket saves them a full handshake and admits nobody.
    /// Once they are admitted, the session has the identifier of the ticket.
    Waiting,
}

/// The gate's own part of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The session of the ticket.
    pub session: SessionId,
    /// Who holds it.
    pub holder: Holder,
    /// When the session began, in seconds since 1970.
    pub began: u64,
    /// When this ticket was made, in seconds since 1970.
    pub issued: u64,
    /// How many connections the session had before the one that got this ticket.
    pub uses: u32,
    /// What the handshake agreed on.
    pub terms: Terms,
    /// Of the requested server name, see `tidegate_hello::negotiate::server_name_hash`.
    pub server_name: u64,
    /// By which rules the client's certificate was verified: a hash of them, 0 for none.
    pub client_auth: u64,
}

impl Claims {
    /// What decides whether the session of the ticket is resumed.
    pub fn resumable(&self) -> negotiate::Session {
        negotiate::Session {
            suite: self.terms.suite,
            server_name: self.server_name,
            extended_master_secret: self.terms.extended_master_secret,
        }
    }

    /// From when on the lifetime counts: the ticket's making. A resumed connection gets a new
    /// ticket, so one could follow the other without end; and the TLS library does not verify
    /// a client's certificate again. So with one the lifetime counts from the session's
    /// beginning, when it was verified.
    fn valid_from(&self) -> u64 {
        if self.client_auth == 0 { self.issued } else { self.began }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(match self.holder {
            Holder::Session => ENCODING,
            Holder::Waiting => ENCODING_WAITS,
        });
        out.extend(self.session);
        out.extend(self.began.to_be_bytes());
        // Seconds in 32 bits last until 2106.
        out.extend((self.issued as u32).to_be_bytes());
        out.extend(self.uses.to_be_bytes());
        out.extend(self.terms.version.to_be_bytes());
        out.extend(self.terms.suite.to_be_bytes());
        out.push(u8::from(self.terms.extended_master_secret));
        out.extend(self.server_name.to_be_bytes());
        out.extend(self.client_auth.to_be_bytes());
    }

    fn decode(bytes: &[u8; CLAIMS_LEN]) -> Option<Self> {
        fn split<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
            let (head, rest) = bytes.split_first_chunk::<N>()?;
            *bytes = rest;
            Some(*head)
        }
        let mut rest = &bytes[..];
        let holder = match split::<1>(&mut rest)? {
            [ENCODING] => Holder::Session,
            [ENCODING_WAITS] => Holder::Waiting,
            _ => return None,
        };
        Some(Self {
            session: split(&mut rest)?,
            holder,
            began: u64::from_be_bytes(split(&mut rest)?),
            issued: u64::from(u32::from_be_bytes(split(&mut rest)?)),
            uses: u32::from_be_bytes(split(&mut rest)?),
            terms: Terms {
                version: u16::from_be_bytes(split(&mut rest)?),
                suite: u16::from_be_bytes(split(&mut rest)?),
                extended_master_secret: split::<1>(&mut rest)? == [1],
            },
            server_name: u64::from_be_bytes(split(&mut rest)?),
            client_auth: u64::from_be_bytes(split(&mut rest)?),
        })
    }
}

/// Why a ticket does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketError {
    /// None of the gate's keys sealed it, or it was changed.
    Foreign,
    /// Sealed by the gate, but older than the lifetime.
    Expired,
}

/// A ticket that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedTicket {
    /// The gate's part.
    pub claims: Claims,
    /// The TLS library's part.
    pub state: Vec<u8>,
}

/// The keys that seal and open tickets, shared by all cores.
#[derive(Debug)]
pub struct Keyring {
    keys: ArcSwap<Vec<Arc<Key>>>,
    lifetime_s: AtomicU64,
    rotation_s: AtomicU64,
    /// Another process has the keys, and would not know a newer one.
    frozen: AtomicBool,
}

/// A key of tickets, and those of sealed values which belong to it.
pub(super) struct Key {
    /// As it was drawn or read: another process may take it over.
    secret: Secret,
    key: LessSafeKey,
    /// The key of session cookies.
    pub cookies: LessSafeKey,
    /// The key of waiting tokens.
    pub waiting: LessSafeKey,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Key").field(&self.secret).finish()
    }
}

impl Key {
    fn of(secret: Secret) -> Result<Self, Unspecified> {
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &secret.secret)?);
        let cookies = sealed_value::derive(&secret.secret, session_cookie::LABEL)?;
        let waiting = sealed_value::derive(&secret.secret, waiting_token::LABEL)?;
        Ok(Self { secret, key, cookies, waiting })
    }

    fn random(now: u64) -> Result<Self, Unspecified> {
        Self::of(Secret::random(now)?)
    }

    /// Tells which key sealed a ticket or cookie.
    pub(super) fn name(&self) -> [u8; NAME_LEN] {
        self.secret.name
    }
}

impl Keyring {
    /// One new key. A ticket is valid for `lifetime`; [`Keyring::rotate`]
    /// replaces the sealing key after `rotation`. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// The system's random generator failed.
    pub fn new(lifetime: Duration, rotation: Duration, now: u64) -> Result<Self, Unspecified> {
        Self::of(&[Secret::random(now)?], lifetime, rotation)
    }

    /// These keys, of which there is at least one, the newest first.
    ///
    /// # Errors
    /// A key has not the right length.
    pub fn of(
        keys: &[Secret],
        lifetime: Duration,
        rotation: Duration,
    ) -> Result<Self, Unspecified> {
        let (lifetime_s, rotation_s) = (lifetime.as_secs().into(), rotation.as_secs().into());
        let (keys_in_use, frozen) = (ArcSwap::default(), AtomicBool::new(false));
        let keyring = Self { keys: keys_in_use, lifetime_s, rotation_s, frozen };
        keyring.adopt(keys)?;
        Ok(keyring)
    }

    /// Replaces all keys by these, of which there is at least one, the newest first.
    ///
    /// # Errors
    /// A key has not the right length; the old keys stay.
    pub fn adopt(&self, keys: &[Secret]) -> Result<(), Unspecified> {
        let keys: Result<Vec<_>, _> =
            keys.iter().map(|key| Key::of(key.clone()).map(Arc::new)).collect();
        let keys = keys?;
        if keys.is_empty() {
            return Err(Unspecified);
        }
        self.keys.store(Arc::new(keys));
        Ok(())
    }

    /// The keys, the newest first, for the gate that takes this one's place.
    pub fn secrets(&self) -> Vec<Secret> {
        self.keys.load().iter().map(|key| key.secret.clone()).collect()
    }

    /// Whether these keys begin with the newest of the keyring.
    pub fn begins_with(&self, keys: &[Secret]) -> bool {
        self.keys.load().first().map(|key| key.secret.name) == keys.first().map(|key| key.name)
    }

    /// Whether the keys stay as they are: while another process takes this gate's place.
    pub fn freeze(&self, frozen: bool) {
        self.frozen.store(frozen, Relaxed);
    }

    /// Whether it is time for a new key.
    pub fn is_due(&self, now: u64) -> bool {
        let rotation_s = self.rotation_s.load(Relaxed).max(1);
        !self.frozen.load(Relaxed)
            && self
                .keys
                .load()
                .first()
                .is_none_or(|key| now >= key.secret.since.saturating_add(rotation_s))
    }

    /// Drops keys, the newest first, all of whose tickets will be expired once a new key
    /// seals from `now` on.
    pub fn drop_expired<K>(&self, keys: &mut Vec<K>, now: u64, since: impl Fn(&K) -> u64) {
        // A key sealed its last ticket when its successor came.
        let mut retired = now;
        keys.retain(|key| {
            let kept = now <= retired.saturating_add(self.lifetime_s() + GRACE.as_secs());
            retired = since(key);
            kept
        });
    }

    /// Changes how long tickets are valid, those that were sealed before included, and how
    /// often the key is replaced.
    pub fn set_times(&self, lifetime: Duration, rotation: Duration) {
        self.lifetime_s.store(lifetime.as_secs(), Relaxed);
        self.rotation_s.store(rotation.as_secs(), Relaxed);
    }

    /// How long a ticket is valid, in seconds.
    pub fn lifetime_s(&self) -> u64 {
        self.lifetime_s.load(Relaxed)
    }

    /// Adds a new key if it is time, and drops keys all of whose tickets
    /// are expired. Returns whether anything changed. Call it every few seconds.
    ///
    /// # Errors
    /// The system's random generator failed; the old keys stay.
    pub fn rotate(&self, now: u64) -> Result<bool, Unspecified> {
        if !self.is_due(now) {
            return Ok(false);
        }
        let mut keys = Vec::clone(&self.keys.load());
        self.drop_expired(&mut keys, now, |key| key.secret.since);
        keys.insert(0, Arc::new(Key::random(now)?));
        self.keys.store(Arc::new(keys));
        Ok(true)
    }

    /// The key that seals at this time, in seconds since 1970.
    pub(super) fn sealing(&self, now: u64) -> Option<Arc<Key>> {
        let keys = self.keys.load();
        // A key of a file may be there before its time.
        let sealing = keys.iter().find(|key| key.secret.since <= now);
        sealing.or(keys.last()).cloned()
    }

    /// The key of this name.
    pub(super) fn named(&self, name: [u8; NAME_LEN]) -> Option<Arc<Key>> {
        self.keys.load().iter().find(|key| key.secret.name == name).cloned()
    }

    /// Seals a ticket; `None` if the system's random generator failed.
    pub fn seal(&self, claims: &Claims, state: &[u8]) -> Option<Vec<u8>> {
        let key = self.sealing(claims.issued)?;
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).ok()?;
        let mut body = Vec::with_capacity(CLAIMS_LEN + state.len());
        claims.encode(&mut body);
        body.extend_from_slice(state);
        let mut ticket = Vec::with_capacity(HEADER_LEN + body.len() + TAG_LEN);
        ticket.extend(key.secret.name);
        ticket.extend(nonce);
        let aad = Aad::from(key.secret.name);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = key.key.seal_in_place_separate_tag(nonce, aad, &mut body).ok()?;
        ticket.append(&mut body);
        ticket.extend_from_slice(tag.as_ref());
        Some(ticket)
    }

    /// Opens a ticket at `now`, in seconds since 1970.
    ///
    /// # Errors
    /// It was not sealed by the gate, or has expired.
    pub fn open(&self, ticket: &[u8], now: u64) -> Result<OpenedTicket, TicketError> {
        let (name, rest) = ticket.split_first_chunk::<NAME_LEN>().ok_or(TicketError::Foreign)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>().ok_or(TicketError::Foreign)?;
        let key = self.named(*name).ok_or(TicketError::Foreign)?;
        let mut buffer = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain = key.key.open_in_place(nonce, Aad::from(*name), &mut buffer);
        let length = plain.map_err(|_| TicketError::Foreign)?.len();
        buffer.truncate(length);
        let claims = buffer.first_chunk::<CLAIMS_LEN>().and_then(Claims::decode);
        let claims = claims.ok_or(TicketError::Foreign)?;
        if now > claims.valid_from().saturating_add(self.lifetime_s()) {
            return Err(TicketError::Expired);
        }
        buffer.drain(..CLAIMS_LEN);
        Ok(OpenedTicket { claims, state: buffer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn claims() -> Claims {
        Claims {
            session: *b"0123456789abcdef",
            holder: Holder::Session,
            began: 1_000,
            issued: 2_000,
            uses: 3,
            terms: Terms { version: 0x0303, suite: 0xc02b, extended_master_secret: true },
            server_name: negotiate::server_name_hash(Some("shop.example")),
            client_auth: 0,
        }
    }

    fn ring() -> Keyring {
        Keyring::new(HOUR, HOUR / 2, 2_000).unwrap()
    }

    #[test]
    fn encoded_claims_have_their_fixed_length() {
        let mut bytes = Vec::new();
        claims().encode(&mut bytes);
        assert_eq!(bytes.len(), CLAIMS_LEN);
    }

    #[test]
    fn a_ticket_of_somebody_who_waits_says_so() {
        let (ring, waiting) = (ring(), Claims { holder: Holder::Waiting, ..claims() });
        let ticket = ring.seal(&waiting, b"state").unwrap();
        assert_eq!(ring.open(&ticket, 2_001).unwrap().claims, waiting);
    }

    #[test]
    fn a_ticket_opens_to_what_was_sealed() {
        let ring = ring();
        let ticket = ring.seal(&claims(), b"state").unwrap();
        let opened = ring.open(&ticket, 2_001).unwrap();
        assert_eq!(opened, OpenedTicket { claims: claims(), state: b"state".to_vec() });
    }

    #[test]
    fn a_ticket_expires_after_its_lifetime() {
        let ring = ring();
        let ticket = ring.seal(&claims(), b"state").unwrap();
        assert!(ring.open(&ticket, 5_600).is_ok());
        assert_eq!(ring.open(&ticket, 5_601), Err(TicketError::Expired));
    }

    #[test]
    fn a_verified_client_must_show_their_certificate_again_after_the_lifetime() {
        let ring = ring();
        let ticket = ring.seal(&Claims { client_auth: 5, ..claims() }, b"state").unwrap();
        assert_eq!(ring.open(&ticket, 4_600).unwrap().claims.client_auth, 5);
        assert_eq!(ring.open(&ticket, 4_601), Err(TicketError::Expired));
    }

    #[test]
    fn another_gates_ticket_is_foreign() {
        let ticket = ring().seal(&claims(), b"state").unwrap();
        assert_eq!(ring().open(&ticket, 2_001), Err(TicketError::Foreign));
    }

    #[test]
    fn frozen_keys_are_not_replaced_and_another_keyring_opens_their_tickets() {
        let ring = ring();
        ring.freeze(true);
        assert!(!ring.rotate(9_000).unwrap());
        let ticket = ring.seal(&Claims { issued: 9_000, ..claims() }, b"").unwrap();
        let next = Keyring::of(&ring.secrets(), HOUR, HOUR / 2).unwrap();
        assert!(next.rotate(9_000).unwrap() && next.open(&ticket, 9_001).is_ok());
        ring.freeze(false);
        assert!(ring.rotate(9_000).unwrap());
    }

    #[test]
    fn an_old_key_opens_until_the_last_of_its_tickets_is_expired() {
        let ring = ring();
        let ticket = ring.seal(&Claims { issued: 3_799, ..claims() }, b"").unwrap();
        assert!(!ring.rotate(3_799).unwrap());
        assert!(ring.rotate(3_800).unwrap());
        assert!(ring.open(&ticket, 7_399).is_ok());
        assert!(ring.rotate(5_600).unwrap());
        assert!(ring.open(&ticket, 7_399).is_ok());
        assert!(ring.rotate(7_491).unwrap());
        assert_eq!(ring.open(&ticket, 7_399), Err(TicketError::Foreign));
        assert!(ring.keys.load().len() <= 4);
    }

    proptest! {
        #[test]
        fn no_changed_ticket_opens(
            state in proptest::collection::vec(any::<u8>(), 0..64),
            at in any::<prop::sample::Index>(),
            flip in 1u8..,
        ) {
            let ring = ring();
            let mut ticket = ring.seal(&claims(), &state).unwrap();
            let at = at.index(ticket.len());
            ticket[at] ^= flip;
            prop_assert_eq!(ring.open(&ticket, 2_001), Err(TicketError::Foreign));
        }

        #[test]
        fn no_shortened_or_lengthened_ticket_opens(cut in any::<prop::sample::Index>(), more in 1usize..40) {
            let ring = ring();
            let ticket = ring.seal(&claims(), b"state").unwrap();
            let shorter = &ticket[..cut.index(ticket.len())];
            prop_assert_eq!(ring.open(shorter, 2_001), Err(TicketError::Foreign));
            let longer = [ticket.clone(), vec![0; more]].concat();
            prop_assert_eq!(ring.open(&longer, 2_001), Err(TicketError::Foreign));
        }

        #[test]
        fn arbitrary_bytes_never_open(junk in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(ring().open(&junk, 2_001), Err(TicketError::Foreign));
        }
    }
}
