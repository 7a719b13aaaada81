//! States of an order.

use tidegate_sitekit::numbered;

/// How far an order has come. It only goes forward: from each state to the next, or from
/// `Received` to `Declined`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderState {
    /// It is stored; its purchase order is being validated.
    Received,
    /// Its purchase order is good.
    Accepted,
    /// Its goods are taken from stock.
    Packed,
    /// The carrier has it.
    Shipped,
    /// Its purchase order is not good. Nothing follows.
    Declined,
}

numbered!(OrderState: Received = 0, Accepted = 1, Packed = 2, Shipped = 3, Declined = 4);

impl OrderState {
    /// The state in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Accepted => "accepted",
            Self::Packed => "packed",
            Self::Shipped => "shipped",
            Self::Declined => "declined",
        }
    }
}
