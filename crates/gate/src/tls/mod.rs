//! TLS towards customers.

pub mod configs;
pub mod selfsigned;
