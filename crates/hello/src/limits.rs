//! Caps on what the reader holds of a hello.

/// Caps on one hello. What goes beyond `bytes`, `records` or `extensions` is
/// malformed; identities beyond their cap are counted but not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes on the wire, record headers included, within which the hello must
    /// end. The protocol allows 16 MiB; the largest honest ones (post-quantum
    /// shares, ECH, a resumption ticket) stay below 4 KiB.
    pub bytes: usize,
    /// Records over which the hello may be spread. Honest clients use one or
    /// two; Chromium's fragmenting experiments and middlebox evasion use
    /// more.
    pub records: usize,
    /// Extensions in the hello. Browsers send up to 20. Above 128 this counts
    /// as 128.
    pub extensions: usize,
    /// Pre-shared key identities kept, in the client's order. Honest clients
    /// send one, rarely two.
    pub identities: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 16 * 1024, records: 32, extensions: 64, identities: 4 }
    }
}
