//! A hash that is the same on every machine.

use std::fmt::{self, Write as _};

/// A hash of bytes, or of what a value shows when it is debugged.
///
/// Source: G. Fowler, L. C. Noll and P. Vo, FNV-1a of 64 bits.
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Fnv {
    /// The hash of a value.
    pub(crate) fn of(value: &impl fmt::Debug) -> Self {
        let mut hash = Self::default();
        // Writing to it cannot fail.
        let _ = write!(hash, "{value:?}");
        hash
    }

    /// Adds bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}

impl fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

impl fmt::Display for Fnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
