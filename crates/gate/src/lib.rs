//! The gate: listener, tickets, TLS, HTTP proxy, telemetry, admin.

pub mod admin;
pub mod config;
pub mod metrics;
pub mod selfsigned;
pub mod usage;
