//! Hosts that customers request beside the target.

use std::path::PathBuf;

use crate::client::connections::Http;
use crate::client::target::Target;

/// A host that a scenario names.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its name in the scenario.
    pub name: String,
    pub(crate) target: Target,
    /// Accepts any certificate of it.
    pub insecure: bool,
    /// PEM file of certificate authorities to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// Name for SNI and verification, if it is not its own.
    pub server_name: Option<String>,
    /// HTTP version, if it is not that of the target.
    pub http: Option<Http>,
}

/// Most hosts of a scenario.
pub(crate) const MOST: usize = 16;

impl Host {
    /// Its address: `https://host[:port]`, or `http://`.
    pub fn url(&self) -> &str {
        &self.target.text
    }
}
