//! The client certificate of customers.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::client::ResolvesClientCert;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, SignatureScheme};

use super::LARGEST_PEM;

/// A certificate with its key, read and checked. A clone shares its data. The same for
/// all customers.
#[derive(Clone)]
pub struct ClientCertificate {
    certified: Arc<CertifiedKey>,
    certificate: PathBuf,
    key: PathBuf,
}

/// Why a certificate cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {rule}; {remedy}", file.display())]
pub struct WrongCertificate {
    /// Which of the files is wrong.
    pub file: PathBuf,
    /// It is the file of the key.
    pub of_key: bool,
    /// What was found and the rule it breaks.
    pub rule: String,
    /// What to do.
    pub remedy: &'static str,
}

impl ClientCertificate {
    /// Reads a chain, the customers' own certificate first, and its key; both
    /// PEM. Without a file of its own the key is in that of the certificate.
    ///
    /// # Errors
    /// A file cannot be read, holds something else, or the key is that of
    /// another certificate.
    pub fn load(certificate: &Path, key: Option<&Path>) -> Result<Self, WrongCertificate> {
        let wrong = |of_key, rule, remedy| {
            let file = if of_key { key.unwrap_or(certificate) } else { certificate };
            WrongCertificate { file: file.to_owned(), of_key, rule, remedy }
        };
        let read = |of_key| {
            let file = if of_key { key.unwrap_or(certificate) } else { certificate };
            let unreadable =
                |error: io::Error| wrong(of_key, error.to_string(), "name a file that can be read");
            read_pem(file).map_err(unreadable)
        };
        let broken = |of_key| {
            move |error: PemError| wrong(of_key, format!("no PEM: {error}"), "give it as PEM")
        };
        let chain = CertificateDer::pem_slice_iter(&read(false)?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(broken(false))?;
        if chain.is_empty() {
            let rule = "holds no certificate".to_owned();
            return Err(wrong(false, rule, "give the certificate as PEM"));
        }
        let text = read(true)?;
        let secret = match PrivateKeyDer::from_pem_slice(&text) {
            Ok(secret) => secret,
            Err(PemError::NoItemsFound) if is_encrypted(&text) => {
                let rule = "holds a key that is encrypted".to_owned();
                return Err(wrong(true, rule, "decrypt it, with openssl pkey for one"));
            }
            Err(PemError::NoItemsFound) => {
                let rule = "holds no private key".to_owned();
                return Err(wrong(true, rule, "give the key of the certificate as PEM"));
            }
            Err(error) => return Err(broken(true)(error)),
        };
        let certified = CertifiedKey::from_der(chain, secret, &default_provider());
        let certified = certified.map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => wrong(
                true,
                format!("is not the key of {}", certificate.display()),
                "give the key that the certificate was made for",
            ),
            rustls::Error::InvalidCertificate(_) => wrong(
                false,
                format!("cannot be used: {error}"),
                "give a certificate of X.509, the customers' own first",
            ),
            other => wrong(
                true,
                format!("cannot be used: {other}"),
                "give a key of RSA (2048 bits or more), ECDSA (P-256, P-384, P-521) or Ed25519",
            ),
        })?;
        Ok(Self {
            certified: Arc::new(certified),
            certificate: certificate.to_owned(),
            key: key.unwrap_or(certificate).to_owned(),
        })
    }
}

/// The bytes of a PEM file, without a byte order mark: the PEM reader would skip the first
/// section behind it.
///
/// # Errors
/// The file cannot be read.
pub(super) fn read_pem(path: &Path) -> io::Result<Vec<u8>> {
    let text = tidegate_config::read_bytes(path, LARGEST_PEM)?;
    Ok(tidegate_config::without_mark(&text).to_vec())
}

fn is_encrypted(text: &[u8]) -> bool {
    let mark = b"ENCRYPTED";
    memchr::memmem::find(text, mark).is_some()
}

/// Shows nothing of the key.
impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (certificate, key) = (&self.certificate, &self.key);
        write!(f, "ClientCertificate({}, {})", certificate.display(), key.display())
    }
}

/// Compares the certificates, not the paths.
impl PartialEq for ClientCertificate {
    fn eq(&self, other: &Self) -> bool {
        self.certified.cert == other.certified.cert
    }
}

/// Resolves the client certificate and records whether one was requested.
#[derive(Debug, Default)]
pub(crate) struct CertificateResolver {
    certificate: Option<ClientCertificate>,
    requested: AtomicBool,
}

impl CertificateResolver {
    pub(crate) fn new(certificate: Option<ClientCertificate>) -> Self {
        Self { certificate, requested: AtomicBool::new(false) }
    }

    /// Whether a server has requested one.
    pub(crate) fn was_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }
}

impl ResolvesClientCert for CertificateResolver {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.requested.store(true, Ordering::Relaxed);
        self.certificate.as_ref().map(|it| it.certified.clone())
    }

    fn has_certs(&self) -> bool {
        self.certificate.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of two certificates and what can be wrong with them.
    fn files() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        for name in ["a", "b"] {
            let own = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
            let (pem, key) = (own.cert.pem(), own.signing_key.serialize_pem());
            write(&format!("{name}.pem"), &pem).unwrap();
            write(&format!("{name}.key"), &key).unwrap();
            write(&format!("{name}.both"), &(pem + &key)).unwrap();
        }
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n\
                         -----END ENCRYPTED PRIVATE KEY-----\n";
        write("encrypted.key", encrypted).unwrap();
        write("other.txt", "hello\n").unwrap();
        folder
    }

    #[test]
    fn certificate_and_key_are_read_from_two_files_or_one() {
        let folder = files();
        let path = |name: &str| folder.path().join(name);
        let two = ClientCertificate::load(&path("a.pem"), Some(&path("a.key"))).unwrap();
        let one = ClientCertificate::load(&path("a.both"), None).unwrap();
        assert_eq!(two, one);
        let text = std::fs::read_to_string(path("a.both")).unwrap();
        std::fs::write(path("marked.pem"), format!("\u{feff}{text}")).unwrap();
        assert_eq!(ClientCertificate::load(&path("marked.pem"), None).unwrap(), one);
        let roots = super::super::config::trusted_roots(Some(&path("marked.pem"))).unwrap();
        assert_eq!(roots.len(), 1);
        assert!(!format!("{one:?}").contains("PRIVATE"));
    }

    #[test]
    fn each_invalid_file_is_reported_by_its_name_with_the_remedy() {
        let folder = files();
        let path = |name: &str| folder.path().join(name);
        for (certificate, key, wrong, rule) in [
            ("none.pem", "a.key", "none.pem", "No such file or directory (os error 2)"),
            ("a.pem", "none.key", "none.key", "No such file or directory (os error 2)"),
            ("other.txt", "a.key", "other.txt", "holds no certificate"),
            ("a.pem", "other.txt", "other.txt", "holds no private key"),
            ("a.pem", "encrypted.key", "encrypted.key", "holds a key that is encrypted"),
            ("a.pem", "b.key", "b.key", "is not the key of "),
        ] {
            let error = ClientCertificate::load(&path(certificate), Some(&path(key))).unwrap_err();
            assert_eq!((error.file, error.of_key), (path(wrong), key == wrong), "{wrong}");
            assert!(error.rule.starts_with(rule), "{}", error.rule);
            assert!(!error.remedy.is_empty());
        }
    }
}
