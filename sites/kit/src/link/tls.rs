//! Mutual TLS 1.3 between tiers. A certificate of the private CA is not enough: it must
//! name the tier that is expected at the other end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName, UnixTime,
};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig,
    SignatureScheme,
};

use super::authority;
use crate::{Error, Result, pem, private_file};

/// Sessions that a client keeps for resumption.
const SESSIONS: usize = 256;

/// What a tier presents, and whom it trusts.
struct Identity {
    roots: Arc<RootCertStore>,
    revoked: Vec<CertificateRevocationListDer<'static>>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// The name in the certificate of a tier.
pub(super) fn server_name(tier: &str) -> Result<ServerName<'static>> {
    ServerName::try_from(authority::name_of(tier))
        .map_err(|error| Error::Internal(format!("{tier} is no name of a tier: {error}")))
}

/// The client's configuration of the tier `own`, from a folder made by
/// [`authority::make`].
///
/// # Errors
/// Files are missing, unreadable, readable by others, or do not belong together.
pub(super) fn client(folder: &Path, own: &str, resumption: bool) -> Result<Arc<ClientConfig>> {
    let identity = read(folder, own)?;
    let verifier = WebPkiServerVerifier::builder_with_provider(identity.roots, provider())
        .with_crls(identity.revoked)
        .build()
        .map_err(|error| unusable(folder, &error))?;
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(internal)?
        .with_webpki_verifier(verifier)
        .with_client_auth_cert(identity.chain, identity.key)
        .map_err(|error| mismatch(folder, own, &error))?;
    config.resumption = match resumption {
        true => Resumption::in_memory_sessions(SESSIONS),
        false => Resumption::disabled(),
    };
    Ok(Arc::new(config))
}

/// The server's configuration of the tier `own`, which accepts the tier `before` alone.
///
/// # Errors
/// As for [`client`].
pub(super) fn server(
    folder: &Path,
    own: &str,
    before: &str,
    resumption: bool,
) -> Result<Arc<ServerConfig>> {
    let identity = read(folder, own)?;
    let chains = WebPkiClientVerifier::builder_with_provider(identity.roots, provider())
        .with_crls(identity.revoked)
        .build()
        .map_err(|error| unusable(folder, &error))?;
    let verifier = NamedTier { chains, name: server_name(before)? };
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(internal)?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_single_cert(identity.chain, identity.key)
        .map_err(|error| mismatch(folder, own, &error))?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = usize::from(resumption);
    if resumption {
        config.ticketer = rustls::crypto::aws_lc_rs::Ticketer::new().map_err(internal)?;
    }
    Ok(Arc::new(config))
}

/// Whether the files of the tier `own` are complete, belong together, and are valid at this
/// time (seconds since 1970).
pub(super) fn usable(folder: &Path, own: &str, at: i64) -> bool {
    let Ok(identity) = read(folder, own) else { return false };
    let at = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(at).unwrap_or(0)));
    let chains = WebPkiClientVerifier::builder_with_provider(identity.roots, provider()).build();
    let valid =
        chains.is_ok_and(|chains| chains.verify_client_cert(&identity.chain[0], &[], at).is_ok());
    // That key and certificate belong together.
    valid && client(folder, own, false).is_ok()
}

/// Accepts certificates of the CA that name one tier.
#[derive(Debug)]
struct NamedTier {
    chains: Arc<dyn ClientCertVerifier>,
    name: ServerName<'static>,
}

impl ClientCertVerifier for NamedTier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chains.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let verified = self.chains.verify_client_cert(end_entity, intermediates, now)?;
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, &self.name)?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        self.chains.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        self.chains.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

fn read(folder: &Path, own: &str) -> Result<Identity> {
    let mut roots = RootCertStore::empty();
    let ca = folder.join(authority::CA);
    for certificate in certificates(&ca)? {
        roots.add(certificate).map_err(|error| {
            Error::Operator(format!("{}: is no certificate of a CA: {error}", ca.display()))
        })?;
    }
    let chain = certificates(&authority::certificate_file(folder, own))?;
    let path = authority::key_file(folder, own);
    let key = pem::key(&private_file::read(&path)?).map_err(|error| {
        Error::Operator(format!("{}: is no key: {error}; {MAKE}", path.display()))
    })?;
    let list = folder.join(authority::REVOKED);
    let revoked = if list.exists() { revoked(&list)? } else { Vec::new() };
    Ok(Identity { roots: Arc::new(roots), revoked, chain, key })
}

fn revoked(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>> {
    pem::revocation_lists(path).map_err(|text| {
        Error::Operator(format!(
            "{}: {text}; give the list of the CA in {}, or delete the file",
            path.display(),
            authority::CA
        ))
    })
}

fn unusable(folder: &Path, error: &rustls::client::VerifierBuilderError) -> Error {
    Error::Operator(format!("{}: {error}", folder.display()))
}

const MAKE: &str = "make the files with --make-ca DIR";

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    pem::certificates(path)
        .map_err(|text| Error::Operator(format!("{}: {text}; {MAKE}", path.display())))
}

fn mismatch(folder: &Path, own: &str, error: &rustls::Error) -> Error {
    Error::Operator(format!(
        "{} and {}: {error}; {MAKE}",
        authority::certificate_file(folder, own).display(),
        authority::key_file(folder, own).display(),
    ))
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

fn internal(error: rustls::Error) -> Error {
    Error::Internal(format!("TLS: {error}"))
}
