//! Figures as text and as metrics.

mod addresses;
mod answers;
pub(crate) mod exposition;
pub mod metrics;
pub(crate) mod paragraph;
mod redirects;
pub(crate) mod text;
