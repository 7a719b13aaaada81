//! Random bytes that nobody can guess.

use zeroize::Zeroizing;

use crate::{Error, Result};

/// So many random bytes of the system, overwritten when they are dropped.
///
/// # Errors
/// The system has none.
pub fn bytes<const N: usize>() -> Result<Zeroizing<[u8; N]>> {
    let mut bytes = Zeroizing::new([0; N]);
    aws_lc_rs::rand::fill(bytes.as_mut())
        .map_err(|_| Error::Internal("the system has no random bytes".into()))?;
    Ok(bytes)
}
