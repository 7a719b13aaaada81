//! The keys of both parties. Each signs with its own key, encrypts for the other's, and
//! shares a secret with it, agreed beforehand.

use std::path::Path;

use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair,
    ParsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::refused::Refused;
use tidegate_sitekit::{Error, Result, private_file};

/// Version of the file.
const FORMAT: u32 = 1;
/// Most bytes of the file.
const MOST_FILE: u64 = 16 * 1024;

/// One of the two parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// Sends requests.
    Client,
    /// Answers them.
    Server,
}

impl Party {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    /// The party at the other end.
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// The keys that one party holds: all asymmetric ones over P-256.
pub struct Keys {
    /// Whose keys these are.
    pub party: Party,
    signing: EcdsaKeyPair,
    decrypting: PrivateKey,
    peer_verifying: ParsedPublicKey,
    file: File,
}

/// The file of a party's keys. Private keys are PKCS #8, public ones SubjectPublicKeyInfo,
/// all in base64.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    party: Party,
    signing: Zeroizing<String>,
    decrypting: Zeroizing<String>,
    shared: Zeroizing<String>,
    peer_verifying: String,
    peer_encrypting: String,
}

impl Keys {
    /// New keys of both parties: the client's and the server's.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn generate() -> Result<(Self, Self)> {
        let mut shared = Zeroizing::new([0; 32]);
        aws_lc_rs::rand::fill(shared.as_mut()).map_err(|_| no_key())?;
        let (client, server) = (Pair::generate()?, Pair::generate()?);
        let keys = |party, own: &Pair, peer: &Pair| {
            Self::from_file(File {
                format: FORMAT,
                party,
                signing: own.signing.clone(),
                decrypting: own.decrypting.clone(),
                shared: Zeroizing::new(STANDARD.encode(shared.as_ref())),
                peer_verifying: peer.verifying.clone(),
                peer_encrypting: peer.encrypting.clone(),
            })
            .map_err(Error::Internal)
        };
        Ok((keys(Party::Client, &client, &server)?, keys(Party::Server, &server, &client)?))
    }

    /// Writes the keys to a file that its owner alone may read.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        private_file::replace_json(path, &self.file)
    }

    /// Reads the keys of this party from a file.
    ///
    /// # Errors
    /// It cannot be read, holds no keys, or those of the other party.
    pub fn read(path: &Path, party: Party) -> Result<Self> {
        let wrong = |text: String| {
            Error::Operator(format!(
                "--keys {}: {text}; make new files with `tidegate site messages --make-keys DIR`",
                path.display()
            ))
        };
        let text = tidegate_config::read_bytes(path, MOST_FILE);
        let text = Zeroizing::new(text.map_err(|error| wrong(error.to_string()))?);
        let file: File = serde_json::from_slice(&text)
            .map_err(|error| wrong(format!("is no file of keys: {error}")))?;
        if file.format != FORMAT {
            return Err(wrong(format!("has format {}, not {FORMAT}", file.format)));
        }
        if file.party != party {
            return Err(wrong(format!("are keys of the {}", file.party.name())));
        }
        Self::from_file(file).map_err(wrong)
    }

    fn from_file(file: File) -> Result<Self, String> {
        let key = |name: &str, text: &str| {
            let decoded = STANDARD.decode(text).map(Zeroizing::new);
            decoded.map_err(|_| format!("`{name}` is no base64"))
        };
        let signing = EcdsaKeyPair::from_pkcs8(
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            &key("signing", &file.signing)?,
        )
        .map_err(|_| "`signing` is no key of P-256".to_owned())?;
        let decrypting =
            PrivateKey::from_private_key_der(&ECDH_P256, &key("decrypting", &file.decrypting)?)
                .map_err(|_| "`decrypting` is no key of P-256".to_owned())?;
        if key("shared", &file.shared)?.len() != 32 {
            return Err("`shared` must have 32 bytes".into());
        }
        let public = |name: &str, text: &str| {
            ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key(name, text)?.as_slice())
                .map_err(|_| format!("`{name}` is no public key of P-256"))
        };
        let peer_verifying = public("peer_verifying", &file.peer_verifying)?;
        public("peer_encrypting", &file.peer_encrypting)?;
        Ok(Self { party: file.party, signing, decrypting, peer_verifying, file })
    }

    /// The key by which this party opens what was encrypted for it.
    pub(super) fn decrypting(&self) -> &PrivateKey {
        &self.decrypting
    }

    /// The own signature over some bytes: the two numbers, 64 bytes.
    pub(super) fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let random = aws_lc_rs::rand::SystemRandom::new();
        let signature = self.signing.sign(&random, bytes).map_err(|_| no_key())?;
        Ok(signature.as_ref().to_vec())
    }

    /// Whether a signature of 64 bytes is the other party's over some bytes.
    pub(super) fn verify(&self, bytes: &[u8], signature: &[u8]) -> Result<(), Refused> {
        self.peer_verifying.verify_sig(bytes, signature).map_err(|_| Refused::Signature)
    }

    /// The own signing key, PKCS #8.
    pub(super) fn signing_pkcs8(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(decoded(&self.file.signing))
    }

    /// The own key to decrypt with, PKCS #8.
    pub(super) fn decrypting_pkcs8(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(decoded(&self.file.decrypting))
    }

    /// The secret that both share, 32 bytes.
    pub(super) fn shared(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(decoded(&self.file.shared))
    }

    /// The other's key to verify with, SubjectPublicKeyInfo.
    pub(super) fn peer_verifying(&self) -> Vec<u8> {
        decoded(&self.file.peer_verifying)
    }

    /// The other's key to encrypt for, SubjectPublicKeyInfo.
    pub(super) fn peer_encrypting(&self) -> Vec<u8> {
        decoded(&self.file.peer_encrypting)
    }
}

fn decoded(text: &str) -> Vec<u8> {
    STANDARD.decode(text).expect("checked when the keys were read")
}

fn no_key() -> Error {
    Error::Internal("no key can be made or used".into())
}

/// New key pairs of one party.
struct Pair {
    signing: Zeroizing<String>,
    decrypting: Zeroizing<String>,
    verifying: String,
    encrypting: String,
}

impl Pair {
    fn generate() -> Result<Self> {
        let pair = || -> Result<(Zeroizing<String>, String)> {
            let pair =
                EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map_err(|_| no_key())?;
            let private = pair.to_pkcs8v1().map_err(|_| no_key())?;
            let public = pair.public_key().as_der().map_err(|_| no_key())?;
            Ok((Zeroizing::new(STANDARD.encode(private)), STANDARD.encode(public.as_ref())))
        };
        let ((signing, verifying), (decrypting, encrypting)) = (pair()?, pair()?);
        Ok(Self { signing, decrypting, verifying, encrypting })
    }
}

tidegate_sitekit::printed_by!(Keys: party);

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn keys_are_read_as_they_were_written_and_only_their_owner_can() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("client.json");
        let (client, server) = Keys::generate().unwrap();
        client.write(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read = Keys::read(&path, Party::Client).unwrap();
        let signature = read.sign(b"x").unwrap();
        assert_eq!(server.verify(b"x", &signature), Ok(()));
        assert_eq!(server.verify(b"y", &signature), Err(Refused::Signature));
        assert_eq!(read.shared(), server.shared());
        assert!(!format!("{read:?}").contains(read.file.signing.as_str()));
    }

    #[test]
    fn a_wrong_file_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        let (client, _) = Keys::generate().unwrap();
        client.write(&path).unwrap();
        let good = std::fs::read_to_string(&path).unwrap();
        let fails = |text: &str, party| {
            std::fs::write(&path, text).unwrap();
            Keys::read(&path, party).unwrap_err().to_string()
        };
        assert!(fails(&good, Party::Server).contains("are keys of the client"));
        for (text, expected) in [
            ("{}".to_owned(), "is no file of keys"),
            ("x".repeat(20_000), "has more than 16 KiB"),
            (good.replace("\"format\": 1", "\"format\": 2"), "has format 2"),
            (good.replace("\"shared\": \"", "\"shared\": \"AAAA"), "32 bytes"),
            (good.replace("\"signing\": \"MI", "\"signing\": \"NI"), "no key of P-256"),
            (good.replace("\"peer_verifying\": \"MF", "\"peer_verifying\": \"MG"), "no public key"),
        ] {
            let error = fails(&text, Party::Client);
            assert!(error.contains(expected) && error.contains("--make-keys"), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
        let error = Keys::read(&path, Party::Client).unwrap_err().to_string();
        assert!(error.contains("No such file"), "{error}");
    }
}
