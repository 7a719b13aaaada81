//! Self-signed certificates that all servers of a run share.

use rcgen::{
    CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384,
    PKCS_ECDSA_P521_SHA512, PKCS_ED25519, PKCS_ML_DSA_44, PKCS_ML_DSA_65, PKCS_ML_DSA_87,
    PKCS_RSA_SHA256, RsaKeySize,
};
use std::fs::{OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tidegate_control::CertificateKey;

use crate::error::{Error, Fault, Result};

/// The host name of the certificates.
pub const NAME: &str = "bench.test";

/// One self-signed certificate in PEM files.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate alone.
    pub chain: PathBuf,
    /// The private key alone.
    pub key: PathBuf,
    /// Both in one file, as HAProxy reads them.
    pub both: PathBuf,
}

impl Certificate {
    /// Makes a key and a certificate and writes them below `folder`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn make(kind: CertificateKey, folder: &Path) -> Result<Self> {
        Self::make_named(kind.name(), kind, folder)
    }

    /// As [`Certificate::make`], in files of this name (`NAME.crt`, `NAME.key`,
    /// `NAME.both.pem`).
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn make_named(name: &str, kind: CertificateKey, folder: &Path) -> Result<Self> {
        let wrong = |error| Error::Internal(format!("cannot make a certificate: {error}"));
        let (chain, key) = pem(kind).map_err(wrong)?;
        let write = |suffix: &str, mode: u32, text: &str| {
            let path = folder.join(format!("{name}.{suffix}"));
            let mut options = OpenOptions::new();
            let file = options.create(true).truncate(true).write(true).mode(mode).open(&path);
            let written = file.and_then(|mut file| {
                // It may have been there before.
                file.set_permissions(Permissions::from_mode(mode))?;
                file.write_all(text.as_bytes())
            });
            written.of_writing(&path).map(|()| path)
        };
        // Servers refuse a key that others can read.
        Ok(Self {
            both: write("both.pem", 0o600, &format!("{chain}{key}"))?,
            chain: write("crt", 0o644, &chain)?,
            key: write("key", 0o600, &key)?,
        })
    }
}

/// A new certificate and its key.
fn pem(kind: CertificateKey) -> std::result::Result<(String, String), rcgen::Error> {
    let rsa = |size| KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, size);
    let pair = match kind {
        CertificateKey::EcdsaP256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
        CertificateKey::EcdsaP384 => KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384),
        CertificateKey::EcdsaP521 => KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512),
        CertificateKey::Rsa2048 => rsa(RsaKeySize::_2048),
        CertificateKey::Rsa3072 => rsa(RsaKeySize::_3072),
        CertificateKey::Rsa4096 => rsa(RsaKeySize::_4096),
        CertificateKey::Ed25519 => KeyPair::generate_for(&PKCS_ED25519),
        CertificateKey::MlDsa44 => KeyPair::generate_for(&PKCS_ML_DSA_44),
        CertificateKey::MlDsa65 => KeyPair::generate_for(&PKCS_ML_DSA_65),
        CertificateKey::MlDsa87 => KeyPair::generate_for(&PKCS_ML_DSA_87),
    }?;
    let chain = CertificateParams::new(vec![NAME.to_owned()])?.self_signed(&pair)?.pem();
    Ok((chain, pair.serialize_pem()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_written_as_pem() {
        let folder = tempfile::tempdir().unwrap();
        for kind in [
            CertificateKey::EcdsaP256,
            CertificateKey::EcdsaP384,
            CertificateKey::Rsa2048,
            CertificateKey::Ed25519,
            CertificateKey::MlDsa44,
        ] {
            let files = Certificate::make(kind, folder.path()).unwrap();
            let both = std::fs::read_to_string(files.both).unwrap();
            assert!(both.contains("BEGIN CERTIFICATE") && both.contains("PRIVATE KEY"));
            let mode = std::fs::metadata(files.key).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "servers refuse a key that others can read");
        }
    }
}
