//! TLS of the connections that customers open to a site.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

use crate::client_certificate::Told;
use crate::{Error, Result, pem, private_file};

/// TLS of the connections of a site.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Versions that are offered.
    pub version: TlsVersion,
    /// PEM files of the certificate chain and of its key; `None`: a self-signed certificate
    /// for `localhost`, made at the start.
    pub files: Option<(PathBuf, PathBuf)>,
    /// Sessions are resumed by tickets; otherwise every handshake is a full one.
    pub resumption: bool,
    /// Certificates that clients may show; `None`: they are not asked for any.
    pub clients: Option<Clients>,
}

/// Certificates that clients may show.
#[derive(Clone, Debug)]
pub struct Clients {
    /// PEM file of the CAs that issue them.
    pub ca: PathBuf,
    /// PEM file of those that are revoked.
    pub revoked: Option<PathBuf>,
    /// Whether a client without one is refused.
    pub required: bool,
    /// Clients whose certificates have expired or are revoked finish the handshake, so that an
    /// answer tells them; the site refuses their requests, see [`verifier`].
    pub told: bool,
}

/// Versions of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// 1.2 and 1.3.
    Both,
    /// 1.2 alone.
    V12,
    /// 1.3 alone.
    V13,
}

impl FromStr for TlsVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "both" => Ok(Self::Both),
            "1.2" => Ok(Self::V12),
            "1.3" => Ok(Self::V13),
            _ => Err("must be 1.2, 1.3 or both".into()),
        }
    }
}

/// The configuration of the connections.
///
/// # Errors
/// The files cannot be read, others than owner and group can read the key, or they do not belong
/// together.
pub fn config(tls: &Tls) -> Result<Arc<ServerConfig>> {
    let (chain, key) = match &tls.files {
        Some((chain, key)) => (read_chain(chain)?, read_key(key)?),
        None => self_signed()?,
    };
    let versions: &[&SupportedProtocolVersion] = match tls.version {
        TlsVersion::Both => &[&TLS12, &TLS13],
        TlsVersion::V12 => &[&TLS12],
        TlsVersion::V13 => &[&TLS13],
    };
    let provider = CryptoProvider { kx_groups: groups(), ..aws_lc_rs::default_provider() };
    let builder = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .map_err(|error| Error::Internal(format!("TLS: {error}")))?;
    let builder = match &tls.clients {
        None => builder.with_no_client_auth(),
        Some(clients) => {
            let verifier = verifier(clients)?;
            builder.with_client_cert_verifier(match clients.told {
                true => Arc::new(Told(verifier)),
                false => verifier,
            })
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|error| {
        Error::Operator(format!(
            "--certificate and --key: {error}; give a certificate and the key it was made for"
        ))
    })?;
    if tls.resumption {
        config.ticketer =
            aws_lc_rs::Ticketer::new().map_err(|error| Error::Internal(format!("TLS: {error}")))?;
    } else {
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(Arc::new(config))
}

/// Every key exchange group that the library has, those that it offers by itself first: customers of
/// a study ask for each of them alone.
fn groups() -> Vec<&'static dyn SupportedKxGroup> {
    let others = aws_lc_rs::ALL_KX_GROUPS.iter().filter(|group| {
        !aws_lc_rs::DEFAULT_KX_GROUPS.iter().any(|default| default.name() == group.name())
    });
    aws_lc_rs::DEFAULT_KX_GROUPS.iter().chain(others).copied().collect()
}

/// Verifies the certificates of clients: of the CAs, in their time, and not revoked.
///
/// # Errors
/// The files cannot be read, or hold something else.
pub fn verifier(clients: &Clients) -> Result<Arc<dyn ClientCertVerifier>> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let wrong = |flag: &str, path: &Path, text: String| {
        Error::Operator(format!("{flag} {}: {text}; give a PEM file", path.display()))
    };
    let mut roots = RootCertStore::empty();
    let of_ca = |text| wrong("--client-ca", &clients.ca, text);
    for certificate in pem::certificates(&clients.ca).map_err(of_ca)? {
        roots.add(certificate).map_err(|error| of_ca(error.to_string()))?;
    }
    let revoked = match &clients.revoked {
        None => Vec::new(),
        Some(path) => {
            pem::revocation_lists(path).map_err(|text| wrong("--client-crl", path, text))?
        }
    };
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .with_crls(revoked)
        // A list says whom it revokes; of a certificate that no list is about nothing is known.
        .allow_unknown_revocation_status();
    let builder = if clients.required { builder } else { builder.allow_unauthenticated() };
    builder.build().map_err(|error| of_ca(error.to_string()))
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    pem::certificates(path).map_err(|text| {
        Error::Operator(format!("--certificate {}: {text}; give a PEM file", path.display()))
    })
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let wrong = |text: String| Error::Operator(format!("--key {}: {text}", path.display()));
    let pem = private_file::read_tls_key(path).map_err(wrong)?;
    pem::key(&pem).map_err(|error| wrong(format!("{error}; give a PEM file with one key")))
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
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_certificate_is_made_where_none_is_given_and_wrong_files_are_named() {
        assert!(
            config(&Tls { version: TlsVersion::V13, files: None, resumption: true, clients: None })
                .is_ok()
        );
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty.pem");
        std::fs::write(&empty, "").unwrap();
        let missing = folder.path().join("missing.pem");
        for (file, expected) in [(&empty, "holds no certificate"), (&missing, "missing.pem")] {
            let files = Some((file.clone(), file.clone()));
            let tls = Tls { version: TlsVersion::Both, files, resumption: true, clients: None };
            let error = config(&tls).unwrap_err().to_string();
            assert!(error.contains("--certificate") && error.contains(expected), "{error}");
        }
    }

    #[test]
    fn customers_may_ask_for_each_group_and_the_usual_order_is_kept() {
        let tls = Tls { version: TlsVersion::V13, files: None, resumption: true, clients: None };
        let config = config(&tls).unwrap();
        let names = |groups: &[&'static dyn SupportedKxGroup]| {
            groups.iter().map(|group| group.name()).collect::<Vec<_>>()
        };
        let offered = names(&config.crypto_provider().kx_groups);
        assert!(offered.starts_with(&names(aws_lc_rs::DEFAULT_KX_GROUPS)), "{offered:?}");
        let all = names(aws_lc_rs::ALL_KX_GROUPS);
        assert!(all.iter().all(|group| offered.contains(group)), "{offered:?}");
        assert_eq!(offered.len(), all.len());
    }

    #[test]
    fn a_key_that_others_can_read_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let [chain, key] = ["chain.pem", "key.pem"].map(|name| folder.path().join(name));
        std::fs::write(&chain, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let files = Some((chain, key.clone()));
        let tls = Tls { version: TlsVersion::Both, files, resumption: true, clients: None };
        let with_mode = |mode| {
            std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
            config(&tls).map(drop)
        };
        let error = with_mode(0o644).unwrap_err().to_string();
        assert!(error.contains("--key") && error.contains("chmod 600"), "{error}");
        for mode in [0o600, 0o640] {
            assert!(with_mode(mode).is_ok(), "{mode:o}");
        }
        std::fs::write(&key, "no key").unwrap();
        let error = with_mode(0o600).unwrap_err().to_string();
        assert!(error.contains("give a PEM file with one key"), "{error}");
    }

    #[test]
    fn a_version_that_does_not_exist_names_those_that_do() {
        assert_eq!("1.3".parse(), Ok(TlsVersion::V13));
        assert!("1.1".parse::<TlsVersion>().unwrap_err().contains("1.2, 1.3 or both"));
    }
}
