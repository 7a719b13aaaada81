//! What the gate offers in a TLS handshake, and what a handshake with a hello will
//! agree on.

use crate::admission::names::Names;
use crate::admission::tickets::Terms;
use rustls::crypto::CryptoProvider;
use rustls::{AlertDescription, ProtocolVersion, SignatureAlgorithm};
use std::sync::Arc;
use tidegate_hello::ClientHello;
use tidegate_hello::negotiate::{self, Choice, Incompatible};

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
}

impl Offer {
    /// What the provider offers with a certificate key of this algorithm, by TLS 1.3 and,
    /// if `tls12`, by TLS 1.2.
    pub fn new(provider: &CryptoProvider, algorithm: SignatureAlgorithm, tls12: bool) -> Self {
        Self::of(provider, &[algorithm], Arc::default(), 0, tls12)
    }

    /// The same with several certificates, of which there is at least one, the names by which
    /// one is chosen, and what tickets must state about clients' certificates.
    pub fn of(
        provider: &CryptoProvider,
        algorithms: &[SignatureAlgorithm],
        names: Arc<Names>,
        client_auth: u64,
        tls12: bool,
    ) -> Self {
        let suites = |version, algorithm: Option<&SignatureAlgorithm>| {
            let suites = provider.cipher_suites.iter().filter(|suite| {
                suite.version().version == version
                    && algorithm.is_none_or(|of| suite.usable_for_signature_algorithm(*of))
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
            tls12_suites: algorithms
                .iter()
                .map(|algorithm| suites(ProtocolVersion::TLSv1_2, Some(algorithm)))
                .collect(),
            // They say nothing about the key.
            tls13_suites: suites(ProtocolVersion::TLSv1_3, None),
            tls12_groups: groups(ProtocolVersion::TLSv1_2),
            tls13_groups: groups(ProtocolVersion::TLSv1_3),
        }
    }

    /// What a handshake with this hello will agree on.
    ///
    /// # Errors
    /// The alert with which every handshake with it fails.
    pub fn choose(&self, hello: &ClientHello) -> Result<Choice, AlertDescription> {
        let certificate = self.names.choose(hello.server_name());
        let rules = negotiate::Rules {
            tls12: self.tls12,
            tls13: true,
            tls12_suites: self.tls12_suites.get(certificate).map_or(&[], Vec::as_slice),
            tls13_suites: &self.tls13_suites,
            tls12_groups: &self.tls12_groups,
            tls13_groups: &self.tls13_groups,
            schemes: &[],
            require_ems: false,
            alpn: &[b"http/1.1"],
        };
        negotiate::choose(hello, &rules).map_err(alert)
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

/// The alert with which rustls answers such a hello.
///
/// Source: RFC 8446, section 6.2; RFC 7301, section 3.2.
fn alert(why: Incompatible) -> AlertDescription {
    match why {
        Incompatible::Version => AlertDescription::ProtocolVersion,
        Incompatible::Protocol => AlertDescription::NoApplicationProtocol,
        Incompatible::PskModesMissing => AlertDescription::MissingExtension,
        Incompatible::Compression | Incompatible::KeyShareTwice | Incompatible::PointFormat => {
            AlertDescription::IllegalParameter
        }
        Incompatible::SignatureSchemesMissing
        | Incompatible::Group
        | Incompatible::Suite
        | Incompatible::KeyShareMissing
        | Incompatible::ExtendedMasterSecret
        | Incompatible::SignatureScheme => AlertDescription::HandshakeFailure,
    }
}
