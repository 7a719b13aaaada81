//! XML: the message is signed (XML Signature, ECDSA over P-256), the signed message encrypted
//! (XML Encryption, ECDH-ES over P-256, AES-256-GCM).
//!
//! Signatures and encryption are those of the crate `bergshamra` on AWS-LC. It reads all that
//! the standards allow: references, transforms, algorithms and keys that a sender chooses.
//! Before it reads a document, the document is compared with the one form that the other party
//! writes, byte by byte, so all that it chooses by is known.
//!
//! Source: XML Signature Best Practices (W3C Note of 2013), XML Encryption 1.1 section 6.

mod encrypted;
mod outline;
#[cfg(test)]
mod peers;
mod signed;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergshamra_dsig::sign::sign_owned;
use bergshamra_dsig::verify::verify;
use bergshamra_dsig::{DsigContext, VerifyResult};
use bergshamra_keys::{Key, KeyData, KeyUsage, KeysManager};
use http::HeaderMap;
use kryptering::{EcCurve, KeyAlgorithm};

use super::Codec;
use crate::messages::keys::Keys;
use crate::messages::message::Message;
use crate::messages::refused::Refused;
use crate::messages::wire::Scene;
use crate::{Error, Result};
use encrypted::Encryption;

const P256: KeyAlgorithm = KeyAlgorithm::Ec(EcCurve::P256);

/// Signs and encrypts for the other party.
pub(super) struct Xml {
    signing: DsigContext,
    verifying: DsigContext,
    encryption: Encryption,
}

impl Xml {
    pub(super) fn new(keys: &Keys) -> Result<Self> {
        let own = private(&keys.signing_pkcs8(), KeyUsage::Sign)?;
        let peer = public(&keys.peer_verifying(), KeyUsage::Verify)?;
        Ok(Self {
            signing: DsigContext::new(manager([own])),
            verifying: DsigContext::new(manager([peer])),
            encryption: Encryption::new(keys)?,
        })
    }

    /// The signed message.
    pub(super) fn sign(&self, message: &Message) -> Result<String> {
        sign_owned(&self.signing, signed::unsigned(message))
            .map_err(|error| Error::Internal(format!("a message cannot be signed: {error}")))
    }

    /// Whether the signature of a document in the accepted form is the other party's.
    fn verify(&self, document: &str) -> Result<(), Refused> {
        match verify(&self.verifying, document) {
            Ok(VerifyResult::Valid { references, .. })
                if references.len() == 1 && references[0].digest_verified =>
            {
                Ok(())
            }
            Ok(_) | Err(_) => Err(Refused::Signature),
        }
    }

    /// Encrypts any bytes for the other party.
    pub(super) fn encrypt(&self, plain: &[u8]) -> Result<Vec<u8>> {
        self.encryption.encrypt(plain).map(String::into_bytes)
    }

    /// The text that was encrypted for this party.
    pub(super) fn decrypt(&self, body: &[u8]) -> Result<String, Refused> {
        let document = std::str::from_utf8(body).map_err(|_| Refused::Malformed)?;
        let plain = self.encryption.decrypt(document)?;
        String::from_utf8(plain).map_err(|_| Refused::Malformed)
    }
}

impl Codec for Xml {
    fn seal(&self, message: &Message, _: &Scene, _: &mut HeaderMap) -> Result<Vec<u8>> {
        self.encrypt(self.sign(message)?.as_bytes())
    }

    fn open(&self, _: &HeaderMap, body: &[u8], _: &Scene) -> Result<Message, Refused> {
        let document = self.decrypt(body)?;
        let message = signed::read(&document)?;
        self.verify(&document)?;
        Ok(message)
    }

    #[cfg(any(test, feature = "fuzzing"))]
    fn forge(
        &self,
        layer: super::Layer,
        bytes: &[u8],
        _: &Scene,
        _: &mut HeaderMap,
    ) -> Option<Vec<u8>> {
        let signed = match layer {
            super::Layer::Signed => bytes.to_vec(),
            super::Layer::Content => {
                // The library signs what it reads as XML, markup in the payload as well.
                let template = signed::unsigned_as_it_is(std::str::from_utf8(bytes).ok()?)?;
                sign_owned(&self.signing, template).ok()?.into_bytes()
            }
        };
        self.encrypt(&signed).ok()
    }
}

/// The keys that the library may choose from.
fn manager<const N: usize>(keys: [Key; N]) -> KeysManager {
    let mut manager = KeysManager::new();
    manager.add_keys(keys);
    manager
}

/// A private key of P-256, PKCS #8.
fn private(pkcs8: &[u8], usage: KeyUsage) -> Result<Key> {
    KeyData::from_pkcs8_der(P256, pkcs8).map(|data| Key::new(data, usage)).map_err(no_key)
}

/// A public key of P-256, SubjectPublicKeyInfo.
fn public(spki: &[u8], usage: KeyUsage) -> Result<Key> {
    KeyData::from_spki_der(P256, spki).map(|data| Key::new(data, usage)).map_err(no_key)
}

fn no_key(error: impl std::fmt::Display) -> Error {
    Error::Internal(format!("the library does not take a key: {error}"))
}

/// The bytes of a value of base64, without whitespace and in the one form.
fn decoded<const N: usize>(text: &str) -> Result<[u8; N], Refused> {
    let bytes = STANDARD.decode(text).map_err(|_| Refused::Malformed)?;
    bytes.try_into().map_err(|_| Refused::Malformed)
}
