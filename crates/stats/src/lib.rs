//! Histograms, confidence intervals and knee finding, as pure functions.
//!
//! - [`Histogram`]: durations in bounded memory, and their [`Percentiles`];
//!   [`CensoredHistogram`]: the same where some durations are only bounded from below.
//! - [`Summary`]: median, quartiles and spread of repeated measurements, and
//!   [`ratio_of_pairs`] for two interleaved series.
//! - [`Interval`]: a figure with its 95 % interval.
//! - [`Estimate`] and [`Difference`]: a figure with its standard error, from repeated
//!   runs or from one ([`ratio_of_sums`], [`quantile_of_batches`]), and the test whether
//!   two differ; [`holm()`] for several comparisons; [`fewest_for_quantile`]: how many
//!   values a quantile needs.
//! - [`least_squares`]: with unknowns of either sign, and without negative ones.
//! - [`capacity`]: the highest offered rate of a staircase that was carried.

mod batches;
mod censored;
mod enough;
mod estimate;
mod histogram;
mod holm;
mod interval;
mod knee;
pub mod least_squares;
mod percentiles;
mod ratio;
mod summary;
mod verdict;

pub use batches::{Caution, FEWEST, Inconclusive, RatioTerm, quantile_of_batches, ratio_of_sums};
pub use censored::{CensoredHistogram, Encoded, Ended, Observation, Quantile};
pub use enough::fewest_for_quantile;
pub use estimate::{Difference, Estimate};
pub use histogram::Histogram;
pub use holm::holm;
pub use interval::{Interval, mean};
pub use knee::{Capacity, Carried, Step, capacity};
pub use percentiles::{LowerBounds, Percentiles};
pub use ratio::{Ratio, ratio_of_pairs};
pub use summary::{Summary, quantile};
pub use verdict::Verdict;
