//! TLS with tickets of one's own.

pub(crate) mod algorithms;
pub(crate) mod certificate;
pub(crate) mod config;
mod forger;
pub(crate) mod mix;
mod one_ticket;
pub(crate) mod secure;
pub(crate) mod tickets;
