//! The next key of a list that several gates have: of a file, or of the bucket of a fleet.

use crate::admission::tickets::Keyring;
use crate::ticket_secret::Secret;
use aws_lc_rs::error::Unspecified;

/// From the writing of a new key to its first ticket, in seconds: longer than any gate takes
/// to notice that the list changed.
pub const LEAD_S: u64 = 5;

/// The list with a new key, to be written in its place: without keys all of whose tickets are
/// expired. `None`: the keyring has another newest key, or it is not time.
///
/// # Errors
/// The system's random generator failed.
pub fn renewed(
    keyring: &Keyring,
    mut keys: Vec<Secret>,
    now: u64,
) -> Result<Option<Vec<Secret>>, Unspecified> {
    if !keyring.is_due(now) || !keyring.begins_with(&keys) {
        return Ok(None);
    }
    keyring.drop_expired(&mut keys, now, |key| key.since);
    keys.insert(0, Secret::random(now + LEAD_S)?);
    Ok(Some(keys))
}
