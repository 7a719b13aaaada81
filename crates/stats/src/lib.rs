//! Histograms, intervals and knee finding: pure.
//!
//! - [`Histogram`]: durations in bounded memory, and their [`Percentiles`].
//! - [`Summary`]: median, quartiles and spread of repeated measurements, and
//!   [`ratio_of_pairs`] for two interleaved series.
//! - [`Estimate`] and [`Difference`]: a figure with its error, of repeated runs
//!   or of one ([`ratio_of_sums`], [`quantile_of_batches`]), and whether two
//!   differ; [`holm()`] where many are compared.
//! - [`capacity`]: the highest offered rate of a staircase that was carried.

mod batches;
mod estimate;
mod histogram;
mod holm;
mod knee;
mod ratio;
mod summary;

pub use batches::{FEWEST, Part, Unsure, quantile_of_batches, ratio_of_sums};
pub use estimate::{Difference, Estimate};
pub use histogram::{Histogram, Percentiles};
pub use holm::holm;
pub use knee::{Capacity, Carried, Step, capacity};
pub use ratio::{Ratio, ratio_of_pairs};
pub use summary::{Summary, quantile};
