//! The resources that may limit admission.

use serde::Serialize;

/// A resource that may limit admission.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Resource {
    /// Which one.
    pub resource: ResourceName,
    /// CPU seconds per second that it has.
    pub capacity_cpus: f64,
    /// CPU seconds per second used over about the last second; `None`: unknown.
    pub used_cpus: Option<f64>,
}

/// The resources that may limit admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceName {
    /// The gate's processors.
    Gate,
    /// The upstream's processors.
    Upstream,
    /// Processors that gate and upstream share.
    Host,
}

impl ResourceName {
    /// The name as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Upstream => "upstream",
            Self::Host => "host",
        }
    }
}
