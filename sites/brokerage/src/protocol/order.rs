//! Orders.

use serde::{Deserialize, Serialize};

use super::{OrderId, numbered};
use tidegate_sitekit::money::Cents;

/// Which way an order goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Cash for shares.
    Buy,
    /// Shares for cash.
    Sell,
}

/// At which price an order is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// At the customer's limit or a better price.
    Limit,
    /// At the next price, within a tenth of the one that the customer saw.
    Market,
}

/// What became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It waits for its price.
    Open,
    /// It was carried out.
    Filled,
    /// It ended without being carried out.
    Cancelled,
    /// It was not accepted.
    Rejected,
}

/// Why an order ended without being carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// It did not end so.
    None,
    /// The customer cancelled it.
    Customer,
    /// Its day was over.
    Expired,
    /// There was not enough cash.
    Cash,
    /// There were not enough shares.
    Shares,
}

numbered!(Side: Buy = 1, Sell = 2);
numbered!(Kind: Limit = 1, Market = 2);
numbered!(State: Open = 0, Filled = 1, Cancelled = 2, Rejected = 3);
numbered!(Reason: None = 0, Customer = 1, Expired = 2, Cash = 3, Shares = 4);

/// An order as a customer gives it, before it is checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewOrder {
    /// Its name.
    pub id: OrderId,
    /// The security.
    pub symbol: String,
    /// Buy or sell; none if neither was chosen.
    pub side: Option<Side>,
    /// Limit or market; none if neither was chosen.
    pub kind: Option<Kind>,
    /// Shares; 0 for what is no number.
    pub quantity: i64,
    /// The limit of a limit order, for a share; zero for what is no amount.
    pub limit: Option<Cents>,
    /// It ends with the day (UTC); otherwise it is good until it is cancelled.
    pub day: bool,
}

/// An order as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Its number, ascending in the order of acceptance.
    pub number: i64,
    /// The security.
    pub symbol: String,
    /// Buy or sell.
    pub side: Side,
    /// Limit or market.
    pub kind: Kind,
    /// Shares.
    pub quantity: i64,
    /// The worst price at which it is carried out.
    pub limit: Cents,
    /// What became of it.
    pub state: State,
    /// Why, if it was cancelled or rejected.
    pub reason: Reason,
    /// The price of a share at which it was carried out.
    pub price: Option<Cents>,
    /// When it was given, seconds since 1970.
    pub created: i64,
    /// When it ended, seconds since 1970.
    pub closed: Option<i64>,
    /// When it ends by itself, seconds since 1970.
    pub expires: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_stored_under_a_number_of_its_own() {
        for number in 0..10 {
            for found in [
                Side::from_number(number).map(Side::number),
                Kind::from_number(number).map(Kind::number),
                State::from_number(number).map(State::number),
                Reason::from_number(number).map(Reason::number),
            ] {
                assert!(found.is_none_or(|found| found == number));
            }
        }
        assert_eq!(State::from_number(0), Some(State::Open));
        assert_eq!(Side::from_number(0), None);
    }
}
