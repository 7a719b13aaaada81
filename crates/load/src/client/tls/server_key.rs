//! The key of a server's certificate: which ones customers accept signatures of, and which one a
//! certificate has.
//!
//! Source: RFC 8446, section 4.2.3, and draft-ietf-tls-mldsa, for signature schemes; RFC 5280,
//! section 4.1, RFC 5480, RFC 8410 and RFC 9881, for keys in certificates.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, SignatureScheme};

/// A type of key that a server signs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SigningKey {
    /// RSA of any length.
    Rsa,
    /// ECDSA over P-256.
    EcdsaP256,
    /// ECDSA over P-384.
    EcdsaP384,
    /// Ed25519.
    Ed25519,
    /// ML-DSA-44, of TLS 1.3 only.
    MlDsa44,
    /// ML-DSA-65, of TLS 1.3 only.
    MlDsa65,
    /// ML-DSA-87, of TLS 1.3 only.
    MlDsa87,
}

impl SigningKey {
    /// All types.
    pub const ALL: [Self; 7] = [
        Self::Rsa,
        Self::EcdsaP256,
        Self::EcdsaP384,
        Self::Ed25519,
        Self::MlDsa44,
        Self::MlDsa65,
        Self::MlDsa87,
    ];

    /// The signatures of such a key.
    fn schemes(self) -> &'static [SignatureScheme] {
        use SignatureScheme as S;
        match self {
            Self::Rsa => &[
                S::RSA_PSS_SHA256,
                S::RSA_PSS_SHA384,
                S::RSA_PSS_SHA512,
                S::RSA_PKCS1_SHA256,
                S::RSA_PKCS1_SHA384,
                S::RSA_PKCS1_SHA512,
            ],
            Self::EcdsaP256 => &[S::ECDSA_NISTP256_SHA256],
            Self::EcdsaP384 => &[S::ECDSA_NISTP384_SHA384],
            Self::Ed25519 => &[S::ED25519],
            Self::MlDsa44 => &[S::ML_DSA_44],
            Self::MlDsa65 => &[S::ML_DSA_65],
            Self::MlDsa87 => &[S::ML_DSA_87],
        }
    }

    /// Its object identifier in DER, as a `SubjectPublicKeyInfo` has it: of elliptic curves that of
    /// the curve.
    fn identifier(self) -> &'static [u8] {
        match self {
            Self::Rsa => &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1],
            Self::EcdsaP256 => &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7],
            Self::EcdsaP384 => &[6, 5, 0x2b, 0x81, 4, 0, 34],
            Self::Ed25519 => &[6, 3, 0x2b, 0x65, 0x70],
            Self::MlDsa44 => &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 17],
            Self::MlDsa65 => &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 18],
            Self::MlDsa87 => &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 19],
        }
    }
}

/// The key of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerKey {
    /// Its type; `None` for one that customers do not know.
    pub signs: Option<SigningKey>,
    /// Bits of an RSA key, else 0.
    pub bits: u16,
}

impl ServerKey {
    /// That of a certificate; of an unknown type if it cannot be read.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Self {
        let unknown = Self { signs: None, bits: 0 };
        let Ok(parsed) = ParsedCertificate::try_from(certificate) else { return unknown };
        let info = parsed.subject_public_key_info();
        // The identifier stands at the begin: what follows is the key itself.
        let begin = &info[..info.len().min(32)];
        let has = |it: &SigningKey| {
            let identifier = it.identifier();
            begin.windows(identifier.len()).any(|part| part == identifier)
        };
        let signs = SigningKey::ALL.into_iter().find(has);
        // Around the modulus there are its frames, the exponent and the identifier: 38 bytes.
        let bits = match signs {
            Some(SigningKey::Rsa) => info.len().saturating_sub(38) * 8,
            _ => 0,
        };
        Self { signs, bits: u16::try_from(bits).unwrap_or(u16::MAX) }
    }
}

impl fmt::Display for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.signs {
            Some(SigningKey::Rsa) => write!(f, "RSA-{}", self.bits),
            Some(other) => other.fmt(f),
            None => f.write_str("an unknown key"),
        }
    }
}

impl fmt::Display for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rsa => "RSA",
            Self::EcdsaP256 => "ECDSA P-256",
            Self::EcdsaP384 => "ECDSA P-384",
            Self::Ed25519 => "Ed25519",
            Self::MlDsa44 => "ML-DSA-44",
            Self::MlDsa65 => "ML-DSA-65",
            Self::MlDsa87 => "ML-DSA-87",
        })
    }
}

/// A verifier that accepts the signatures of one type of key only, so that a server with several
/// certificates shows the one with such a key.
#[derive(Debug)]
pub(super) struct OnlySigner {
    pub(super) verifier: Arc<dyn ServerCertVerifier>,
    pub(super) signs: SigningKey,
}

impl ServerCertVerifier for OnlySigner {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        more: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.verifier.verify_server_cert(certificate, more, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let mut schemes = self.verifier.supported_verify_schemes();
        schemes.retain(|it| self.signs.schemes().contains(it));
        schemes
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{
        CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
        PKCS_ML_DSA_44, PKCS_ML_DSA_65, PKCS_ML_DSA_87, PKCS_RSA_SHA256, RsaKeySize,
    };

    use super::*;

    fn told(pair: Result<KeyPair, rcgen::Error>) -> String {
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        ServerKey::of(params.self_signed(&pair.unwrap()).unwrap().der()).to_string()
    }

    #[test]
    fn the_key_of_a_certificate_is_told_with_its_length() {
        let generated = |of| told(KeyPair::generate_for(of));
        assert_eq!(generated(&PKCS_ECDSA_P256_SHA256), "ECDSA P-256");
        assert_eq!(generated(&PKCS_ECDSA_P384_SHA384), "ECDSA P-384");
        assert_eq!(generated(&PKCS_ED25519), "Ed25519");
        assert_eq!(generated(&PKCS_ML_DSA_44), "ML-DSA-44");
        assert_eq!(generated(&PKCS_ML_DSA_65), "ML-DSA-65");
        assert_eq!(generated(&PKCS_ML_DSA_87), "ML-DSA-87");
        for (size, name) in [(RsaKeySize::_2048, "RSA-2048"), (RsaKeySize::_3072, "RSA-3072")] {
            assert_eq!(told(KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, size)), name);
        }
        let junk = CertificateDer::from(vec![0x30; 9]);
        assert_eq!(ServerKey::of(&junk).to_string(), "an unknown key");
    }
}
