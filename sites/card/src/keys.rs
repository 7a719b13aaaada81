//! The file of the processor's keys: merchants with hashes of their API keys, and the key of
//! all fingerprints. Whoever has the database without this file learns nothing about cards.

use std::path::Path;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use tidegate_sitekit::{Error, Result, private_file, random};

/// Version of the file.
const FORMAT: u32 = 1;
/// Most bytes of the file.
const MOST_FILE: u64 = 256 * 1024;
/// Begins every API key, so that a key in the wrong place is recognised.
const PREFIX: &str = "sk_test_";
/// Most merchants of a processor, and keys of one merchant.
const MOST_MERCHANTS: usize = 64;
const MOST_KEYS: usize = 4;

/// The keys of a processor.
pub struct Keys {
    file: File,
    fingerprints: hmac::Key,
}

/// A merchant's API key. It is shown once, when it is made.
pub type ApiKey = Zeroizing<String>;

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    /// Key of all fingerprints, 32 bytes in base64.
    fingerprint: Zeroizing<String>,
    merchants: Vec<Merchant>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Merchant {
    name: String,
    /// SHA-256 of each API key, in base64. The keys are random: nothing slower is needed.
    keys: Vec<String>,
}

impl Keys {
    /// Keys of a processor without merchants.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn generate() -> Result<Self> {
        let fingerprint = Zeroizing::new(STANDARD.encode(*random::bytes::<32>()?));
        let file = File { format: FORMAT, fingerprint, merchants: Vec::new() };
        Self::from_file(file).map_err(Error::Internal)
    }

    /// Adds a merchant, or a further key of one: at most four, so that a key can be replaced
    /// while the one before is in use.
    ///
    /// # Errors
    /// The name is invalid, or there are too many; there is no randomness.
    pub fn add(&mut self, merchant: &str) -> Result<ApiKey> {
        if !is_name(merchant) {
            return Err(Error::Operator(format!(
                "merchant {merchant:?}: must be 1 to 32 small letters, digits and hyphens, such as brokerage"
            )));
        }
        let text = URL_SAFE_NO_PAD.encode(*random::bytes::<32>()?);
        let key = Zeroizing::new(format!("{PREFIX}{text}"));
        let merchants = &mut self.file.merchants;
        let place = match merchants.iter().position(|it| it.name == merchant) {
            Some(place) => place,
            None if merchants.len() >= MOST_MERCHANTS => {
                return Err(Error::Operator(format!(
                    "merchant {merchant}: there are {MOST_MERCHANTS} merchants already; run another processor for it"
                )));
            }
            None => {
                merchants.push(Merchant { name: merchant.to_owned(), keys: Vec::new() });
                merchants.len() - 1
            }
        };
        let keys = &mut merchants[place].keys;
        if keys.len() >= MOST_KEYS {
            return Err(Error::Operator(format!(
                "merchant {merchant}: has {MOST_KEYS} keys already; remove the first of them from the file"
            )));
        }
        keys.push(hash(&key));
        Ok(key)
    }

    /// The merchant whose API key this is. Takes the same time whichever it is, or none.
    pub fn merchant_of(&self, key: &str) -> Option<&str> {
        let hash = hash(key);
        let mut found = None;
        for merchant in &self.file.merchants {
            for stored in &merchant.keys {
                if verify_slices_are_equal(stored.as_bytes(), hash.as_bytes()).is_ok() {
                    found = Some(merchant.name.as_str());
                }
            }
        }
        found
    }

    /// The names of all merchants.
    pub fn merchants(&self) -> impl Iterator<Item = &str> {
        self.file.merchants.iter().map(|merchant| merchant.name.as_str())
    }

    /// Key of all fingerprints.
    pub(super) fn fingerprints(&self) -> &hmac::Key {
        &self.fingerprints
    }

    /// Reads a file of keys, which nobody but its owner may read.
    ///
    /// # Errors
    /// It cannot be read, holds no keys, or others may read it.
    pub fn read(path: &Path) -> Result<Self> {
        let wrong = |text: String| Error::Operator(format!("--keys {}: {text}", path.display()));
        let make = "make it with `tidegate site card --make-key NAME`";
        let text = private_file::read_at_most(MOST_FILE, path).map_err(|reason| {
            wrong(if path.exists() { reason } else { format!("{reason}; {make}") })
        })?;
        let file: File =
            private_file::parse_json(&text).map_err(|reason| wrong(format!("{reason}; {make}")))?;
        Self::from_file(file).map_err(wrong)
    }

    /// Writes the keys to a file that its owner alone may read. It is replaced as a whole.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        private_file::replace_json(path, &self.file)
            .map_err(|error| Error::Operator(format!("--keys {}: {error}", path.display())))
    }

    fn from_file(file: File) -> Result<Self, String> {
        if file.format != FORMAT {
            return Err(format!("has format {}; this version reads {FORMAT}", file.format));
        }
        let key = STANDARD.decode(file.fingerprint.as_bytes()).map(Zeroizing::new);
        let key = key.ok().filter(|key| key.len() == 32);
        let key = key.ok_or("`fingerprint` is not 32 bytes in base64")?;
        for (index, merchant) in file.merchants.iter().enumerate() {
            let name = &merchant.name;
            if !is_name(name) || file.merchants[..index].iter().any(|it| it.name == *name) {
                return Err(format!("merchant {name:?}: is no name, or is there twice"));
            }
            let is_hash = |text: &String| STANDARD.decode(text).is_ok_and(|it| it.len() == 32);
            if merchant.keys.len() > MOST_KEYS || !merchant.keys.iter().all(is_hash) {
                return Err(format!("merchant {name}: `keys` are not at most {MOST_KEYS} hashes"));
            }
        }
        if file.merchants.len() > MOST_MERCHANTS {
            return Err(format!("has more than {MOST_MERCHANTS} merchants"));
        }
        Ok(Self { fingerprints: hmac::Key::new(hmac::HMAC_SHA256, &key), file })
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys")
            .field("merchants", &self.merchants().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=32).contains(&text.len()) && text.bytes().all(allowed)
}

fn hash(key: &str) -> String {
    STANDARD.encode(digest(&SHA256, key.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_names_its_merchant_until_it_is_removed() {
        let mut keys = Keys::generate().unwrap();
        let (first, second) = (keys.add("brokerage").unwrap(), keys.add("brokerage").unwrap());
        let other = keys.add("shop").unwrap();
        for (key, merchant) in [
            (first.as_str(), Some("brokerage")),
            (&second, Some("brokerage")),
            (&other, Some("shop")),
            ("", None),
            (&other[1..], None),
            (&format!("{}x", *other), None),
        ] {
            assert_eq!(keys.merchant_of(key), merchant, "{key}");
        }
        keys.file.merchants[0].keys.remove(0);
        assert_eq!(keys.merchant_of(&first), None);
        assert_eq!(keys.merchant_of(&second), Some("brokerage"));
    }

    #[test]
    fn keys_are_read_as_they_were_written_and_the_file_does_not_hold_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        let mut keys = Keys::generate().unwrap();
        let key = keys.add("brokerage").unwrap();
        keys.write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&key[PREFIX.len()..]));
        assert_eq!(Keys::read(&path).unwrap().merchant_of(&key), Some("brokerage"));
        assert_eq!(format!("{keys:?}"), "Keys { merchants: [\"brokerage\"], .. }");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = Keys::read(&path).unwrap_err().to_string();
        assert!(error.contains("mode 640") && error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn a_wrong_file_is_refused_and_its_secrets_are_not_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        let mut keys = Keys::generate().unwrap();
        keys.add("brokerage").unwrap();
        keys.write(&path).unwrap();
        let good = std::fs::read_to_string(&path).unwrap();
        for (text, expected) in [
            ("{}".to_owned(), "is no file of keys"),
            (" ".repeat(300_000), "longer than 256 KiB"),
            (good.replace("\"format\": 1", "\"format\": 2"), "has format 2"),
            (good.replace("\"fingerprint\": \"", "\"fingerprint\": \"AAAA"), "32 bytes"),
            (good.replace("\"fingerprint\"", "\"secret\""), "is no file of keys"),
            (good.replace("brokerage", "Ä"), "is no name"),
            (good.replace("\"keys\": [", "\"keys\": [\"x\","), "hashes"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = Keys::read(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains(keys.file.fingerprint.as_str()), "{error}");
        }
        let error = Keys::read(&folder.path().join("none")).unwrap_err().to_string();
        assert!(error.contains("--make-key"), "{error}");
    }

    #[test]
    fn names_and_numbers_of_merchants_and_keys_are_limited() {
        let mut keys = Keys::generate().unwrap();
        for name in ["", "A", "a b", "a=b", &"a".repeat(33)] {
            assert!(keys.add(name).is_err(), "{name}");
        }
        for _ in 0..MOST_KEYS {
            keys.add("shop").unwrap();
        }
        assert!(keys.add("shop").unwrap_err().to_string().contains("4 keys already"));
        for number in 1..MOST_MERCHANTS {
            keys.add(&format!("m{number}")).unwrap();
        }
        assert!(keys.add("one-more").unwrap_err().to_string().contains("another processor"));
    }
}
