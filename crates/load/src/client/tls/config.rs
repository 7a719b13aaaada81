//! The TLS client configuration that all customers share.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;

use super::algorithms::Offer;
use super::certificate::{CertificateResolver, ClientCertificate, read_pem};
use super::fetch::fetch_ticket;
use super::forger::TicketForger;
use super::rules::TicketsOf;
use super::schedule::HandshakeSchedule;
use super::server_key::{OnlySigner, SigningKey};
use super::tickets::{SessionStore, Tickets};
use crate::client::connections::Http;
use crate::client::target::Target;
use crate::error::Error;

/// Settings of [`ClientTls`].
pub(crate) struct TlsSettings {
    pub(crate) offer: Offer,
    /// Accepts any server certificate.
    pub(crate) insecure: bool,
    /// PEM file of certificate authorities to trust instead of the system's.
    pub(crate) ca: Option<PathBuf>,
    /// Client certificate.
    pub(crate) certificate: Option<ClientCertificate>,
    /// HTTP version for ALPN.
    pub(crate) http: Http,
    /// Name for SNI and verification, if it is not the target's host.
    pub(crate) server_name: Option<String>,
    pub(crate) forged_tickets: bool,
    /// The only type of server key whose signatures are accepted; `None` for all.
    pub(crate) server_key: Option<SigningKey>,
    pub(crate) tickets: TicketsOf,
    /// Share of full handshakes, 0 to 1.
    pub(crate) full_share: Option<f64>,
}

/// The configuration that all customers share.
#[derive(Clone, Debug)]
pub(crate) struct ClientTls {
    config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
    certificate: Arc<CertificateResolver>,
    forger: Option<Arc<TicketForger>>,
    /// The tickets of all customers, if they share them.
    shared: Option<Arc<Tickets>>,
    full_share: Option<f64>,
}

impl ClientTls {
    /// # Errors
    /// The settings do not fit together, or the certificate authorities cannot be read.
    pub(crate) fn new(settings: TlsSettings, target: &Target) -> Result<Self, Error> {
        let Offer { versions, provider } = settings.offer;
        let provider = Arc::new(provider);
        let failed =
            |reason: String, remedy| Error::Tls { target: target.text.clone(), reason, remedy };
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .map_err(|error| failed(error.to_string(), "choose other TLS versions"))?;
        let verifier: Arc<dyn ServerCertVerifier> = if settings.insecure {
            Arc::new(AcceptAny(provider))
        } else {
            let roots = Arc::new(trusted_roots(settings.ca.as_deref())?);
            WebPkiServerVerifier::builder_with_provider(roots, provider).build().map_err(
                |error| {
                    failed(
                        error.to_string(),
                        "accept its certificate with --insecure, or name its authority with --ca",
                    )
                },
            )?
        };
        let verifier = match settings.server_key {
            Some(signs) => Arc::new(OnlySigner { verifier, signs }),
            None => verifier,
        };
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let certificate = Arc::new(CertificateResolver::new(settings.certificate));
        let mut config = builder.with_client_cert_resolver(certificate.clone());
        config.alpn_protocols = vec![match settings.http {
            Http::One => b"http/1.1".to_vec(),
            Http::Two => b"h2".to_vec(),
        }];
        let name = settings.server_name.unwrap_or_else(|| target.host.clone());
        let name = ServerName::try_from(name)
            .map_err(|error| failed(error.to_string(), "give a valid server name"))?;
        let forger =
            settings.forged_tickets.then(|| TicketForger::new(config.clone(), &name)).transpose();
        let forger = forger.map_err(|reason| failed(reason, "leave out --forged-tickets"))?;
        let shared = settings.tickets == TicketsOf::All;
        config.resumption = Resumption::store(Arc::new(SessionStore));
        // The record layer of `stream` uses the traffic secrets.
        config.enable_secret_extraction = true;
        Ok(Self {
            config: Arc::new(config),
            name,
            certificate,
            forger: forger.map(Arc::new),
            shared: shared.then(|| Arc::new(Tickets::shared())),
            full_share: settings.full_share,
        })
    }

    /// The tickets of a new customer.
    pub(crate) fn first_tickets(&self) -> Arc<Tickets> {
        match (&self.forger, &self.shared) {
            (Some(forger), _) => Arc::new(forger.tickets()),
            (None, Some(shared)) => shared.clone(),
            (None, None) => Arc::new(Tickets::own()),
        }
    }

    /// Obtains the ticket that all handshakes use, over a connection of its own.
    ///
    /// # Errors
    /// The server issues no ticket.
    pub(crate) async fn get_one_ticket(&mut self, address: SocketAddr) -> std::io::Result<()> {
        let tcp = TcpStream::connect(address).await?;
        let one = fetch_ticket(&self.config, self.name.clone(), tcp).await?;
        self.shared = Some(Arc::new(Tickets::one(one)));
        Ok(())
    }

    /// Whether a server has requested a client certificate so far.
    pub(crate) fn certificate_requested(&self) -> bool {
        self.certificate.was_requested()
    }

    /// The schedule of full and resumed handshakes, if a share of full ones is set.
    pub(crate) fn schedule(&self, seed: u64) -> Option<HandshakeSchedule> {
        self.full_share.map(|share| HandshakeSchedule::new(share, seed))
    }

    /// The rustls configuration. The tickets of a connection are in
    /// [`ConnectionTickets`](super::tickets::ConnectionTickets).
    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        self.config.clone()
    }
}

/// The certificate authorities of a PEM file, or those of the system.
///
/// # Errors
/// The file cannot be read or contains no certificate.
pub fn trusted_roots(ca: Option<&Path>) -> Result<RootCertStore, Error> {
    let mut store = RootCertStore::empty();
    if let Some(path) = ca {
        let wrong = |error: std::io::Error| Error::File { path: path.to_owned(), source: error };
        let certificates = CertificateDer::pem_slice_iter(&read_pem(path).map_err(wrong)?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| wrong(std::io::Error::other(error.to_string())))?;
        if store.add_parsable_certificates(certificates).0 == 0 {
            return Err(wrong(std::io::Error::other("contains no certificate")));
        }
        return Ok(store);
    }
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Ok(store)
}

/// TLS of a client that trusts the certificate authorities of [`trusted_roots`], or any server
/// certificate.
///
/// # Errors
/// As [`trusted_roots`].
pub fn trusting(ca: Option<&Path>, insecure: bool) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("the provider has suites for the default versions");
    let builder = match insecure {
        true => builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAny(provider))),
        false => builder.with_root_certificates(trusted_roots(ca)?),
    };
    Ok(builder.with_no_client_auth())
}

/// Accepts any server certificate without verification, for test servers.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
