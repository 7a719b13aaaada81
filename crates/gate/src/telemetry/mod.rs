//! Counters, clocks, metrics and the pages that show them.

pub mod admin;
pub mod clock;
pub mod counters;
pub mod cpu;
pub mod digest;
pub mod durations;
pub mod labels;
pub mod metrics;
pub mod snapshot;
pub mod usage;
