//! Counters, clocks, metrics and the pages that show them.

pub mod admin;
pub mod clock;
pub mod counters;
pub mod cpu;
pub mod doors;
pub mod durations;
pub mod history;
pub mod labels;
pub mod metrics;
pub mod operator_log;
pub mod page;
pub mod recorder;
pub mod route_counts;
pub mod seldom;
pub mod snapshot;
pub mod troubles;
pub mod usage;
