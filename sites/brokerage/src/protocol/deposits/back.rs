//! Operations of the data tier, for the application tier.
//!
//! A deposit that is open has one entry in the outbox: what the application tier has to do
//! next at the card processor. The entry is written in the transaction of the change that it
//! follows from.

use serde::{Deserialize, Serialize};

use super::{Deposit, DepositReason, DepositState};
use crate::protocol::{DepositId, Done, SessionKey, numbered, operations};
use tidegate_sitekit::money::Cents;

/// Stores a deposit together with the wish to ask the processor for a payment. One of the same
/// name is stored once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BeginDeposit {
    /// The session.
    pub session: SessionKey,
    /// The deposit's name.
    pub id: DepositId,
    /// The payment's name at the processor, which nothing else has.
    pub reference: String,
    /// The amount, above zero.
    pub amount: Cents,
    /// After how long the worker takes it up, if who calls now has not: milliseconds.
    pub due_in_ms: u64,
}

/// A deposit that was stored, now or before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DepositBegun {
    /// The deposit as it stands.
    pub deposit: Deposit,
    /// It had been stored before.
    pub repeated: bool,
}

/// One deposit of the customer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadDeposit {
    /// The session.
    pub session: SessionKey,
    /// Its number.
    pub number: i64,
}

/// A deposit, and what is to be done for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DepositWithWish {
    /// The deposit as it stands.
    pub deposit: Deposit,
    /// The entry of the outbox, while it is open.
    pub wish: Option<Wish>,
}

/// Deposits of the customer, newest first.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadDeposits {
    /// The session.
    pub session: SessionKey,
    /// Those before the deposit of this number.
    pub before: Option<i64>,
    /// At most so many, 1 to 200.
    pub most: i64,
}

/// Deposits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DepositList {
    /// The deposits, newest first.
    pub deposits: Vec<Deposit>,
    /// There are older ones.
    pub more: bool,
    /// Cash that the customer can spend.
    pub available: Cents,
}

/// Entries of the outbox that are due, oldest first.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadWishes {
    /// At most so many, 1 to 200.
    pub most: i64,
}

/// Entries of the outbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wishes {
    /// The entries.
    pub wishes: Vec<Wish>,
}

/// An entry of the outbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// The number of the deposit.
    pub number: i64,
    /// The payment's name at the processor.
    pub reference: String,
    /// The amount.
    pub amount: Cents,
    /// What is to be done.
    pub step: DepositStep,
    /// How often this step was tried.
    pub attempts: i64,
    /// When the deposit was accepted, seconds since 1970.
    pub created: i64,
}

/// What is to be done for a deposit at the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DepositStep {
    /// Create the payment.
    Create,
    /// Look whether the customer has paid: a webhook may be lost.
    Look,
    /// Capture the money.
    Capture,
}
numbered!(DepositStep: Create = 1, Look = 2, Capture = 3);

/// Stores what has become of a payment, with all that follows from it, in one transaction: a
/// captured one is a part of the customer's cash. What was stored before, or is older, changes
/// nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotePayment {
    /// The payment.
    pub payment: SeenPayment,
    /// The id of the event that tells of it. An event is used once.
    pub event: Option<String>,
}

/// A payment as the processor has told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenPayment {
    /// The brokerage's name for it.
    pub reference: String,
    /// The amount that is or will be authorised.
    pub amount: Cents,
    /// Counts the changes of the payment: of two copies the higher one is the newer.
    pub version: i64,
    /// How far it has come.
    pub stage: Stage,
}

/// How far a payment has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The processor waits for the card, at this address, or for the card's issuer.
    Form(String),
    /// The issuer has authorised.
    Authorised,
    /// The money is captured.
    Captured {
        /// How much of it.
        amount: Cents,
        /// Brand and last four digits of the card.
        card: String,
    },
    /// The issuer has declined: why.
    Declined(DepositReason),
    /// It was given up: why.
    Cancelled(DepositReason),
}

/// What a payment has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaymentNoted {
    /// There is a deposit of this reference, in this state now.
    pub state: Option<DepositState>,
    /// The event had been used before.
    pub repeated: bool,
}

/// Ends a deposit that the processor was asked for in vain, unless another step has taken the
/// place of this one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailDeposit {
    /// The number of the deposit.
    pub number: i64,
    /// The step that was tried.
    pub step: DepositStep,
    /// Why.
    pub reason: DepositReason,
}

/// Puts an entry of the outbox off, unless another step has taken its place.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostponeWish {
    /// The number of the deposit.
    pub number: i64,
    /// The step that was tried.
    pub step: DepositStep,
    /// For how long, milliseconds.
    pub for_ms: u64,
}

operations! {
    BeginDeposit, "begin-deposit" => DepositBegun;
    ReadDeposit, "read-deposit" => DepositWithWish;
    ReadDeposits, "read-deposits" => DepositList;
    ReadWishes, "read-deposit-wishes" => Wishes;
    NotePayment, "note-payment" => PaymentNoted;
    FailDeposit, "fail-deposit" => Done;
    PostponeWish, "postpone-deposit-wish" => Done;
}
