//! COSE: the message in CBOR is signed (`COSE_Sign1`, ES256), the signed message encrypted
//! (`COSE_Encrypt0`, A256GCM) under the secret that both parties share. There is no key
//! agreement per message: `COSE_Encrypt0` is for a key that the recipient has.
//!
//! Source: RFC 9052 sections 4.2 and 5.2, RFC 9053 sections 2.1 and 4.1.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use coset::iana::Algorithm;
use coset::{
    CborSerializable, CoseEncrypt0, CoseEncrypt0Builder, CoseSign1, CoseSign1Builder, Header,
    HeaderBuilder, RegisteredLabelWithPrivate,
};
use http::HeaderMap;

use super::codec::Codec;
use crate::keys::{Keys, Party};
use crate::message::Message;
use crate::refused::Refused;
use crate::wire::Scene;
use tidegate_sitekit::{Error, Result};

/// Levels of arrays and maps in CBOR: a message has two.
const DEPTH: usize = 8;

/// Signs for the other party and encrypts under the shared secret.
pub(super) struct Cose {
    keys: Keys,
    secret: LessSafeKey,
}

impl Cose {
    pub(super) fn new(keys: Keys) -> Result<Self> {
        let secret = UnboundKey::new(&AES_256_GCM, &keys.shared())
            .map_err(|_| Error::Internal("the shared secret is no key".into()))?;
        Ok(Self { secret: LessSafeKey::new(secret), keys })
    }

    fn encrypt(&self, plain: &[u8], aad: &[u8], nonce: [u8; NONCE_LEN]) -> Result<Vec<u8>> {
        let mut sealed = plain.to_vec();
        self.secret
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(aad),
                &mut sealed,
            )
            .map_err(|_| failed("encrypted"))?;
        Ok(sealed)
    }

    fn decrypt(
        &self,
        sealed: &[u8],
        aad: &[u8],
        nonce: [u8; NONCE_LEN],
    ) -> Result<Vec<u8>, Refused> {
        let mut opened = sealed.to_vec();
        let length = self
            .secret
            .open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(aad), &mut opened)
            .map_err(|_| Refused::Decryption)?
            .len();
        opened.truncate(length);
        Ok(opened)
    }

    fn sign(&self, content: Vec<u8>) -> Result<Vec<u8>> {
        CoseSign1Builder::new()
            .protected(algorithm(Algorithm::ES256))
            .payload(content)
            .try_create_signature(direction(self.keys.party), |bytes| self.keys.sign(bytes))?
            .build()
            .to_vec()
            .map_err(|_| failed("signed"))
    }

    /// Encrypts a signed message, or any other bytes.
    pub(super) fn seal_signed(&self, signed: &[u8]) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        aws_lc_rs::rand::fill(&mut nonce).map_err(|_| failed("encrypted"))?;
        CoseEncrypt0Builder::new()
            .protected(algorithm(Algorithm::A256GCM))
            .unprotected(HeaderBuilder::new().iv(nonce.to_vec()).build())
            .try_create_ciphertext(signed, direction(self.keys.party), |plain, aad| {
                self.encrypt(plain, aad, nonce)
            })?
            .build()
            .to_vec()
            .map_err(|_| failed("written"))
    }

    /// The signed message of an encrypted one.
    fn open_encrypted(&self, body: &[u8]) -> Result<Vec<u8>, Refused> {
        let encrypted = CoseEncrypt0::from_slice(body).map_err(|_| Refused::Malformed)?;
        check_protected(&encrypted.protected.header, Algorithm::A256GCM)?;
        let Header { iv, .. } = &encrypted.unprotected;
        let nonce: [u8; NONCE_LEN] = iv.as_slice().try_into().map_err(|_| Refused::Malformed)?;
        if encrypted.unprotected != HeaderBuilder::new().iv(nonce.to_vec()).build() {
            return Err(unexpected(&encrypted.unprotected));
        }
        if encrypted.ciphertext.is_none() {
            return Err(Refused::Malformed);
        }
        encrypted.decrypt_ciphertext(
            direction(self.keys.party.other()),
            || Refused::Malformed,
            |sealed, aad| self.decrypt(sealed, aad, nonce),
        )
    }
}

impl Codec for Cose {
    fn seal(&self, message: &Message, _: &Scene, _: &mut HeaderMap) -> Result<Vec<u8>> {
        let mut content = Vec::with_capacity(message.payload.len() + 256);
        ciborium::into_writer(message, &mut content).map_err(|_| failed("written"))?;
        self.seal_signed(&self.sign(content)?)
    }

    fn open(&self, _: &HeaderMap, body: &[u8], _: &Scene) -> Result<Message, Refused> {
        let signed = self.open_encrypted(body)?;
        let signed = CoseSign1::from_slice(&signed).map_err(|_| Refused::Malformed)?;
        check_protected(&signed.protected.header, Algorithm::ES256)?;
        if !signed.unprotected.is_empty() {
            return Err(unexpected(&signed.unprotected));
        }
        signed.verify_signature(direction(self.keys.party.other()), |signature, bytes| {
            self.keys.verify(bytes, signature)
        })?;
        let content = signed.payload.ok_or(Refused::Malformed)?;
        let mut rest = content.as_slice();
        let message = ciborium::de::from_reader_with_recursion_limit(&mut rest, DEPTH)
            .map_err(|_| Refused::Malformed)?;
        if rest.is_empty() { Ok(message) } else { Err(Refused::Malformed) }
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
            super::codec::Layer::Content => self.sign(bytes.to_vec()).ok()?,
        };
        self.seal_signed(&signed).ok()
    }
}

/// What signature and encryption cover beside the content: who sends. A message that is
/// sent back to its sender is none of the other party.
pub(super) fn direction(sender: Party) -> &'static [u8] {
    match sender {
        Party::Client => b"tidegate messages: client to server",
        Party::Server => b"tidegate messages: server to client",
    }
}

fn algorithm(algorithm: Algorithm) -> Header {
    HeaderBuilder::new().algorithm(algorithm).build()
}

/// The protected header names the algorithm and nothing else.
fn check_protected(header: &Header, expected: Algorithm) -> Result<(), Refused> {
    if !header.crit.is_empty() {
        return Err(Refused::Critical);
    }
    if header.alg != Some(RegisteredLabelWithPrivate::Assigned(expected)) {
        return Err(Refused::Algorithm);
    }
    if *header == algorithm(expected) { Ok(()) } else { Err(Refused::Malformed) }
}

/// Why an unprotected header is not the expected one.
fn unexpected(header: &Header) -> Refused {
    match header {
        Header { crit, .. } if !crit.is_empty() => Refused::Critical,
        Header { alg: Some(_), .. } => Refused::Algorithm,
        _ => Refused::Malformed,
    }
}

fn failed(what: &str) -> Error {
    Error::Internal(format!("a message cannot be {what}"))
}
