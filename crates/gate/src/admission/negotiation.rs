//! What the gate offers in a TLS handshake, and what a handshake with a hello will
//! agree on.

use crate::admission::names::Names;
use crate::admission::tickets::Terms;
use crate::alerts::for_incompatible;
use rustls::crypto::CryptoProvider;
use rustls::sign::SigningKey;
use rustls::{AlertDescription, ProtocolVersion, SignatureAlgorithm, SignatureScheme};
use std::sync::Arc;
use tidegate_control::{CertificateKey, FullHandshake, KeyExchange};
use tidegate_hello::ClientHello;
use tidegate_hello::negotiate::{self, Choice, Incompatible};

/// The signature schemes that keys of certificates have, RSA PKCS #1 for TLS 1.2 included.
///
/// Source: IANA, TLS SignatureScheme.
const SCHEMES: [u16; 16] = [
    0x0201, 0x0203, 0x0401, 0x0403, 0x0501, 0x0503, 0x0601, 0x0603, 0x0804, 0x0805, 0x0806, 0x0807,
    0x0808, ML_DSA_44, ML_DSA_65, ML_DSA_87,
];
const ML_DSA_44: u16 = 0x0904;
const ML_DSA_65: u16 = 0x0905;
const ML_DSA_87: u16 = 0x0906;

/// What the gate offers, as code points.
#[derive(Debug)]
pub struct Offer {
    tls12: bool,
    /// Which certificates a handshake may be with.
    names: Arc<Names>,
    /// What tickets must state about clients' certificates.
    pub client_auth: u64,
    /// Above TLS (ALPN).
    protocols: &'static [&'static [u8]],
    tls13_suites: Vec<u16>,
    /// In the gate's order of preference.
    tls12_groups: Vec<u16>,
    tls13_groups: Vec<u16>,
    certificates: Vec<Certificate>,
}

/// What follows from the key of a certificate.
#[derive(Debug)]
struct Certificate {
    key: CertificateKey,
    /// That suit it.
    tls12_suites: Vec<u16>,
    /// That it can sign with.
    schemes: Vec<u16>,
}

/// What a handshake will agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Version, suite and group.
    pub choice: Choice,
    /// The place of the certificate.
    pub certificate: usize,
}

impl Offer {
    /// What the provider offers with these keys of certificates, by TLS 1.3 and, if `tls12`,
    /// by TLS 1.2. There is at least one key; `names` are those by which one is chosen, and
    /// `client_auth` is what tickets must state about clients' certificates. The provider's
    /// groups are in the order of preference.
    pub fn new(
        provider: &CryptoProvider,
        keys: &[&dyn SigningKey],
        names: Arc<Names>,
        client_auth: u64,
        tls12: bool,
    ) -> Self {
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
        let certificate = |key: &&dyn SigningKey| {
            let signs = |scheme: &u16| key.choose_scheme(&[SignatureScheme::from(*scheme)]);
            let schemes: Vec<u16> =
                SCHEMES.iter().copied().filter(|scheme| signs(scheme).is_some()).collect();
            Certificate {
                key: certificate_key(*key, &schemes),
                tls12_suites: suites(ProtocolVersion::TLSv1_2, Some(key.algorithm())),
                schemes,
            }
        };
        Self {
            protocols: &[b"http/1.1"],
            tls12,
            names,
            client_auth,
            // They say nothing about the key.
            tls13_suites: suites(ProtocolVersion::TLSv1_3, None),
            tls12_groups: groups(ProtocolVersion::TLSv1_2),
            tls13_groups: groups(ProtocolVersion::TLSv1_3),
            certificates: keys.iter().map(certificate).collect(),
        }
    }

    /// What a handshake with this hello will agree on. Of the certificates for its name, the
    /// first counts whose key it accepts; if it accepts none, a session may still be resumed
    /// with the first.
    ///
    /// # Errors
    /// The alert with which every handshake with it fails.
    pub fn choose(&self, hello: &ClientHello) -> Result<Agreement, AlertDescription> {
        let places = self.names.choose(hello.server_name());
        let each = places.iter().filter_map(|place| {
            let rules = self.rules(self.certificates.get(*place)?);
            let choice = negotiate::choose(hello, &rules);
            let signs = choice
                .as_ref()
                .is_ok_and(|choice| negotiate::can_sign(hello, &rules, choice).is_ok());
            Some((signs, choice.map(|choice| Agreement { choice, certificate: *place })))
        });
        let mut first = Err(Incompatible::SignatureScheme);
        for (at, (signs, agreed)) in each.enumerate() {
            if signs {
                first = agreed;
                break;
            }
            if at == 0 || (first.is_err() && agreed.is_ok()) {
                first = agreed;
            }
        }
        first.map_err(|why| for_incompatible(hello, why))
    }

    /// Whether the connection of a hello will speak HTTP/2: the gate prefers it.
    pub fn agrees_on_http2(&self, hello: &ClientHello) -> bool {
        let h2 = b"h2".as_slice();
        self.protocols.contains(&h2) && hello.alpn().any(|offered| offered == h2)
    }

    /// The same with these protocols above TLS (ALPN).
    pub fn with_protocols(self, protocols: &'static [&'static [u8]]) -> Self {
        Self { protocols, ..self }
    }

    /// Checks that the client accepts a signature of the certificate's key, which a full
    /// handshake needs.
    ///
    /// # Errors
    /// The alert with which every full handshake with the hello fails.
    pub fn can_sign(
        &self,
        hello: &ClientHello,
        agreed: &Agreement,
    ) -> Result<(), AlertDescription> {
        let certificate = self.certificates.get(agreed.certificate);
        let can = certificate.ok_or(Incompatible::SignatureScheme).and_then(|certificate| {
            negotiate::can_sign(hello, &self.rules(certificate), &agreed.choice)
        });
        can.map_err(|why| for_incompatible(hello, why))
    }

    /// The kind of a full handshake that agrees on this: what it costs.
    pub fn kind(&self, agreed: &Agreement) -> FullHandshake {
        let certificate = self.certificates.get(agreed.certificate);
        FullHandshake {
            key: certificate.map_or(CertificateKey::Rsa4096, |certificate| certificate.key),
            exchange: KeyExchange::of_code(agreed.choice.group).unwrap_or(KeyExchange::X25519),
            mutual: self.client_auth != 0,
        }
    }

    /// The rules of a handshake with a certificate.
    fn rules<'a>(&'a self, certificate: &'a Certificate) -> negotiate::Rules<'a> {
        negotiate::Rules {
            tls12: self.tls12,
            tls13: true,
            tls12_suites: &certificate.tls12_suites,
            tls13_suites: &self.tls13_suites,
            tls12_groups: &self.tls12_groups,
            tls13_groups: &self.tls13_groups,
            own_group_order: true,
            schemes: &certificate.schemes,
            require_ems: false,
            alpn: self.protocols,
        }
    }
}

/// The kind of a key that makes signatures of these schemes; the costliest where it is of no
/// known kind.
fn certificate_key(key: &dyn SigningKey, schemes: &[u16]) -> CertificateKey {
    let by_scheme = [
        (0x0403, CertificateKey::EcdsaP256),
        (0x0503, CertificateKey::EcdsaP384),
        (0x0603, CertificateKey::EcdsaP521),
        (0x0807, CertificateKey::Ed25519),
        (ML_DSA_44, CertificateKey::MlDsa44),
        (ML_DSA_65, CertificateKey::MlDsa65),
        (ML_DSA_87, CertificateKey::MlDsa87),
    ];
    if let Some((_, kind)) = by_scheme.into_iter().find(|(scheme, _)| schemes.contains(scheme)) {
        return kind;
    }
    // The public key is the modulus and 38 bytes around it.
    match key.public_key().map_or(usize::MAX, |public| public.len()) {
        ..=296 => CertificateKey::Rsa2048,
        297..=424 => CertificateKey::Rsa3072,
        _ => CertificateKey::Rsa4096,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::selfsigned;
    use rustls::crypto::aws_lc_rs::{default_provider, sign::any_supported_type};

    #[test]
    fn keys_are_recognized_by_what_they_sign_and_by_their_length() {
        for kind in CertificateKey::ALL {
            let made = selfsigned::make(kind, &["a.test".to_owned()]).unwrap();
            let key = any_supported_type(&made.key).unwrap();
            let offer = Offer::new(&default_provider(), &[&*key], Arc::default(), 0, true);
            assert_eq!(offer.certificates[0].key, kind);
            let tls13_only = matches!(kind.name().split_once('-'), Some(("ml", _)));
            assert_eq!(offer.certificates[0].tls12_suites.is_empty(), tls13_only, "{kind:?}");
        }
    }
}
