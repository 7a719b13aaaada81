//! The site's queries, one file per concept. Every statement is a constant;
//! user input is only ever bound to a placeholder.
//!
//! Limits are literals in the statements, so that the planner knows them.
//!
//! Every function fails with an error of the database; where it has other errors, it names them.

pub mod bids;
pub mod comments;
pub mod items;
pub mod keywords;
pub mod listing;
pub mod mine;
#[cfg(test)]
mod plans;
pub mod purchases;
pub mod sales;
pub mod users;

/// Entries on one page of a list.
pub const PAGE: i64 = 20;

/// Pages that `entries` fill; an empty list has one page.
pub fn pages(entries: i64, per_page: i64) -> i64 {
    ((entries + per_page - 1) / per_page).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_page_may_be_short_and_an_empty_list_has_one() {
        assert_eq!([0, 1, 20, 21, 40, 41].map(|entries| pages(entries, PAGE)), [1, 1, 1, 2, 2, 3]);
    }
}
