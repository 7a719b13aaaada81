//! Figures as text and as metrics.

pub(crate) mod exposition;
pub mod metrics;
pub(crate) mod paragraph;
pub(crate) mod text;
