//! The brokerage as processes: its tiers, links, faults, deposits, and the gate in front.

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "the sites' tests use another part")]
#[path = "../../../../sites/kit/tests/common/postgres.rs"]
mod postgres;
#[allow(dead_code, reason = "the tests of links use another part")]
#[path = "../../../../sites/kit/tests/common/relay.rs"]
mod relay;

mod crashes;
mod deposits;
mod faults;
mod gate;
mod links;
mod security;
mod tiers;
