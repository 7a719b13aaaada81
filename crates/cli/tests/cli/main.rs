//! The program as a process: exit codes, files, sites, studies, peers, pages in a browser.

mod agent;
mod bad_input;
mod behind_nginx;
mod brokerage;
mod browser;
mod card;
mod common;
mod deploy;
mod fleet;
mod forged;
mod fulfil;
mod gate_signals;
mod kubernetes;
mod load;
mod measured_costs;
mod partners;
mod peers;
mod plan;
mod render;
mod restart;
mod services;
mod shop;
mod sim;
mod study;
mod tca;
mod terminal;
mod tracing;

#[allow(dead_code, reason = "the sites' tests use another part")]
#[path = "../../../../sites/kit/tests/common/postgres.rs"]
mod postgres;
#[allow(dead_code, reason = "the tests of links use another part")]
#[path = "../../../../sites/kit/tests/common/relay.rs"]
mod relay;
