//! The configuration of a gate: every value is in its range, every file was read.

use super::fields::{Admin, Admission, Limits, Listen, Log, StaticTier, Tls, Trace, Upstream};
use super::files::Files;
use super::identity::Identity;
use super::routes::Route;
use super::selfsigned;
use std::sync::Arc;

/// A checked configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Listeners for customers.
    pub listen: Listen,
    /// Certificate and tickets.
    pub tls: Tls,
    /// The service behind the gate.
    pub upstream: Upstream,
    /// Where the requests of some paths go, in the order of the file.
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
    /// What is recorded of connections.
    pub trace: Trace,
    /// What was read from the files that keys name.
    pub files: Files,
    /// What it was read from: the file's name, or `command line`.
    pub source: String,
}

impl Config {
    /// The default certificate: the first of [`Config::identities`].
    ///
    /// # Errors
    /// None was given, and none could be made.
    pub fn identity(&self) -> Result<Arc<Identity>, selfsigned::Error> {
        match self.files.identities.first() {
            Some(identity) => Ok(identity.clone()),
            None => {
                let names = &self.tls.self_signed_names;
                Ok(Arc::new(selfsigned::make(self.tls.self_signed, names)?))
            }
        }
    }

    /// The certificates to serve, the default one first: the given ones, or a new self-signed
    /// one (another at every call).
    ///
    /// # Errors
    /// None was given, and none could be made.
    pub fn identities(&self) -> Result<Vec<Arc<Identity>>, selfsigned::Error> {
        let mut identities = vec![self.identity()?];
        identities.extend(self.files.identities.iter().skip(1).cloned());
        Ok(identities)
    }
}
