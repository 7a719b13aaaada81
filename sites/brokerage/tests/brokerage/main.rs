//! The brokerage from outside: every transaction, over real sockets and through all three
//! tiers, on both databases and over links that are secured in every way.

#[allow(dead_code, reason = "the auction's tests use another part")]
#[path = "../../../kit/tests/common/browser.rs"]
mod browser;
#[allow(dead_code, reason = "the auction's tests use another part")]
#[path = "../../../kit/tests/common/postgres.rs"]
mod postgres;
#[allow(dead_code, reason = "the tests of links use another part")]
#[path = "../../../kit/tests/common/relay.rs"]
mod relay;

mod checklist;
mod deposit_site;
mod deposits;
mod faults;
mod hostile;
mod links;
mod orders;
mod passwords;
mod prices;
mod security;
mod sessions;
mod startup;
mod transactions;
mod world;
