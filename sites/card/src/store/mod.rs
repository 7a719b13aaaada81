//! The processor's queries, one file per concept. Every statement is a constant; what comes
//! from outside is only ever bound to a placeholder.
//!
//! Every function fails with an error of the database; where it has other errors, it names them.

pub mod deliveries;
pub mod events;
pub mod merchants;
pub mod payments;
#[cfg(test)]
mod plans;
