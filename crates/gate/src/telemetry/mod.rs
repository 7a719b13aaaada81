//! Counters, clocks, metrics and the pages that show them.

pub mod admin;
mod admin_connections;
pub mod capacity_log;
pub mod clock;
pub mod counters;
pub mod cpu;
pub mod digest;
pub mod durations;
pub mod labels;
pub mod metrics;
pub mod seldom;
pub mod snapshot;
pub mod troubles;
pub mod usage;
