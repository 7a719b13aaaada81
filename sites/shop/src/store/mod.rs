//! The shop's queries, one file per concept. Every statement is a constant; user input is only
//! ever bound to a placeholder.
//!
//! Every function fails with an error of the database; where it has other errors, it names them.

pub mod basket;
pub mod customers;
pub mod orders;
pub mod outcome;
pub mod places;
pub mod products;
pub mod queue;
pub mod sessions;
pub mod stock;
#[cfg(test)]
mod tests;

/// Products on one page of a list.
pub const PAGE: i64 = 12;

/// Pages that `entries` fill; an empty list has one page.
pub fn pages(entries: i64) -> i64 {
    ((entries + PAGE - 1) / PAGE).max(1)
}
