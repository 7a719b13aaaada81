//! What the random streams of this population belong to.

/// What a stream belongs to.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A person.
    User = 1,
    /// An item, with its bids.
    Item = 2,
    /// The comment after an item.
    Comment = 3,
    /// The buyer of an item at its fixed price.
    Purchase = 4,
}

impl From<Kind> for u64 {
    fn from(kind: Kind) -> Self {
        kind as Self
    }
}
