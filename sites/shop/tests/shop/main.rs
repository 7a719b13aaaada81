//! The shop from outside: every page, over real sockets, on both databases.

/// Makes a test of each claim for each database. A claim is a function that takes a running shop.
macro_rules! on_both_databases {
    ($($claim:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[test] fn $claim() { super::$claim(&$crate::world::World::on_sqlite()); })+
        }
        mod on_postgres {
            $(#[test] fn $claim() { super::$claim(&$crate::world::World::on_postgres()); })+
        }
    };
}

#[allow(dead_code, reason = "the auction's tests use another part")]
#[path = "../../../kit/tests/common/browser.rs"]
mod browser;
mod browsing;
mod builds;
mod hostile;
mod orders;
#[allow(dead_code, reason = "the auction's tests use another part")]
#[path = "../../../kit/tests/common/postgres.rs"]
mod postgres;
mod startup;
mod stock;
mod world;
