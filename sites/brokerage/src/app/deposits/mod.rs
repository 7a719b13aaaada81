//! Deposits by card: customers type their card into the form of a card processor, and what it
//! captures becomes a part of their cash.
//!
//! What is wanted of the processor is in the outbox of the data tier before it is asked for,
//! under a name that both know the payment by. The step is tried until its outcome is certain,
//! and the outcome is stored together with what follows from it. So any of the processes may be
//! killed anywhere, and any message may be lost, late or doubled.

mod payment;
mod processor;
mod worker;

pub use payment::seen;
pub use processor::{Processor, Shared};
pub use worker::Worker;

/// Where customers come back to from the card form, on the web tier.
pub const RETURNED: &str = "/deposits/returned";
