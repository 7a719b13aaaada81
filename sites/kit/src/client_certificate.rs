//! The certificate that a client has shown, and why one may not be used any more.
//!
//! A client whose certificate has expired gets an alert of TLS, which programs tell as a failed
//! connection. A site that wants to tell the cause in its answers lets such a client finish the
//! handshake with `Told`, and refuses its requests by [`ClientCertificate::unusable`].

use std::sync::{Arc, OnceLock};

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, SignatureScheme};

/// The certificate that the client of a connection has shown. Requests over TLS have it as an
/// extension where clients are asked for one. A clone shares it.
#[derive(Clone, Debug)]
pub struct ClientCertificate(Arc<Shown>);

#[derive(Debug)]
struct Shown {
    chain: Vec<CertificateDer<'static>>,
    unusable: OnceLock<Option<Unusable>>,
}

/// Why a certificate is not accepted, though the CA has issued it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Its time is over.
    Expired,
    /// Its time has not begun.
    NotYetValid,
    /// A list of the CA revokes it.
    Revoked,
    /// It is not, or no more, one of the CA's.
    Unknown,
}

impl ClientCertificate {
    /// Of a chain, the client's own certificate first; `None` for an empty one.
    pub(crate) fn new(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let chain: Vec<_> = chain.iter().map(|it| it.clone().into_owned()).collect();
        let shown = Shown { chain, unusable: OnceLock::new() };
        (!shown.chain.is_empty()).then(|| Self(Arc::new(shown)))
    }

    /// The DNS names in it.
    pub fn dns_names(&self) -> Vec<String> {
        webpki::EndEntityCert::try_from(&self.0.chain[0])
            .map(|certificate| certificate.valid_dns_names().map(str::to_owned).collect())
            .unwrap_or_default()
    }

    /// Why it is not accepted by these clients' verifier, which is the same for all requests;
    /// `None` if it is. Verified once for a connection.
    pub fn unusable(&self, clients: &dyn ClientCertVerifier) -> Option<Unusable> {
        *self.0.unusable.get_or_init(|| {
            let (own, more) = self.0.chain.split_first()?;
            match clients.verify_client_cert(own, more, UnixTime::now()) {
                Ok(_) => None,
                Err(error) => Some(Unusable::of(&error).unwrap_or(Unusable::Unknown)),
            }
        })
    }
}

impl Unusable {
    /// Of the error of a verifier; `None` for one that is not about time or revocation.
    fn of(error: &rustls::Error) -> Option<Self> {
        use CertificateError as E;
        let rustls::Error::InvalidCertificate(error) = error else { return None };
        match error {
            E::Expired | E::ExpiredContext { .. } => Some(Self::Expired),
            E::NotValidYet | E::NotValidYetContext { .. } => Some(Self::NotYetValid),
            E::Revoked => Some(Self::Revoked),
            _ => None,
        }
    }
}

/// A verifier that lets clients finish the handshake whose certificates have expired or are
/// revoked. Whoever uses it refuses their requests.
#[derive(Debug)]
pub(crate) struct Told(pub(crate) Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for Told {
    fn offer_client_auth(&self) -> bool {
        self.0.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.0.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        more: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        match self.0.verify_client_cert(own, more, now) {
            Err(error) if Unusable::of(&error).is_some() => Ok(ClientCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
