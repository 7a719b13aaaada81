//! A ticket key as it is drawn, read and written.

use aws_lc_rs::{error::Unspecified, rand};
use zeroize::Zeroizing;

/// Length of a key's name.
pub const NAME_LEN: usize = 8;
/// Length of a key.
pub const SECRET_LEN: usize = 32;

/// A ticket key outside of the keyring. Its memory is overwritten when it is dropped, as the
/// cryptography library does with its own.
#[derive(Clone)]
pub struct Secret {
    /// Tells which key sealed a ticket; stands in it.
    pub name: [u8; NAME_LEN],
    /// When it begins to seal, in seconds since 1970.
    pub since: u64,
    /// The key, of [`SECRET_LEN`] bytes.
    pub secret: Zeroizing<Vec<u8>>,
}

impl Secret {
    /// A new key that seals from `since` on.
    ///
    /// # Errors
    /// The system's random generator failed.
    pub fn random(since: u64) -> Result<Self, Unspecified> {
        let (mut name, mut secret) = ([0; NAME_LEN], Zeroizing::new(vec![0; SECRET_LEN]));
        rand::fill(&mut name)?;
        rand::fill(&mut secret)?;
        Ok(Self { name, since, secret })
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret").field("since", &self.since).finish_non_exhaustive()
    }
}
