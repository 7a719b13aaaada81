//! What processor and merchant say to each other: payments, events, errors. Merchants ignore
//! fields that they do not know, so that the processor may add some.

use serde::{Deserialize, Serialize};
use tidegate_sitekit::named;

use crate::amount::Currency;
use crate::issuer::DeclineCode;
use crate::number::Brand;
use crate::state::Status;

/// A payment, as the merchant sees it. Amounts are minor units of the currency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    /// `pay_` and 32 hexadecimal digits.
    pub id: String,
    /// The merchant's own name for it, unique among the merchant's payments.
    pub reference: String,
    /// What is or will be authorised.
    pub amount: i64,
    /// The currency.
    pub currency: Currency,
    /// The status.
    pub status: Status,
    /// What may still be captured.
    pub amount_capturable: i64,
    /// Sum of the captures.
    pub amount_captured: i64,
    /// Sum of the refunds.
    pub amount_refunded: i64,
    /// Shown to the customer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The card, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<CardSummary>,
    /// Why the last card was declined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decline_code: Option<DeclineCode>,
    /// Why it is cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancellation: Option<Cancellation>,
    /// Where the customer types the card.
    #[serde(default)]
    pub checkout_url: String,
    /// Where the customer goes afterwards.
    #[serde(default)]
    pub return_url: String,
    /// All captures, oldest first.
    pub captures: Vec<Movement>,
    /// All refunds, oldest first.
    pub refunds: Vec<Movement>,
    /// Counts the changes of this payment, from 1: of two copies the one with the higher
    /// version is the newer.
    pub version: i64,
    /// When it was created, milliseconds since 1970.
    pub created_ms: i64,
    /// When an unfinished payment ends by itself, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<i64>,
}

/// A new payment whose card the customer types into the processor's form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Form {
    /// How much, in minor units.
    pub amount: i64,
    /// In which currency.
    pub currency: Currency,
    /// The merchant's own name for it: 1 to 64 letters, digits, and `-`, `_`, `.`, `:`, `/`.
    pub reference: String,
    /// Shown to the customer; may be empty.
    pub description: String,
    /// Where the customer goes afterwards, as registered at the processor.
    pub return_url: String,
}

/// A capture or a refund.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Movement {
    /// `cap_` or `ref_` and 32 hexadecimal digits.
    pub id: String,
    /// The merchant's own name for it, unique among the captures or refunds of its payment;
    /// empty if the merchant gave none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// How much.
    pub amount: i64,
    /// When, milliseconds since 1970.
    pub created_ms: i64,
}

/// What is kept of a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardSummary {
    /// The brand.
    pub brand: Brand,
    /// The last four digits.
    pub last4: String,
    /// Month of expiry, 1 to 12.
    pub exp_month: i64,
    /// Year of expiry.
    pub exp_year: i64,
    /// The same for every payment with this card.
    pub fingerprint: String,
}

/// Why a payment was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cancellation {
    /// By the customer, at the card form.
    Customer,
    /// The customer typed no card in time.
    Abandoned,
    /// The merchant captured nothing in time.
    Expired,
}

named!(Cancellation: Customer = "customer", Abandoned = "abandoned", Expired = "expired");

/// Something that happened to a payment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// `evt_` and 32 hexadecimal digits. An event that is delivered again has the same.
    pub id: String,
    /// Its number among the merchant's events, from 1 without gaps.
    pub sequence: i64,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// When, milliseconds since 1970.
    pub created_ms: i64,
    /// The payment as it was then.
    pub payment: Payment,
}

/// What happened to a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// The issuer has authorised it.
    #[serde(rename = "payment.authorised")]
    Authorised,
    /// All or a part was captured.
    #[serde(rename = "payment.captured")]
    Captured,
    /// All or a part was refunded.
    #[serde(rename = "payment.refunded")]
    Refunded,
    /// The issuer has declined, and no other card will be tried.
    #[serde(rename = "payment.declined")]
    Declined,
    /// It was cancelled, or what was not captured was given up.
    #[serde(rename = "payment.cancelled")]
    Cancelled,
}

/// Most characters of a merchant's reference.
pub const LONGEST_REFERENCE: usize = 64;
/// Most characters of a description.
pub const LONGEST_DESCRIPTION: usize = 200;

/// Whether a text can be a merchant's reference: 1 to 64 letters, digits, and `-`, `_`, `.`,
/// `:`, `/`.
pub fn is_reference(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte);
    (1..=LONGEST_REFERENCE).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_messages_are_those_of_the_database() {
        for status in [Status::RequiresCapture, Status::PartiallyRefunded] {
            assert_eq!(serde_json::to_value(status).unwrap(), status.name());
        }
        for it in Cancellation::ALL {
            assert_eq!(serde_json::to_value(it).unwrap(), it.name());
            assert_eq!(Cancellation::of_name(it.name()), Some(*it));
        }
        for code in DeclineCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.name());
        }
        for brand in Brand::ALL {
            assert_eq!(serde_json::to_value(brand).unwrap(), brand.name());
        }
    }

    #[test]
    fn a_reference_is_short_and_plain() {
        for text in ["a", "deposit-17", "u/5:2026.11_x", &"r".repeat(64)] {
            assert!(is_reference(text), "{text}");
        }
        for text in ["", " a", "a b", "ä", "a\n", "a\"", &"r".repeat(65)] {
            assert!(!is_reference(text), "{text}");
        }
    }
}
