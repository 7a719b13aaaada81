//! Requests of merchants, checked in all that does not depend on the payment.

use crate::amount::Currency;
use crate::details::Card;
use crate::resource::Capturing;

/// A request of a merchant that may be repeated.
pub enum Request {
    /// A new payment.
    Create(Box<New>),
    /// A capture.
    Capture {
        /// The payment.
        id: String,
        /// How much.
        asked: Asked,
        /// Nothing more will be captured.
        last: bool,
    },
    /// Gives up what is not captured.
    Cancel {
        /// The payment.
        id: String,
    },
    /// A refund.
    Refund {
        /// The payment.
        id: String,
        /// How much.
        asked: Asked,
    },
}

/// A new payment.
pub struct New {
    /// How much, in minor units.
    pub amount: i64,
    /// In which currency.
    pub currency: Currency,
    /// The merchant's own name for it.
    pub reference: String,
    /// What the customer is told.
    pub description: String,
    /// When it is captured.
    pub capture: Capturing,
    /// Where the card comes from.
    pub source: Source,
}

/// Where a card comes from.
pub enum Source {
    /// The merchant sends it.
    Card(Card),
    /// The customer types it into the processor's form, and returns to this URL.
    Form {
        /// The URL, one that the merchant has registered.
        return_url: String,
    },
}

/// What a capture or a refund asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// How much; `None`: all that is left.
    pub amount: Option<i64>,
    /// The merchant's own name for it, or empty.
    pub reference: String,
}
