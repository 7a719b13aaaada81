//! The auction site from outside: every interaction, over real sockets, on both
//! databases.

/// Makes a test of each claim for each database. A claim is a function that
/// takes a running site.
macro_rules! on_both_databases {
    ($($claim:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[test] fn $claim() { super::$claim(&$crate::database::TestSite::on_sqlite()); })+
        }
        mod on_postgres {
            $(#[test] fn $claim() { super::$claim(&$crate::database::TestSite::on_postgres()); })+
        }
    };
}

mod bidding;
#[path = "../../../kit/tests/common/browser.rs"]
mod browser;
mod browsing;
mod concurrency;
mod database;
mod hostile;
mod logins;
mod once;
mod people;
#[path = "../../../kit/tests/common/postgres.rs"]
mod postgres;
mod searching;
mod selling;
mod startup;
