//! What the random streams of this site belong to.

/// What a stream belongs to.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A security: its first price.
    Security = 11,
    /// A customer, with their orders.
    Customer = 12,
    /// A tick of the random walk.
    Tick = 13,
}

impl From<Kind> for u64 {
    fn from(kind: Kind) -> Self {
        kind as Self
    }
}
