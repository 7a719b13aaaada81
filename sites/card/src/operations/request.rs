//! Requests of merchants, checked in all that does not depend on the payment.

use crate::resource::Form;

/// A request of a merchant that may be repeated.
pub enum Request {
    /// A new payment, whose return URL the merchant has registered.
    Create(Box<Form>),
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

/// What a capture or a refund asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// How much; `None`: all that is left.
    pub amount: Option<i64>,
    /// The merchant's own name for it, or empty.
    pub reference: String,
}
