//! Deposits by card through real processes: three tiers and a card processor, with a relay
//! between the two. Whatever is killed, cut off or silent, a deposit is taken once and credited
//! once, a page says what happened, and no card number or key is left behind.

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "the sites' tests use another part")]
#[path = "../../../sites/tests/common/postgres.rs"]
mod postgres;
#[allow(dead_code, reason = "the tests of links use another part")]
#[path = "../../../sites/tests/common/relay.rs"]
mod relay;

mod deposits;
mod site;
mod start;
