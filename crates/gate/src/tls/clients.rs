//! Certificates of clients: who signs them, and what a ticket says about that.

use crate::config::{ClientAuth, Config};
use aws_lc_rs::digest::{Context, SHA256};
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use std::sync::Arc;

/// The verifier of clients' certificates.
///
/// # Errors
/// The authorities cannot be used.
pub fn verifier(
    config: &Config,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, rustls::Error> {
    let (required, roots) = match (config.tls.client_auth, &config.files.client_roots) {
        (ClientAuth::Request, Some(roots)) => (false, roots),
        (ClientAuth::Require, Some(roots)) => (true, roots),
        // A checked configuration of the others has authorities.
        (ClientAuth::Off, _) | (_, None) => return Ok(WebPkiClientVerifier::no_client_auth()),
    };
    let mut store = RootCertStore::empty();
    roots.iter().try_for_each(|root| store.add(root.clone()))?;
    let builder = WebPkiClientVerifier::builder_with_provider(store.into(), provider.clone());
    // Expired lists do not count, as with nginx and HAProxy: whoever keeps a new one from the
    // gate could otherwise go on with a revoked certificate.
    let builder = match &config.files.client_revocations {
        Some(revoked) => {
            builder.with_crls(revoked.lists.iter().cloned()).enforce_revocation_expiration()
        }
        None => builder,
    };
    let builder = if required { builder } else { builder.allow_unauthenticated() };
    builder.build().map_err(|error| rustls::Error::General(error.to_string()))
}

/// What a ticket states about clients' certificates: a hash of the mode, the authorities and
/// what is revoked, 0 where none is asked for. The TLS library resumes a session whether or not its client was
/// verified by the rules that hold now; so a ticket that was made under others must not open.
pub fn rules_hash(config: &Config) -> u64 {
    let Some(roots) = &config.files.client_roots else { return 0 };
    if config.tls.client_auth == ClientAuth::Off {
        return 0;
    }
    let mut hash = Context::new(&SHA256);
    hash.update(config.tls.client_auth.name().as_bytes());
    for root in roots.iter() {
        hash.update(&(root.len() as u64).to_be_bytes());
        hash.update(root);
    }
    if let Some(revoked) = &config.files.client_revocations {
        hash.update(&revoked.content);
    }
    let digest = hash.finish();
    let first = digest.as_ref().first_chunk().copied().unwrap_or_default();
    u64::from_be_bytes(first).max(1)
}
