//! What connections begin with. A reload makes another generation; connections keep the one
//! that they began with, to their end.

use crate::admission::tickets::Keyring;
use crate::config::{Config, Identity};
use crate::error::Error;
use crate::tls::configs::ServerConfigs;
use crate::upstream::connector::Connector;
use std::sync::Arc;

/// A configuration and what is made of it. It never changes.
pub struct Generation {
    /// The checked configuration.
    pub config: Arc<Config>,
    /// TLS towards customers.
    pub tls: Arc<ServerConfigs>,
    /// Connections to the servers of the upstreams, in the order of [`Config::pools`].
    pub connectors: Vec<Vec<Connector>>,
    identities: Vec<Arc<Identity>>,
}

impl Generation {
    /// Makes everything that connections need.
    ///
    /// # Errors
    /// The certificate or the roots for the upstream cannot be used.
    pub fn new(config: Config, keyring: Arc<Keyring>) -> Result<Self, Error> {
        let identities = config.identities()?;
        let each: Vec<&Identity> = identities.iter().map(Arc::as_ref).collect();
        let tls = Arc::new(ServerConfigs::new(&config, &each, keyring)?);
        let upstreams = config.upstreams().into_iter();
        let connectors = upstreams.map(|upstream| Connector::all(&config, upstream, &tls.provider));
        let connectors = connectors.collect::<Result<_, _>>()?;
        Ok(Self { config: Arc::new(config), tls, connectors, identities })
    }

    /// The next generation. Ticket keys stay, and so does self-signed certificates that
    /// would be made anew for the same names.
    ///
    /// # Errors
    /// The certificate or the roots for the upstream cannot be used.
    pub fn renewed(&self, mut config: Config) -> Result<Self, Error> {
        let (tls, before) = (&config.tls, &self.config.tls);
        let same = (&tls.self_signed, &tls.self_signed_names)
            == (&before.self_signed, &before.self_signed_names);
        if config.files.identities.is_empty() && same {
            let made = self.identities.iter().filter(|identity| identity.self_signed);
            config.files.identities.extend(made.cloned());
        }
        Self::new(config, self.tls.keyring.clone())
    }

    /// Warns of a certificate that no client trusts.
    pub fn warn_if_self_signed(&self) {
        if self.identities.iter().any(|identity| identity.self_signed) {
            tracing::warn!(
                "no certificate is configured: the gate made a self-signed one for {}, which \
                 clients do not trust; set tls.certificate and tls.key",
                self.config.tls.self_signed_names.join(", ")
            );
        }
    }
}
