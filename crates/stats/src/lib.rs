//! Histograms, intervals and knee finding: pure.
//!
//! - [`Latency`]: a bounded histogram of durations, for percentiles.
//! - [`Summary`]: median, quartiles and spread of repeated measurements, and
//!   [`ratio_of_pairs`] for two interleaved series.
//! - [`capacity`]: the highest offered rate of a staircase that was carried.

mod knee;
mod latency;
mod ratio;
mod summary;

pub use knee::{Capacity, Carried, Step, capacity};
pub use latency::{Latency, LatencyMs};
pub use ratio::{Ratio, ratio_of_pairs};
pub use summary::{Summary, quantile};
