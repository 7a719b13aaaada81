//! TLS: settings, tickets, and a stream that needs little memory while it is idle.

pub(crate) mod algorithms;
pub(crate) mod certificate;
pub(crate) mod config;
mod fetch;
mod forger;
mod one_ticket;
pub(crate) mod rules;
pub(crate) mod schedule;
pub(crate) mod server_key;
mod stock;
pub(crate) mod stream;
pub(crate) mod tickets;

/// Largest PEM file that is read, in bytes.
const LARGEST_PEM: u64 = 16 << 20;
