//! The data tier's SQL, one file per concept. Every statement is a constant; what a request
//! contains is only ever bound to a placeholder.
//!
//! Every function fails with an error of the database; where it has other errors, it names them.

pub mod cash;
pub mod customers;
pub mod deposit_outcome;
#[cfg(test)]
mod deposit_tests;
pub mod deposits;
pub mod execute;
pub mod leases;
pub mod orders;
pub mod passwords;
pub mod payments;
pub mod place;
pub mod prices;
pub mod sessions;
#[cfg(test)]
mod tests;
