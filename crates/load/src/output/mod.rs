//! Figures as text and as metrics.

mod addresses;
mod answers;
mod cohorts;
pub(crate) mod exposition;
pub mod metrics;
pub(crate) mod paragraph;
mod percentiles;
pub(crate) mod rate;
mod redirects;
pub(crate) mod text;
