//! Keys and values as the library takes them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergshamra_keys::{Key, KeyData, KeyUsage, KeysManager};
use kryptering::{EcCurve, KeyAlgorithm};

use crate::refused::Refused;
use tidegate_sitekit::{Error, Result};

const P256: KeyAlgorithm = KeyAlgorithm::Ec(EcCurve::P256);

/// The keys that the library may choose from.
pub(super) fn manager<const N: usize>(keys: [Key; N]) -> KeysManager {
    let mut manager = KeysManager::new();
    manager.add_keys(keys);
    manager
}

/// A private key of P-256, PKCS #8.
pub(super) fn private(pkcs8: &[u8], usage: KeyUsage) -> Result<Key> {
    KeyData::from_pkcs8_der(P256, pkcs8).map(|data| Key::new(data, usage)).map_err(no_key)
}

/// A public key of P-256, SubjectPublicKeyInfo.
pub(super) fn public(spki: &[u8], usage: KeyUsage) -> Result<Key> {
    KeyData::from_spki_der(P256, spki).map(|data| Key::new(data, usage)).map_err(no_key)
}

fn no_key(error: impl std::fmt::Display) -> Error {
    Error::Internal(format!("the library does not take a key: {error}"))
}

/// The bytes of a value of base64, without whitespace and in the one form.
pub(super) fn decoded<const N: usize>(text: &str) -> Result<[u8; N], Refused> {
    let bytes = STANDARD.decode(text).map_err(|_| Refused::Malformed)?;
    bytes.try_into().map_err(|_| Refused::Malformed)
}
