//! TLS of the service's connections.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedProtocolVersion};

use super::options::{Tls, TlsVersion};
use crate::{Error, Result};

/// The configuration of the service's connections. Clients are not asked for certificates;
/// sessions are resumed by tickets.
///
/// # Errors
/// The files cannot be read, or do not belong together.
pub(super) fn config(tls: &Tls) -> Result<Arc<ServerConfig>> {
    let (chain, key) = match &tls.files {
        Some((chain, key)) => (read_chain(chain)?, read_key(key)?),
        None => self_signed()?,
    };
    let versions: &[&SupportedProtocolVersion] = match tls.version {
        TlsVersion::Both => &[&TLS12, &TLS13],
        TlsVersion::V12 => &[&TLS12],
        TlsVersion::V13 => &[&TLS13],
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(|error| Error::Internal(format!("TLS: {error}")))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| {
            Error::Operator(format!(
                "--certificate and --key: {error}; give a certificate and the key it was made for"
            ))
        })?;
    config.ticketer = rustls::crypto::aws_lc_rs::Ticketer::new()
        .map_err(|error| Error::Internal(format!("TLS: {error}")))?;
    Ok(Arc::new(config))
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let wrong = |text: String| Error::Operator(format!("--certificate {}: {text}", path.display()));
    let chain: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| wrong(format!("{error}; give a PEM file")))?;
    if chain.is_empty() {
        Err(wrong("holds no certificate; give a PEM file".into()))
    } else {
        Ok(chain)
    }
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| {
        Error::Operator(format!("--key {}: {error}; give a PEM file with one key", path.display()))
    })
}

fn self_signed() -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names)
        .map_err(|error| Error::Internal(format!("no certificate can be made: {error}")))?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    Ok((vec![made.cert.der().clone()], key.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_made_where_none_is_given_and_wrong_files_are_named() {
        assert!(config(&Tls { version: TlsVersion::V13, files: None }).is_ok());
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty.pem");
        std::fs::write(&empty, "").unwrap();
        let missing = folder.path().join("missing.pem");
        for (file, expected) in [(&empty, "holds no certificate"), (&missing, "missing.pem")] {
            let files = Some((file.clone(), file.clone()));
            let error = config(&Tls { version: TlsVersion::Both, files }).unwrap_err().to_string();
            assert!(error.contains("--certificate") && error.contains(expected), "{error}");
        }
    }
}
