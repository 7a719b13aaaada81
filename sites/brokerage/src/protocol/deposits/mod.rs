//! Deposits: cash that customers pay in by card. [`front`] are the operations of the
//! application tier, [`back`] those of the data tier.

pub mod back;
pub mod front;

use serde::{Deserialize, Serialize};

use super::numbered;
use tidegate_sitekit::money::Cents;

/// How far a deposit has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DepositState {
    /// It is stored, and the card processor has not answered yet.
    Asked,
    /// The processor waits for the customer's card.
    Form,
    /// The card is authorised, and the money is not captured yet.
    Authorised,
    /// The money is captured and a part of the customer's cash.
    Paid,
    /// The card was declined; nothing was charged.
    Declined,
    /// It was given up before a card was charged.
    Abandoned,
    /// The processor does not take it; nothing was charged.
    Failed,
}

/// Why a deposit ended without being paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DepositReason {
    /// It did not end so.
    None,
    /// The issuer of the card gives no reason.
    Declined,
    /// The account of the card does not hold the amount.
    Funds,
    /// The card has expired.
    CardExpired,
    /// The security code was not that of the card.
    SecurityCode,
    /// The customer gave up at the card form.
    Customer,
    /// No card was typed in time.
    NoCard,
    /// The authorisation ended before the money was captured.
    Lapsed,
    /// The brokerage gave it up at the processor.
    Brokerage,
    /// The processor refuses such a payment.
    Refused,
    /// The processor did not answer for a long time.
    NoAnswer,
}

numbered!(DepositState: Asked = 0, Form = 1, Authorised = 2, Paid = 3, Declined = 4,
    Abandoned = 5, Failed = 6);
numbered!(DepositReason: None = 0, Declined = 1, Funds = 2, CardExpired = 3, SecurityCode = 4,
    Customer = 5, NoCard = 6, Lapsed = 7, Brokerage = 8, Refused = 9, NoAnswer = 10);

impl DepositState {
    /// Whether something may still become of it.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Asked | Self::Form | Self::Authorised)
    }
}

/// A deposit as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deposit {
    /// Its number, ascending in the order of acceptance.
    pub number: i64,
    /// The amount.
    pub amount: Cents,
    /// How far it has come.
    pub state: DepositState,
    /// Why, if it ended without being paid.
    pub reason: DepositReason,
    /// Where the customer types the card, while the processor waits for it.
    pub form: Option<String>,
    /// Brand and last four digits of the card that has paid, such as `Visa 4242`.
    pub card: Option<String>,
    /// How often in a row the processor was asked without an answer.
    pub unanswered: i64,
    /// When it was accepted, seconds since 1970.
    pub created: i64,
    /// When it ended, seconds since 1970.
    pub closed: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_stored_under_a_number_of_its_own() {
        for number in 0..20 {
            for found in [
                DepositState::from_number(number).map(DepositState::number),
                DepositReason::from_number(number).map(DepositReason::number),
            ] {
                assert!(found.is_none_or(|found| found == number));
            }
        }
        // The index of open deposits is made for these numbers.
        for number in 0..7 {
            let state = DepositState::from_number(number).unwrap();
            assert_eq!(state.is_open(), number < 3, "{state:?}");
        }
    }
}
