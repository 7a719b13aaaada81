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
mod material;
mod outline;
#[cfg(test)]
mod peers;
mod signed;

use bergshamra_dsig::sign::sign_owned;
use bergshamra_dsig::verify::verify;
use bergshamra_dsig::{DsigContext, VerifyResult};
use bergshamra_keys::KeyUsage;
use http::HeaderMap;

use super::codec::Codec;
use crate::keys::Keys;
use crate::message::Message;
use crate::refused::Refused;
use crate::wire::Scene;
use encrypted::Encryption;
use material::{manager, private, public};
use tidegate_sitekit::{Error, Result};

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
        layer: super::codec::Layer,
        bytes: &[u8],
        _: &Scene,
        _: &mut HeaderMap,
    ) -> Option<Vec<u8>> {
        let signed = match layer {
            super::codec::Layer::Signed => bytes.to_vec(),
            super::codec::Layer::Content => {
                // The library signs what it reads as XML, markup in the payload as well.
                let template = signed::unsigned_as_it_is(std::str::from_utf8(bytes).ok()?)?;
                sign_owned(&self.signing, template).ok()?.into_bytes()
            }
        };
        self.encrypt(&signed).ok()
    }
}
