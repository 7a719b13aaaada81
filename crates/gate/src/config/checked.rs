//! The configuration of a gate: every value is in its range, every file was read.

use super::fields::{Admin, Admission, Limits, Listen, Log, Tls, Upstream};
use super::identity::Identity;
use super::selfsigned;
use rustls::pki_types::CertificateDer;
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
    /// Admission of new sessions.
    pub admission: Admission,
    /// Deadlines and limits.
    pub limits: Limits,
    /// The operator's address.
    pub admin: Admin,
    /// What is logged.
    pub log: Log,
    /// Certificate and key as read from the files of `tls`; none: the gate makes
    /// a self-signed one (see [`Config::identity`]).
    pub given_identity: Option<Arc<Identity>>,
    /// Certificates read from `upstream.ca`; none: the system's own.
    pub upstream_roots: Option<Arc<Vec<CertificateDer<'static>>>>,
    /// What it was read from: the file's name, or `command line`.
    pub source: String,
}

impl Config {
    /// Certificate and key to serve: the given ones, or a new self-signed pair
    /// (another at every call).
    ///
    /// # Errors
    /// The pair could not be made.
    pub fn identity(&self) -> Result<Arc<Identity>, selfsigned::Error> {
        match &self.given_identity {
            Some(identity) => Ok(identity.clone()),
            None => {
                let names = &self.tls.self_signed_names;
                Ok(Arc::new(selfsigned::make(self.tls.self_signed, names)?))
            }
        }
    }
}
