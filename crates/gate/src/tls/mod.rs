//! TLS towards customers.

pub mod clients;
pub mod configs;
mod transcript;
