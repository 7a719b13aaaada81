//! The card processor from outside: over real sockets, on both databases, in virtual time
//! where time matters, and through crashes.

/// Makes a test of each claim for each database. A claim is a function that takes a running
/// processor.
macro_rules! on_both_databases {
    ($($claim:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[test] fn $claim() { super::$claim(&$crate::processor::Running::on_sqlite()); })+
        }
        mod on_postgres {
            $(#[test] fn $claim() { super::$claim(&$crate::processor::Running::on_postgres()); })+
        }
    };
}

#[path = "../../../kit/tests/common/browser.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod browser;
#[path = "../../../kit/tests/common/postgres.rs"]
mod postgres;

mod bad_input;
mod cards;
mod form;
mod interface;
mod merchant;
mod once;
mod processor;
mod properties;
mod secrecy;
mod startup;
mod virtual_time;
mod webhooks;
