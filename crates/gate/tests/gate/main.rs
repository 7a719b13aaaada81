//! The gate over real sockets.

mod admission;
mod certificates;
mod client_certificates;
mod common;
mod config_mistakes;
mod config_reference;
mod conformance;
mod connection_limit;
mod deadlines;
mod hello;
mod plain_http;
mod prefixes;
mod proxy;
mod reload;
mod replays;
mod resumption;
mod routes;
mod slow_readers;
mod smuggling;
mod static_changes;
mod static_tier;
mod supervision;
mod ticket_keys;
mod tracing;
mod upstream_health;
mod upstream_note;
