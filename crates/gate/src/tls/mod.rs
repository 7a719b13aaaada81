//! TLS towards customers.

pub mod configs;
