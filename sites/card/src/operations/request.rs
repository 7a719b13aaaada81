//! Requests of merchants, checked in all that does not depend on the payment.

use crate::amount::Currency;

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
    /// A refund.
    Refund {
        /// The payment.
        id: String,
        /// How much.
        asked: Asked,
    },
}

/// A new payment, whose card the customer types into the processor's form.
pub struct New {
    /// How much, in minor units.
    pub amount: i64,
    /// In which currency.
    pub currency: Currency,
    /// The merchant's own name for it.
    pub reference: String,
    /// Shown to the customer.
    pub description: String,
    /// Where the customer returns to, a URL that the merchant has registered.
    pub return_url: String,
}

/// What a capture or a refund asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// How much; `None`: all that is left.
    pub amount: Option<i64>,
    /// The merchant's own name for it, or empty.
    pub reference: String,
}
