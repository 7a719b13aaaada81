//! A self-signed certificate for trying the gate without one.

use super::identity::Identity;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tidegate_control::CertificateKey;
use zeroize::{Zeroize, Zeroizing};

/// The pair could not be made.
#[derive(Debug, thiserror::Error)]
#[error("a self-signed certificate could not be made: {0}")]
pub struct Error(#[from] rcgen::Error);

/// Makes a key and a certificate of it, signed by itself, for the given host
/// names and IP addresses. RSA takes up to some seconds.
///
/// # Errors
/// A name cannot stand in a certificate, or no key could be made.
pub fn make(kind: CertificateKey, names: &[String]) -> Result<Identity, Error> {
    let rsa = |size| rcgen::KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size);
    let other = rcgen::KeyPair::generate_for;
    let mut key = match kind {
        CertificateKey::Rsa2048 => rsa(rcgen::RsaKeySize::_2048),
        CertificateKey::Rsa3072 => rsa(rcgen::RsaKeySize::_3072),
        CertificateKey::Rsa4096 => rsa(rcgen::RsaKeySize::_4096),
        CertificateKey::EcdsaP256 => other(&rcgen::PKCS_ECDSA_P256_SHA256),
        CertificateKey::EcdsaP384 => other(&rcgen::PKCS_ECDSA_P384_SHA384),
        CertificateKey::EcdsaP521 => other(&rcgen::PKCS_ECDSA_P521_SHA512),
        CertificateKey::Ed25519 => other(&rcgen::PKCS_ED25519),
        CertificateKey::MlDsa44 => other(&rcgen::PKCS_ML_DSA_44),
        CertificateKey::MlDsa65 => other(&rcgen::PKCS_ML_DSA_65),
        CertificateKey::MlDsa87 => other(&rcgen::PKCS_ML_DSA_87),
    }?;
    let certificate = rcgen::CertificateParams::new(names)?.self_signed(&key)?;
    let der = Zeroizing::new(PrivatePkcs8KeyDer::from(key.serialize_der()).into());
    key.zeroize();
    Ok(Identity::new(vec![certificate.der().clone()], der, true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::ServerName;
    use std::sync::Arc;

    fn names() -> Vec<String> {
        ["localhost", "127.0.0.1", "::1"].map(String::from).to_vec()
    }

    /// Whether a client that trusts the certificate finishes a handshake for a name.
    fn serves(kind: CertificateKey, name: &str) -> bool {
        let identity = make(kind, &names()).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(identity.chain[0].clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let server = rustls::ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(identity.chain.clone(), identity.key.clone_key())
            .unwrap();
        let client = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut client = rustls::ClientConnection::new(Arc::new(client), name).unwrap();
        let mut server = rustls::ServerConnection::new(Arc::new(server)).unwrap();
        while client.is_handshaking() || server.is_handshaking() {
            let mut wire = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut wire).unwrap();
            }
            let mut rest = wire.as_slice();
            while !rest.is_empty() {
                server.read_tls(&mut rest).unwrap();
                if server.process_new_packets().is_err() {
                    return false;
                }
            }
            let mut wire = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut wire).unwrap();
            }
            let mut rest = wire.as_slice();
            while !rest.is_empty() {
                client.read_tls(&mut rest).unwrap();
                if client.process_new_packets().is_err() {
                    return false;
                }
            }
        }
        true
    }

    #[test]
    fn a_client_that_trusts_it_finds_it_right_for_its_names_only() {
        assert!(serves(CertificateKey::EcdsaP256, "localhost"));
        assert!(serves(CertificateKey::EcdsaP256, "127.0.0.1"));
        assert!(serves(CertificateKey::EcdsaP256, "::1"));
        assert!(!serves(CertificateKey::EcdsaP256, "shop.example"));
    }

    #[test]
    fn every_kind_of_key_but_long_rsa_serves() {
        for kind in CertificateKey::ALL {
            // Two seconds each, in a debug build.
            if !matches!(kind, CertificateKey::Rsa3072 | CertificateKey::Rsa4096) {
                assert!(serves(kind, "localhost"), "{}", kind.name());
            }
        }
    }

    #[test]
    fn rsa_has_2048_bits_and_serves() {
        assert!(serves(CertificateKey::Rsa2048, "localhost"));
        let identity = make(CertificateKey::Rsa2048, &names()).unwrap();
        let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&identity.key).unwrap();
        let signer = key.choose_scheme(&[rustls::SignatureScheme::RSA_PSS_SHA256]).unwrap();
        // A signature is as long as the modulus: 2048 bits.
        assert_eq!(signer.sign(b"x").unwrap().len(), 256);
    }
}
