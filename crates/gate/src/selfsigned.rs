//! A self-signed certificate for trying the gate without one.

use crate::config::{Identity, SelfSigned};

/// The pair could not be made.
#[derive(Debug, thiserror::Error)]
#[error("a self-signed certificate could not be made: {0}")]
pub struct Error(#[from] rcgen::Error);

/// Makes a key and a certificate of it, signed by itself, for the given host
/// names and IP addresses. RSA takes up to a second.
///
/// # Errors
/// A name cannot stand in a certificate, or no key could be made.
pub fn make(kind: SelfSigned, names: &[String]) -> Result<Identity, Error> {
    let key = match kind {
        SelfSigned::EcdsaP256 => rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?,
        SelfSigned::Rsa2048 => {
            rcgen::KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, rcgen::RsaKeySize::_2048)?
        }
    };
    let certificate = rcgen::CertificateParams::new(names)?.self_signed(&key)?;
    Ok(Identity {
        chain: vec![certificate.der().clone()],
        key: rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        self_signed: true,
    })
}
