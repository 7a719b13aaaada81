//! What the gate offers in a TLS handshake, and what a handshake with a hello will
//! agree on.

use crate::admission::names::Names;
use crate::admission::tickets::Terms;
use crate::alerts::for_incompatible;
use rustls::crypto::CryptoProvider;
use rustls::sign::SigningKey;
use rustls::{AlertDescription, ProtocolVersion, SignatureAlgorithm, SignatureScheme};
use std::sync::Arc;
use tidegate_hello::ClientHello;
use tidegate_hello::negotiate::{self, Choice};

/// The signature schemes that keys of certificates have, RSA PKCS #1 for TLS 1.2 included.
///
/// Source: IANA, TLS SignatureScheme.
const SCHEMES: [u16; 15] = [
    0x0201, 0x0203, 0x0401, 0x0403, 0x0501, 0x0503, 0x0601, 0x0603, 0x0804, 0x0805, 0x0806, 0x0807,
    0x0808, 0x0904, 0x0905,
];

/// What the gate offers, as code points.
#[derive(Debug)]
pub struct Offer {
    tls12: bool,
    /// Which certificate a handshake is with.
    names: Arc<Names>,
    /// What tickets must state about clients' certificates.
    pub client_auth: u64,
    /// For each certificate: they suit its key.
    tls12_suites: Vec<Vec<u16>>,
    tls13_suites: Vec<u16>,
    tls12_groups: Vec<u16>,
    tls13_groups: Vec<u16>,
    /// For each certificate: those that its key can sign with.
    schemes: Vec<Vec<u16>>,
}

impl Offer {
    /// What the provider offers with this key of the certificate, by TLS 1.3 and, if
    /// `tls12`, by TLS 1.2.
    pub fn new(provider: &CryptoProvider, key: &dyn SigningKey, tls12: bool) -> Self {
        Self::of(provider, &[key], Arc::default(), 0, tls12)
    }

    /// The same with several certificates, of which there is at least one, the names by which
    /// one is chosen, and what tickets must state about clients' certificates.
    pub fn of(
        provider: &CryptoProvider,
        keys: &[&dyn SigningKey],
        names: Arc<Names>,
        client_auth: u64,
        tls12: bool,
    ) -> Self {
        let schemes = |key: &&dyn SigningKey| {
            let signs = |scheme: &u16| key.choose_scheme(&[SignatureScheme::from(*scheme)]);
            SCHEMES.iter().copied().filter(|scheme| signs(scheme).is_some()).collect()
        };
        let suites = |version, algorithm: Option<SignatureAlgorithm>| {
            let suites = provider.cipher_suites.iter().filter(|suite| {
                suite.version().version == version
                    && algorithm.is_none_or(|of| suite.usable_for_signature_algorithm(of))
            });
            suites.map(|suite| u16::from(suite.suite())).collect()
        };
        let groups = |version| {
            let groups =
                provider.kx_groups.iter().filter(|group| group.usable_for_version(version));
            groups.map(|group| u16::from(group.name())).collect()
        };
        Self {
            tls12,
            names,
            client_auth,
            tls12_suites: keys
                .iter()
                .map(|key| suites(ProtocolVersion::TLSv1_2, Some(key.algorithm())))
                .collect(),
            // They say nothing about the key.
            tls13_suites: suites(ProtocolVersion::TLSv1_3, None),
            tls12_groups: groups(ProtocolVersion::TLSv1_2),
            tls13_groups: groups(ProtocolVersion::TLSv1_3),
            schemes: keys.iter().map(schemes).collect(),
        }
    }

    /// What a handshake with this hello will agree on.
    ///
    /// # Errors
    /// The alert with which every handshake with it fails.
    pub fn choose(&self, hello: &ClientHello) -> Result<Choice, AlertDescription> {
        negotiate::choose(hello, &self.rules(hello)).map_err(|why| for_incompatible(hello, why))
    }

    /// Checks that the client accepts a signature of the certificate's key, which a full
    /// handshake needs.
    ///
    /// # Errors
    /// The alert with which every full handshake with the hello fails.
    pub fn can_sign(&self, hello: &ClientHello, choice: &Choice) -> Result<(), AlertDescription> {
        let can = negotiate::can_sign(hello, &self.rules(hello), choice);
        can.map_err(|why| for_incompatible(hello, why))
    }

    /// The rules of a handshake with the certificate that the hello's name chooses.
    fn rules(&self, hello: &ClientHello) -> negotiate::Rules<'_> {
        let certificate = self.names.choose(hello.server_name());
        negotiate::Rules {
            tls12: self.tls12,
            tls13: true,
            tls12_suites: self.tls12_suites.get(certificate).map_or(&[], Vec::as_slice),
            tls13_suites: &self.tls13_suites,
            tls12_groups: &self.tls12_groups,
            tls13_groups: &self.tls13_groups,
            schemes: self.schemes.get(certificate).map_or(&[], Vec::as_slice),
            require_ems: false,
            alpn: &[b"http/1.1"],
        }
    }
}

impl Terms {
    /// The terms of a handshake that agrees on this choice.
    pub fn of(hello: &ClientHello, choice: &Choice) -> Self {
        let tls12 = choice.version == negotiate::TLS12;
        Self {
            version: choice.version,
            suite: choice.suite,
            extended_master_secret: tls12 && hello.extended_master_secret(),
        }
    }
}
