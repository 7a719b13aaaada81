//! The private CA of a service's links, and a certificate for each of its tiers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams,
    SerialNumber, date_time_ymd,
};

use super::tls;
use crate::{Error, Result, private_file, random, when};

/// How long certificates are valid: the tiers' for a year, the CA's for ten.
const TIER_DAYS: i64 = 365;
const CA_DAYS: i64 = 3650;
/// [`keep`] makes certificates anew that end within so many days.
const RENEWED_DAYS: i64 = 30;

/// The certificate of the CA in a folder of certificates.
pub(super) const CA: &str = "ca.pem";
/// The CA's list of revoked certificates, if there is one. It is read when a tier starts.
pub(super) const REVOKED: &str = "crl.pem";

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
    /// Its number among those of the authority.
    serial: SerialNumber,
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
        let serial = new_serial()?;
        params.serial_number = Some(serial.clone());
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.0).map_err(failed)?;
        Ok(Issued { certificate: certificate.pem(), key: key.serialize_pem(), serial })
    }

    /// The authority's list of revoked certificates, PEM, issued at this time (seconds since
    /// 1970) and valid for a year. A folder of certificates has it as `crl.pem`.
    ///
    /// # Errors
    /// It cannot be signed.
    pub fn revoke(&self, certificates: &[&Issued], now: i64) -> Result<String> {
        let epoch = date_time_ymd(1970, 1, 1);
        let revoked = |issued: &&Issued| RevokedCertParams {
            serial_number: issued.serial.clone(),
            revocation_time: epoch + positive(now),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: epoch + positive(now),
            next_update: epoch + positive(now + TIER_DAYS * when::DAY),
            crl_number: SerialNumber::from(u64::try_from(now).unwrap_or(0)),
            issuing_distribution_point: None,
            revoked_certs: certificates.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.0).and_then(|list| list.pem()).map_err(failed)
    }
}

/// Makes a CA and a certificate for each tier in a folder: `ca.pem`, `TIER.pem` and
/// `TIER-key.pem`, the keys with mode 0600. The CA's own key is not kept: for other
/// certificates the whole is made again. Returns the files.
///
/// # Errors
/// The folder cannot be made or holds one of the files already.
pub fn make(folder: &Path, tiers: &[&str]) -> Result<Vec<PathBuf>> {
    let files = files(folder, tiers);
    // Certificates of two authorities do not belong together.
    if let Some(there) = files.iter().find(|file| file.exists()) {
        return Err(Error::Operator(format!(
            "{}: is there already; name another folder, or delete the files of this one",
            there.display()
        )));
    }
    replace(folder, tiers, when::now())?;
    Ok(files)
}

/// The same for a folder that is the program's own: the files are made again if some are
/// missing, do not belong together, or end within 30 days from `now` (seconds since 1970).
///
/// # Errors
/// A file cannot be written.
pub fn keep(folder: &Path, tiers: &[&str], now: i64) -> Result<()> {
    let until = now + RENEWED_DAYS * when::DAY;
    match tiers.iter().all(|tier| tls::usable(folder, tier, until)) {
        true => Ok(()),
        false => replace(folder, tiers, now),
    }
}

/// All files of a folder, that of the CA first.
fn files(folder: &Path, tiers: &[&str]) -> Vec<PathBuf> {
    let of = |tier: &&str| [certificate_file(folder, tier), key_file(folder, tier)];
    std::iter::once(folder.join(CA)).chain(tiers.iter().flat_map(of)).collect()
}

/// Makes all files in a folder beside this one, and gives them their place when they are
/// complete.
fn replace(folder: &Path, tiers: &[&str], now: i64) -> Result<()> {
    let mut beside = folder.as_os_str().to_owned();
    beside.push(".unfinished");
    let beside = Path::new(&beside);
    let failed = |error| Error::Operator(format!("{}: cannot be made ({error})", folder.display()));
    std::fs::create_dir_all(beside).map_err(failed)?;
    let unfinished = files(beside, tiers);
    for file in &unfinished {
        // What a process has left that was killed here.
        let _ = std::fs::remove_file(file);
    }
    let authority = Authority::new(now)?;
    for tier in tiers {
        let issued = authority.issue(tier, now - when::DAY, now + TIER_DAYS * when::DAY)?;
        write(&certificate_file(beside, tier), &issued.certificate)?;
        private_file::replace(&key_file(beside, tier), issued.key.as_bytes())?;
    }
    write(&beside.join(CA), &authority.certificate())?;
    if !folder.exists() {
        return std::fs::rename(beside, folder).map_err(failed);
    }
    // File by file, since the folder may hold others. Without that of the CA none is of use: it
    // goes first and comes last.
    let files = files(folder, tiers);
    let _ = std::fs::remove_file(&files[0]);
    // That of another CA says nothing of these.
    let _ = std::fs::remove_file(folder.join(REVOKED));
    for (from, to) in unfinished.iter().zip(&files).rev() {
        std::fs::rename(from, to).map_err(failed)?;
    }
    let _ = std::fs::remove_dir(beside);
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text)
        .map_err(|error| Error::Operator(format!("cannot write {}: {error}", path.display())))
}

fn valid(params: &mut CertificateParams, from: i64, until: i64) {
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + positive(from);
    params.not_after = epoch + positive(until);
}

fn positive(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

/// A number that no other certificate has: positive, of 127 random bits.
fn new_serial() -> Result<SerialNumber> {
    let mut bytes = *random::bytes::<16>()?;
    bytes[0] = bytes[0] & 0x7f | 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

fn failed(error: rcgen::Error) -> Error {
    Error::Internal(format!("no certificate can be made: {error}"))
}

crate::printed_by!(Authority);

crate::printed_by!(Issued: certificate);

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn certificates_are_kept_until_they_are_incomplete_or_end_soon() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("certificates");
        let tiers = ["web", "app"];
        let read = || files(&folder, &tiers).into_iter().map(|file| std::fs::read(file).unwrap());
        let keep = |now| {
            keep(&folder, &tiers, now).unwrap();
            assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1, "nothing is left");
            assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 5);
            read().collect::<Vec<_>>()
        };
        let now = when::now();
        // A process was killed before the files had their place.
        let unfinished = parent.path().join("certificates.unfinished");
        std::fs::create_dir(&unfinished).unwrap();
        std::fs::write(unfinished.join("web-key.pem"), "half").unwrap();
        let mut kept = keep(now);
        assert_eq!(keep(now + 334 * when::DAY), kept);
        for file in files(&folder, &tiers) {
            std::fs::remove_file(&file).unwrap();
            let anew = keep(now);
            assert!(anew.iter().zip(&kept).all(|(new, old)| new != old), "without {file:?}");
            kept = anew;
        }
        // Of another authority, or cut short.
        make(&parent.path().join("others"), &tiers).unwrap();
        let other = std::fs::read(parent.path().join("others/web.pem")).unwrap();
        std::fs::remove_dir_all(parent.path().join("others")).unwrap();
        for content in [other, Vec::new()] {
            std::fs::write(folder.join("web.pem"), content).unwrap();
            let anew = keep(now);
            assert_ne!(anew, kept);
            kept = anew;
        }
        let late = now + 336 * when::DAY;
        let anew = keep(late);
        assert_ne!(anew, kept);
        assert_eq!(keep(late), anew);
    }

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
