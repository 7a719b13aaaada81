//! What is counted, and how it is told.

pub mod admin;
pub mod clock;
pub mod counters;
pub mod metrics;
pub mod usage;
