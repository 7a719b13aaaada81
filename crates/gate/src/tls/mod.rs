//! TLS towards customers.

pub mod configs;
mod transcript;
