//! The gate's certificate chain and private key, from PEM files.

use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::io::Read;
use std::path::Path;
use tidegate_config::{Problem, without_mark};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};
use zeroize::Zeroizing;

/// A certificate chain and the private key of its first certificate.
pub struct Identity {
    /// The server's own certificate first, then those that lead to a root.
    pub chain: Vec<CertificateDer<'static>>,
    /// The private key; overwritten when it is dropped.
    pub key: Zeroizing<PrivateKeyDer<'static>>,
    /// Whether the gate made it itself.
    pub self_signed: bool,
    /// The DNS names of the certificate, in lower case; a wildcard begins with `*.`.
    pub names: Vec<String>,
    /// When the certificate expires, in seconds since 1970; not known if it cannot be read.
    pub expires: Option<i64>,
}

impl Identity {
    /// A chain, which is not empty, and the key of its first certificate.
    pub fn new(
        chain: Vec<CertificateDer<'static>>,
        key: Zeroizing<PrivateKeyDer<'static>>,
        self_signed: bool,
    ) -> Self {
        let parsed = chain.first().and_then(|own| X509Certificate::from_der(own).ok());
        let parsed = parsed.map(|(_, certificate)| certificate);
        let names = parsed.as_ref().map(dns_names).unwrap_or_default();
        let expires = parsed.map(|certificate| certificate.validity().not_after.timestamp());
        Self { chain, key, self_signed, names, expires }
    }
}

/// The DNS names of a certificate.
///
/// Source: RFC 6125, section 6.4.4: the common name counts no more.
fn dns_names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return Vec::new() };
    let names = names.value.general_names.iter().filter_map(|name| match name {
        GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
        _ => None,
    });
    names.collect()
}

impl fmt::Debug for Identity {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let certificates = self.chain.len();
        let self_signed = self.self_signed;
        write!(f, "Identity {{ certificates: {certificates}, self_signed: {self_signed} }}")
    }
}

/// Largest PEM file that is read: system bundles of roots are below 1 MiB.
const PEM_BYTES: u64 = 4 << 20;

/// Reads a PEM file of certificates; at least one.
///
/// # Errors
/// The fault of the file, and a remedy.
pub fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let pem = read(path)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match chain {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) if PrivateKeyDer::from_pem_slice(&pem).is_ok() => Err(Problem::new(
            "holds a private key but no certificate",
            "name the certificate file here and this one in tls.key",
        )),
        Ok(_) if pem.first() == Some(&0x30) => Err(Problem::new(
            "is DER, not PEM",
            "convert it: openssl x509 -inform der -in FILE -out cert.pem",
        )),
        Ok(_) => Err(Problem::new(
            "holds no certificate",
            "a PEM certificate begins with -----BEGIN CERTIFICATE-----",
        )),
        Err(error) => Err(unreadable_pem(&error)),
    }
}

/// Reads a PEM file with one private key, not encrypted.
///
/// # Errors
/// The fault of the file, and a remedy.
pub fn read_key(path: &Path) -> Result<Zeroizing<PrivateKeyDer<'static>>, Problem> {
    let pem = read(path)?;
    let encrypted = |mark: &[u8]| pem.windows(mark.len()).any(|window| window == mark);
    if encrypted(b"BEGIN ENCRYPTED PRIVATE KEY") || encrypted(b"Proc-Type: 4,ENCRYPTED") {
        return Err(Problem::new(
            "is encrypted with a passphrase",
            "the gate starts unattended; decrypt it: openssl pkey -in FILE -out key.pem",
        ));
    }
    match PrivateKeyDer::from_pem_slice(&pem) {
        Ok(key) => Ok(Zeroizing::new(key)),
        Err(rustls::pki_types::pem::Error::NoItemsFound) => {
            let rule = match CertificateDer::from_pem_slice(&pem) {
                Ok(_) => "holds a certificate but no private key",
                Err(_) => "holds no private key",
            };
            Err(Problem::new(rule, "a PEM key begins with -----BEGIN PRIVATE KEY-----"))
        }
        Err(error) => Err(unreadable_pem(&error)),
    }
}

/// Which file is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// That of the certificate.
    Certificate,
    /// That of the key.
    Key,
}

/// Joins both and checks that the key is that of the certificate, which messages name as
/// `certificate`.
///
/// # Errors
/// Which of both is wrong, and why.
pub fn join(
    chain: Vec<CertificateDer<'static>>,
    key: Zeroizing<PrivateKeyDer<'static>>,
    certificate: &str,
) -> Result<Identity, (Wrong, Problem)> {
    let signing = any_supported_type(&key).map_err(|error| {
        let remedy = "use RSA of 2048 bits or more, ECDSA P-256, P-384 or P-521, Ed25519, or \
                      ML-DSA";
        (Wrong::Key, Problem::new(format!("is a key that cannot be used ({error})"), remedy))
    })?;
    let certified = rustls::sign::CertifiedKey::new(chain, signing);
    match certified.keys_match() {
        // Unknown: some hardware keys do not give their public half.
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {}
        Err(rustls::Error::InconsistentKeys(_)) => {
            let remedy = "name the key that the certificate was made with; the server's own \
                          certificate must come first in its file";
            return Err((
                Wrong::Key,
                Problem::new(format!("is not the key of {certificate}"), remedy),
            ));
        }
        Err(error) => {
            let rule = format!("its first certificate cannot be read ({error})");
            return Err((
                Wrong::Certificate,
                Problem::new(rule, "export it again as X.509 in PEM"),
            ));
        }
    }
    Ok(Identity::new(certified.cert, key, false))
}

/// The bytes of a file; overwritten when they are dropped, since they may be a key.
///
/// # Errors
/// It cannot be read, or is too large, and a remedy.
pub fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let show = path.display();
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Problem::new("does not exist", format!("the path resolves to {show}"))
        }
        std::io::ErrorKind::PermissionDenied => {
            Problem::new("may not be read by this user", format!("let the gate's user read {show}"))
        }
        _ => Problem::new(
            format!("cannot be read ({error})"),
            format!("the path resolves to {show}"),
        ),
    };
    let meta = std::fs::metadata(path).map_err(unreadable)?;
    if !meta.is_file() {
        return Err(Problem::new("is not a file", format!("name a PEM file; this is {show}")));
    }
    let file = std::fs::File::open(path).map_err(unreadable)?;
    // A vector that grows leaves copies behind.
    let length = usize::try_from(meta.len().min(PEM_BYTES)).unwrap_or_default();
    let mut bytes = Zeroizing::new(Vec::with_capacity(length + 1));
    file.take(PEM_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > PEM_BYTES {
        return Err(Problem::new("is larger than 4 MiB", "name a PEM file"));
    }
    // In place, since a copy of a key would have to be overwritten as well.
    let mark = bytes.len() - without_mark(&bytes).len();
    bytes[..mark].fill(b'\n');
    Ok(bytes)
}

/// The problem of a file that is not PEM as it should be.
pub fn unreadable_pem(error: &rustls::pki_types::pem::Error) -> Problem {
    Problem::new(
        format!("is PEM that cannot be read ({error})"),
        "copy the file again, whole, from where it was made",
    )
}
