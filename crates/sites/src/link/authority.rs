//! The private CA of a service's links, and a certificate for each of its tiers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};

use crate::{Error, Result, private_file, when};

/// How long certificates are valid: the tiers' for a year, the CA's for ten.
const TIER_DAYS: i64 = 365;
const CA_DAYS: i64 = 3650;

/// The certificate of the CA in a folder of certificates.
pub(super) const CA: &str = "ca.pem";

/// The certificate of a tier in a folder of certificates.
pub(super) fn certificate_file(folder: &Path, tier: &str) -> PathBuf {
    folder.join(format!("{tier}.pem"))
}

/// The key of a tier in a folder of certificates.
pub(super) fn key_file(folder: &Path, tier: &str) -> PathBuf {
    folder.join(format!("{tier}-key.pem"))
}

/// The name that a tier's certificate has.
pub(super) fn name_of(tier: &str) -> String {
    format!("{tier}.tier.internal")
}

/// A certificate authority that was just made.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate of a tier with its key, PEM.
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// The key, PKCS #8.
    pub key: String,
}

impl Authority {
    /// A new authority, valid from a day before `now` (seconds since 1970).
    ///
    /// # Errors
    /// No key can be made.
    pub fn new(now: i64) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Tidegate tiers");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        valid(&mut params, now - when::DAY, now + CA_DAYS * when::DAY);
        let key = KeyPair::generate().map_err(failed)?;
        Ok(Self(CertifiedIssuer::self_signed(params, key).map_err(failed)?))
    }

    /// The authority's certificate, PEM.
    pub fn certificate(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a tier, for both ends of a link, valid between two times
    /// (seconds since 1970).
    ///
    /// # Errors
    /// No key can be made; `tier` is no label of a host name.
    pub fn issue(&self, tier: &str, from: i64, until: i64) -> Result<Issued> {
        let name = name_of(tier);
        let mut params = CertificateParams::new(vec![name.clone()]).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        valid(&mut params, from, until);
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.0).map_err(failed)?;
        Ok(Issued { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// Makes a CA and a certificate for each tier in a folder: `ca.pem`, `TIER.pem` and
/// `TIER-key.pem`, the keys with mode 0600. The CA's own key is not kept: for other
/// certificates the whole is made again. Returns the files.
///
/// # Errors
/// The folder cannot be made or holds one of the files already.
pub fn make(folder: &Path, tiers: &[&str]) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Error::Operator(format!("{}: cannot be made ({error})", folder.display()))
    })?;
    let mut files = vec![folder.join(CA)];
    for tier in tiers {
        files.extend([certificate_file(folder, tier), key_file(folder, tier)]);
    }
    // Certificates of two authorities do not belong together.
    if let Some(there) = files.iter().find(|file| file.exists()) {
        return Err(Error::Operator(format!(
            "{}: is there already; name another folder, or delete the files of this one",
            there.display()
        )));
    }
    let now = when::now();
    let authority = Authority::new(now)?;
    write(&files[0], &authority.certificate())?;
    for tier in tiers {
        let issued = authority.issue(tier, now - when::DAY, now + TIER_DAYS * when::DAY)?;
        write(&certificate_file(folder, tier), &issued.certificate)?;
        private_file::create(&key_file(folder, tier), issued.key.as_bytes())?;
    }
    Ok(files)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text)
        .map_err(|error| Error::Operator(format!("cannot write {}: {error}", path.display())))
}

fn valid(params: &mut CertificateParams, from: i64, until: i64) {
    let at = |seconds: i64| {
        date_time_ymd(1970, 1, 1) + Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
    };
    params.not_before = at(from);
    params.not_after = at(until);
}

fn failed(error: rcgen::Error) -> Error {
    Error::Internal(format!("no certificate can be made: {error}"))
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Issued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issued").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn keys_are_private_and_nothing_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("certificates");
        let files = make(&folder, &["web", "app"]).unwrap();
        let names: Vec<_> =
            files.iter().map(|f| f.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["ca.pem", "web.pem", "web-key.pem", "app.pem", "app-key.pem"]);
        for file in files.iter().filter(|file| file.to_str().unwrap().contains("-key")) {
            assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let error = make(&folder, &["web"]).unwrap_err().to_string();
        assert!(error.contains("ca.pem: is there already"), "{error}");
    }
}
