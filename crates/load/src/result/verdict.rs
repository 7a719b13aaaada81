//! Outcome of a threshold.

use serde::Serialize;

/// The outcome of a threshold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Name of the figure.
    pub metric: &'static str,
    /// The figure.
    pub value: f64,
    /// Smallest allowed value.
    pub min: Option<f64>,
    /// Largest allowed value.
    pub max: Option<f64>,
    /// The figure is within the limits. A response time without any request is not.
    pub met: bool,
}
