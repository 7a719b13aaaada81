//! The file of keys that both tiers of a link have.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use aws_lc_rs::aead::{AES_256_GCM, Algorithm, CHACHA20_POLY1305, LessSafeKey, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::envelope::{Direction, SENDER};
use crate::{Error, Result, private_file, random};

/// Version of the file.
const FORMAT: u32 = 1;
/// Most keys of a file.
const MOST: usize = 16;
/// Bytes of a key.
const SECRET: usize = 32;
/// Longest name of a key, bytes.
pub(super) const LONGEST_NAME: usize = 32;

/// The cipher of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cipher {
    /// AES-256-GCM.
    #[serde(rename = "aes-256-gcm")]
    Aes256Gcm,
    /// ChaCha20-Poly1305.
    #[serde(rename = "chacha20-poly1305")]
    ChaCha20Poly1305,
}

impl Cipher {
    fn algorithm(self) -> &'static Algorithm {
        match self {
            Self::Aes256Gcm => &AES_256_GCM,
            Self::ChaCha20Poly1305 => &CHACHA20_POLY1305,
        }
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Aes256Gcm => "aes-256-gcm",
            Self::ChaCha20Poly1305 => "chacha20-poly1305",
        })
    }
}

impl FromStr for Cipher {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Aes256Gcm, Self::ChaCha20Poly1305]
            .into_iter()
            .find(|cipher| cipher.to_string() == text)
            .ok_or_else(|| "must be aes-256-gcm or chacha20-poly1305".into())
    }
}

/// The keys of a link: the first seals, all open.
pub struct KeyRing {
    keys: Vec<Key>,
}

/// One key.
pub(super) struct Key {
    /// Its name, which messages carry.
    pub(super) name: String,
    cipher: Cipher,
    secret: Zeroizing<[u8; SECRET]>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    keys: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    cipher: Cipher,
    /// 32 bytes in base64.
    secret: Zeroizing<String>,
}

impl KeyRing {
    /// A ring with one new key.
    ///
    /// # Errors
    /// `name` is no name of a key, or there is no randomness.
    pub fn generate(name: &str, cipher: Cipher) -> Result<Self> {
        let mut ring = Self { keys: Vec::new() };
        ring.add(name, cipher)?;
        Ok(ring)
    }

    /// Adds a new key at the end: it opens, and seals once it is moved to the front.
    ///
    /// # Errors
    /// `name` is no name of a key or is there already, the ring is full, or there is no
    /// randomness.
    pub fn add(&mut self, name: &str, cipher: Cipher) -> Result<()> {
        let secret = random::bytes()?;
        self.keys.push(Key { name: name.into(), cipher, secret });
        self.check().map_err(Error::Operator)
    }

    /// Writes the keys to a file that its owner alone may read; an existing one is replaced.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let entry = |key: &Key| Entry {
            name: key.name.clone(),
            cipher: key.cipher,
            secret: Zeroizing::new(STANDARD.encode(key.secret.as_ref())),
        };
        let file = File { format: FORMAT, keys: self.keys.iter().map(entry).collect() };
        private_file::replace_json(path, &file)
    }

    /// Reads the keys from a file.
    ///
    /// # Errors
    /// It cannot be read, can be read by others, or holds no keys: errors for the operator,
    /// without any part of a key.
    pub fn read(path: &Path) -> Result<Self> {
        let wrong = |text: String| {
            Error::Operator(format!(
                "{}: {text}; make a new file with --make-key FILE",
                path.display()
            ))
        };
        let text = private_file::read(path)?;
        // The error would show a value of a wrong type, but values here are secrets.
        let file: File = serde_json::from_slice(&text).map_err(|error| {
            wrong(format!("line {}: is no file of keys of a link", error.line()))
        })?;
        if file.format != FORMAT {
            return Err(wrong(format!("has format {}, not {FORMAT}", file.format)));
        }
        let mut ring = Self { keys: Vec::new() };
        for entry in file.keys {
            let decoded = STANDARD.decode(entry.secret.as_bytes()).map(Zeroizing::new);
            let secret = decoded.ok().and_then(|bytes| <[u8; SECRET]>::try_from(&bytes[..]).ok());
            let Some(secret) = secret.map(Zeroizing::new) else {
                return Err(wrong(format!("the key {:?} is not 32 bytes in base64", entry.name)));
            };
            ring.keys.push(Key { name: entry.name, cipher: entry.cipher, secret });
        }
        ring.check().map_err(wrong)?;
        Ok(ring)
    }

    fn check(&self) -> Result<(), String> {
        if self.keys.is_empty() || self.keys.len() > MOST {
            return Err(format!("must hold 1 to {MOST} keys, and holds {}", self.keys.len()));
        }
        for (index, key) in self.keys.iter().enumerate() {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            let length = key.name.len();
            if !(1..=LONGEST_NAME).contains(&length) || !key.name.chars().all(plain) {
                return Err(format!(
                    "{:?} is no name of a key: 1 to {LONGEST_NAME} letters, digits and . _ -",
                    key.name
                ));
            }
            if self.keys[..index].iter().any(|before| before.name == key.name) {
                return Err(format!("two keys are called {:?}", key.name));
            }
        }
        Ok(())
    }

    /// The key that seals.
    pub(super) fn first(&self) -> &Key {
        &self.keys[0]
    }

    /// The key of this name.
    pub(super) fn named(&self, name: &[u8]) -> Option<&Key> {
        self.keys.iter().find(|key| key.name.as_bytes() == name)
    }
}

impl Key {
    /// The key of one sender in one direction.
    pub(super) fn of_sender(&self, sender: &[u8; SENDER], direction: Direction) -> LessSafeKey {
        let algorithm = self.cipher.algorithm();
        let information =
            [b"tidegate link 1", self.cipher.to_string().as_bytes(), direction.name().as_bytes()]
                .join(&b' ');
        let extracted = Salt::new(HKDF_SHA256, sender).extract(self.secret.as_ref());
        let information = [information.as_slice()];
        let derived =
            extracted.expand(&information, algorithm).expect("32 bytes are within what HKDF gives");
        LessSafeKey::new(UnboundKey::from(derived))
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.keys.iter().map(|key| &key.name);
        f.write_str("KeyRing ").and_then(|()| f.debug_list().entries(names).finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_were_written_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("link.json");
        let mut ring = KeyRing::generate("2026", Cipher::Aes256Gcm).unwrap();
        ring.write(&path).unwrap();
        ring.add("2027", Cipher::ChaCha20Poly1305).unwrap();
        ring.write(&path).unwrap();
        let read = KeyRing::read(&path).unwrap();
        assert_eq!(format!("{read:?}"), r#"KeyRing ["2026", "2027"]"#);
        assert_eq!(read.first().secret, ring.first().secret);
        let (last, expected) = (read.named(b"2027").unwrap(), &ring.keys[1]);
        assert_eq!((last.cipher, &last.secret), (expected.cipher, &expected.secret));
        assert!(read.named(b"2025").is_none());
        assert!(ring.add("2026", Cipher::Aes256Gcm).unwrap_err().to_string().contains("two keys"));
    }

    #[test]
    fn a_wrong_file_says_where_and_shows_nothing_of_a_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("link.json");
        KeyRing::generate("one", Cipher::Aes256Gcm).unwrap().write(&path).unwrap();
        let good = std::fs::read_to_string(&path).unwrap();
        let secret = good.split('"').find(|part| part.len() == 44).unwrap().to_owned();
        for (text, expected) in [
            ("{}".to_owned(), "line 1: is no file of keys"),
            (good.replace("\"format\": 1", "\"format\": 9"), "has format 9"),
            (good.replace("one", "o ne"), "no name of a key"),
            (good.replace("\"one\"", "\"\""), "no name of a key"),
            (good.replace("aes-256-gcm", "idea"), "line 6"),
            (good.replace(&secret, &secret[4..]), "\"one\" is not 32 bytes"),
            (good.replace(&format!("\"{secret}\""), &format!("[\"{secret}\"]")), "no file of keys"),
            (r#"{"format": 1, "keys": []}"#.to_owned(), "must hold 1 to 16 keys"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = KeyRing::read(&path).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("--make-key"), "{error}");
            assert!(!error.contains(&secret[4..]), "{error}");
        }
    }

    #[test]
    fn ciphers_are_those_that_authenticate_and_no_others() {
        for name in ["aes-256-gcm", "chacha20-poly1305"] {
            assert_eq!(name.parse::<Cipher>().unwrap().to_string(), name);
        }
        for name in ["", "aes-256-ecb", "aes-256-cbc", "AES-256-GCM", "des", "rc4", "none"] {
            assert!(name.parse::<Cipher>().unwrap_err().contains("aes-256-gcm"), "{name}");
        }
    }

    #[test]
    fn each_sender_and_direction_has_a_key_of_its_own() {
        let ring = KeyRing::generate("one", Cipher::Aes256Gcm).unwrap();
        let seal = |sender: [u8; SENDER], direction| {
            let mut text = b"text".to_vec();
            let nonce = aws_lc_rs::aead::Nonce::assume_unique_for_key([0; 12]);
            let key = ring.first().of_sender(&sender, direction);
            key.seal_in_place_append_tag(nonce, aws_lc_rs::aead::Aad::empty(), &mut text).unwrap();
            text
        };
        let one = seal([1; SENDER], Direction::Request);
        assert_eq!(one, seal([1; SENDER], Direction::Request));
        assert_ne!(one, seal([2; SENDER], Direction::Request));
        assert_ne!(one, seal([1; SENDER], Direction::Answer));
    }
}
