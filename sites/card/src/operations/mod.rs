//! What may be done to payments, each in one transaction with its events and its answer.
//!
//! Every function fails with an error of the database; where it has other errors, it names them.

mod authorise;
mod change;
mod checkout;
mod due;
mod moves;
mod perform;
mod request;

pub use checkout::{Submitted, cancel_by_customer, submit};
pub use due::change_by_themselves;
pub use perform::{Answer, perform};
pub use request::{Asked, Request};
