//! The configuration of a gate: every value is in its range, every file was read.

use super::fields::{
    AccessLog, Admin, Admission, Fleet, Limits, Listen, Log, StaticTier, Tls, Trace, Upstream,
};
use super::files::Files;
use super::identity::Identity;
use super::pools::NamedPool;
use super::routes::Route;
use super::selfsigned;
use std::sync::Arc;
use tidegate_control::CertificateKey;

/// A checked configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Listeners for customers.
    pub listen: Listen,
    /// Certificate and tickets.
    pub tls: Tls,
    /// The service behind the gate.
    pub upstream: Upstream,
    /// Further upstreams with names, in the order of the file.
    pub named_pools: Vec<NamedPool>,
    /// Where the requests of some hosts and paths go, in the order of the file.
    pub routes: Vec<Route>,
    /// Files that the gate serves itself.
    pub static_tier: StaticTier,
    /// Admission of new sessions.
    pub admission: Admission,
    /// Deadlines and limits.
    pub limits: Limits,
    /// The operator's address.
    pub admin: Admin,
    /// What is logged.
    pub log: Log,
    /// What is logged of exchanges.
    pub access_log: AccessLog,
    /// What is recorded of connections.
    pub trace: Trace,
    /// Other gates before the same service.
    pub fleet: Fleet,
    /// What was read from the files that keys name.
    pub files: Files,
    /// What it was read from: the file's name, or `command line`.
    pub source: String,
}

impl Config {
    /// The certificates to serve, the default one first; never empty: the given ones, or new
    /// self-signed ones (others at every call).
    ///
    /// # Errors
    /// None was given, and none could be made.
    pub fn identities(&self) -> Result<Vec<Arc<Identity>>, selfsigned::Error> {
        if !self.files.identities.is_empty() {
            return Ok(self.files.identities.clone());
        }
        let make = |kind: &CertificateKey| selfsigned::make(*kind, &self.tls.self_signed_names);
        self.tls.self_signed.iter().map(|kind| make(kind).map(Arc::new)).collect()
    }
}
