//! Caps on what the reader holds of a hello.

/// Caps on one hello. What goes beyond `bytes` or `extensions` is malformed;
/// identities beyond their cap are counted but not kept. The number of records has
/// no cap of its own: clients that evade middleboxes send records of a few bytes,
/// and the work for each byte is constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes on the wire, record headers included, within which the hello must
    /// end. The protocol allows 16 MiB; the largest honest ones (post-quantum
    /// shares, ECH, a resumption ticket) stay below 4 KiB.
    pub bytes: usize,
    /// Extensions in the hello. Browsers send up to 20. Above 128 this counts
    /// as 128.
    pub extensions: usize,
    /// Pre-shared key identities kept, in the client's order. Honest clients
    /// send one, rarely two.
    pub identities: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 16 * 1024, extensions: 64, identities: 4 }
    }
}
