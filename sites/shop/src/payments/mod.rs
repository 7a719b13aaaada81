//! Payment by card: customers type their card into the form of a card processor, which says what
//! has become of it.
//!
//! What is wanted of the processor is in the queue before it is asked for, under a name that both
//! know the payment by. A step is tried until its outcome is certain, and the outcome is stored
//! together with what follows from it. So any process may be killed anywhere, and any answer may
//! be lost, late or doubled.

mod seen;
mod steps;

pub use steps::{Payments, Shared};

/// Where customers come back to from the card form.
pub const RETURNED: &str = "/orders/returned";
