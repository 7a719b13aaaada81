//! Operations of the application tier, for the web tier.

use serde::{Deserialize, Serialize};

use super::Deposit;
use crate::protocol::{DepositId, Done, SessionKey, operations};
use tidegate_card::Event;
use tidegate_sitekit::money::Cents;

/// The customer's deposits, and whether they can make another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GetDeposits {
    /// The session.
    pub session: SessionKey,
    /// Those before the deposit of this number; none: the newest.
    pub before: Option<i64>,
}

/// A page of deposits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deposits {
    /// The deposits, newest first.
    pub deposits: Vec<Deposit>,
    /// There are older ones.
    pub more: bool,
    /// Cash that can be spent.
    pub available: Cents,
    /// A card processor is set up.
    pub set_up: bool,
}

/// Makes a deposit. The same deposit sent again is accepted once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateDeposit {
    /// The session.
    pub session: SessionKey,
    /// Its name.
    pub id: DepositId,
    /// The amount.
    pub amount: Cents,
}

/// A deposit that was accepted, now or before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DepositCreated {
    /// The deposit as it stands.
    pub deposit: Deposit,
    /// A deposit of this name was sent before with another amount, and that one stands.
    pub differs: bool,
}

/// One deposit of the customer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GetDeposit {
    /// The session.
    pub session: SessionKey,
    /// The number of the deposit.
    pub number: i64,
    /// The customer has come back from the card form: the processor is asked first, for a
    /// short time.
    pub look: bool,
}

/// Takes what the card processor tells by a webhook. Whoever calls has verified its signature
/// and its time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakeEvent {
    /// The event.
    pub event: Event,
}

operations! {
    GetDeposits, "deposits" => Deposits;
    CreateDeposit, "create-deposit" => DepositCreated;
    GetDeposit, "deposit" => Deposit;
    TakeEvent, "take-card-event" => Done;
}
