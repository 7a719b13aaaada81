//! Values of cookies that only the gate can make and read: base64url of `key name (8) · nonce (12)
//! · sealed claims · tag (16)`, AES-256-GCM with the key's name as associated data.
//!
//! Each ticket key has a key for each kind of value, derived from it by HKDF under a label of its
//! own: a value of one kind is none of another, and none is a ticket. They rotate and expire with
//! the ticket key. All values of a kind have one length, so that opening one costs the same
//! whatever was sent.

use crate::admission::tickets::{Key, Keyring, TicketError};
use crate::ticket_secret::NAME_LEN;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use aws_lc_rs::{error::Unspecified, rand};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

const TAG_LEN: usize = 16;
const HEADER_LEN: usize = NAME_LEN + NONCE_LEN;
/// Most bytes of a value, before its text.
const MOST: usize = 128;

/// Length of the text of a value with claims of so many bytes, in characters.
pub const fn text_len(claims: usize) -> usize {
    ((HEADER_LEN + claims + TAG_LEN) * 4).div_ceil(3)
}

/// The key of one kind of value that belongs to a ticket key. The label tells the kind.
///
/// Source: RFC 5869, without a salt.
///
/// # Errors
/// The cryptography library failed.
pub(super) fn derive(secret: &[u8], label: &[u8]) -> Result<LessSafeKey, Unspecified> {
    let derived = Salt::new(HKDF_SHA256, &[]).extract(secret);
    let key = UnboundKey::from(derived.expand(&[label], &AES_256_GCM)?);
    Ok(LessSafeKey::new(key))
}

/// Chooses the key of a kind of value.
pub(super) type Kind = fn(&Key) -> &LessSafeKey;

impl Keyring {
    /// Seals claims at `now`, in seconds since 1970; `None` if the system's random generator
    /// failed.
    pub(super) fn seal_value<const CLAIMS: usize>(
        &self,
        kind: Kind,
        mut claims: [u8; CLAIMS],
        now: u64,
    ) -> Option<String> {
        let key = self.sealing(now)?;
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).ok()?;
        let mut bytes = Vec::with_capacity(MOST);
        bytes.extend(key.name());
        bytes.extend(nonce);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let aad = Aad::from(key.name());
        let tag = kind(&key).seal_in_place_separate_tag(nonce, aad, &mut claims).ok()?;
        bytes.extend(claims);
        bytes.extend(tag.as_ref());
        Some(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Opens a value to its claims, whatever their age.
    ///
    /// # Errors
    /// It was not sealed by the gate.
    pub(super) fn open_value<const CLAIMS: usize>(
        &self,
        kind: Kind,
        value: &[u8],
    ) -> Result<[u8; CLAIMS], TicketError> {
        let mut bytes = [0; MOST];
        let length = HEADER_LEN + CLAIMS + TAG_LEN;
        let bytes = bytes.get_mut(..length).ok_or(TicketError::Foreign)?;
        let fits = value.len() == text_len(CLAIMS);
        let decoded = URL_SAFE_NO_PAD.decode_slice(value, bytes);
        if !fits || !decoded.is_ok_and(|decoded| decoded == length) {
            return Err(TicketError::Foreign);
        }
        let (name, rest) = bytes.split_first_chunk_mut::<NAME_LEN>().ok_or(TicketError::Foreign)?;
        let (nonce, sealed) = rest.split_at_mut(NONCE_LEN);
        let key = self.named(*name).ok_or(TicketError::Foreign)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| TicketError::Foreign)?;
        let plain = kind(&key).open_in_place(nonce, Aad::from(*name), sealed);
        let plain = plain.map_err(|_| TicketError::Foreign)?;
        <[u8; CLAIMS]>::try_from(&*plain).map_err(|_| TicketError::Foreign)
    }
}
