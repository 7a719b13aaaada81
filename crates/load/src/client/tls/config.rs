//! TLS as customers speak it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;

use super::forger::Forger;
use super::mix::Mix;
use super::one_ticket::OneTicket;
use super::tickets::{OfWhoeverAsks, Tickets};
use crate::client::address::Target;
use crate::client::tls::algorithms::Offer;
use crate::client::tls::certificate::Shown;
use crate::error::Error;
use crate::plan::{Http, Plan, TicketsOf};

/// The settings all customers share.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
    shown: Arc<Shown>,
    forger: Option<Arc<Forger>>,
    /// The tickets of all customers, if they share them.
    shared: Option<Arc<Tickets>>,
    full_share: Option<f64>,
}

impl Tls {
    pub(crate) fn new(plan: &Plan, target: &Target) -> Result<Self, Error> {
        let Offer { versions, provider } = plan.offer()?;
        let provider = Arc::new(provider);
        let failed =
            |reason: String, remedy| Error::Tls { target: target.text.clone(), reason, remedy };
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .map_err(|error| failed(error.to_string(), "choose other TLS versions"))?;
        let builder = if plan.insecure {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anything(provider)))
        } else {
            builder.with_root_certificates(trusted_roots(plan.ca.as_deref())?)
        };
        let shown = Arc::new(Shown::new(plan.certificate.clone()));
        let mut config = builder.with_client_cert_resolver(shown.clone());
        config.alpn_protocols = vec![match plan.http {
            Http::One => b"http/1.1".to_vec(),
            Http::Two => b"h2".to_vec(),
        }];
        let name = plan.server_name.clone().unwrap_or_else(|| target.host.clone());
        let name = ServerName::try_from(name)
            .map_err(|error| failed(error.to_string(), "give a valid server name"))?;
        let forger = plan.forged_tickets.then(|| Forger::new(config.clone(), &name)).transpose();
        let forger = forger.map_err(|reason| failed(reason, "forge no tickets"))?;
        let shared = plan.tickets_of() == TicketsOf::All;
        config.resumption = Resumption::store(Arc::new(OfWhoeverAsks));
        // What `secure` takes over from rustls.
        config.enable_secret_extraction = true;
        Ok(Self {
            config: Arc::new(config),
            name,
            shown,
            forger: forger.map(Arc::new),
            shared: shared.then(|| Arc::new(Tickets::shared())),
            full_share: plan.full_share,
        })
    }

    /// The tickets that a new customer brings.
    pub(crate) fn first_tickets(&self) -> Arc<Tickets> {
        match (&self.forger, &self.shared) {
            (Some(forger), _) => Arc::new(forger.tickets()),
            (None, Some(shared)) => shared.clone(),
            (None, None) => Arc::new(Tickets::own()),
        }
    }

    /// Gets the ticket that all are to use, over a connection of its own.
    ///
    /// # Errors
    /// There is none to be had.
    pub(crate) async fn get_one_ticket(&mut self, address: SocketAddr) -> std::io::Result<()> {
        let tcp = TcpStream::connect(address).await?;
        let one = OneTicket::get(&self.config, self.name.clone(), tcp).await?;
        self.shared = Some(Arc::new(Tickets::one(one)));
        Ok(())
    }

    /// Whether a server has asked for a certificate so far.
    pub(crate) fn asks_for_certificate(&self) -> bool {
        self.shown.was_asked()
    }

    /// What decides which handshakes are full, if a share of them is to be.
    pub(crate) fn mix(&self, seed: u64) -> Option<Mix> {
        self.full_share.map(|share| Mix::new(share, seed))
    }

    /// The settings, the same for all: which tickets a connection has to do with,
    /// [`OfConnection`](super::tickets::OfConnection) says.
    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        self.config.clone()
    }
}

/// The authorities in this file (PEM), or else those that the system trusts.
///
/// # Errors
/// The file cannot be read, or holds no certificate.
pub fn trusted_roots(ca: Option<&Path>) -> Result<RootCertStore, Error> {
    let mut store = RootCertStore::empty();
    if let Some(path) = ca {
        let wrong = |error: std::io::Error| Error::File { path: path.to_owned(), source: error };
        let certificates = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| wrong(std::io::Error::other(error.to_string())))?;
        if store.add_parsable_certificates(certificates).0 == 0 {
            return Err(wrong(std::io::Error::other("holds no certificate")));
        }
        return Ok(store);
    }
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Ok(store)
}

/// Accepts whatever a server shows, without the work of checking it: for test
/// servers of one's own, and only if asked for.
#[derive(Debug)]
struct Anything(Arc<CryptoProvider>);

impl ServerCertVerifier for Anything {
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
