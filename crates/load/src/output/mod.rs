//! Figures as text and as metrics.

mod addresses;
mod answers;
pub(crate) mod exposition;
mod failures;
mod groups;
pub mod metrics;
pub mod number;
pub(crate) mod paragraph;
mod percentiles;
mod redirects;
pub(crate) mod secret;
pub(crate) mod text;
