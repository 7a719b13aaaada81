//! The merchant's side of the processor.
//!
//! Money is at stake, and any answer may be lost. So a merchant does four things:
//!
//! 1. It stores what it wants ([`Entry`]) in the transaction of its own change, *before* it
//!    calls. The entry's reference names the payment for both sides, for ever.
//! 2. [`perform`] carries out what is stored, as often as needed, under an idempotency key
//!    that follows from the entry. When no answer is certain, it looks the payment up by its
//!    reference; what is still uncertain stays stored.
//! 3. It stores the outcome and removes the entry in one transaction with what follows from
//!    it: a deposit is credited once.
//! 4. It verifies webhooks ([`Verifier`]), remembers the ids of events that it has used, and
//!    ignores a payment of a lower version than one that it has seen.

mod connection;
mod error;
mod options;
mod outbox;
mod request;
mod waiting;
mod webhook;

pub use crate::resource::Form;
pub use connection::Client;
pub use error::Error;
pub use options::{CardOptions, return_url};
pub use outbox::{Entry, Outcome, Step, perform, reference};
pub use request::Key;
pub use tidegate_sitekit::attempts::Patience;
pub use waiting::{Waiting, returned};
pub use webhook::{TOLERANCE, Verifier};
