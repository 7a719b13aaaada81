//! The gate's certificate chain and private key, from PEM files.

use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::io::Read;
use std::path::Path;
use tidegate_config::Problem;
use zeroize::Zeroizing;

/// A certificate chain and the private key of its first certificate.
pub struct Identity {
    /// The server's own certificate first, then those that lead to a root.
    pub chain: Vec<CertificateDer<'static>>,
    /// The private key; overwritten when it is dropped.
    pub key: Zeroizing<PrivateKeyDer<'static>>,
    /// Whether the gate made it itself.
    pub self_signed: bool,
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

/// Joins both and checks that the key is that of the certificate.
///
/// # Errors
/// The key of the configuration that is wrong, and why.
pub fn join(
    chain: Vec<CertificateDer<'static>>,
    key: Zeroizing<PrivateKeyDer<'static>>,
) -> Result<Identity, (&'static str, Problem)> {
    let signing = any_supported_type(&key).map_err(|error| {
        let remedy = "use RSA of 2048 bits or more, ECDSA P-256, P-384 or P-521, or Ed25519";
        ("tls.key", Problem::new(format!("is a key that cannot be used ({error})"), remedy))
    })?;
    let certified = rustls::sign::CertifiedKey::new(chain, signing);
    match certified.keys_match() {
        // Unknown: some hardware keys do not give their public half.
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {}
        Err(rustls::Error::InconsistentKeys(_)) => {
            let remedy = "name the key that the certificate was made with; the server's own \
                          certificate must come first in its file";
            return Err(("tls.key", Problem::new("is not the key of tls.certificate", remedy)));
        }
        Err(error) => {
            let rule = format!("its first certificate cannot be read ({error})");
            return Err(("tls.certificate", Problem::new(rule, "export it again as X.509 in PEM")));
        }
    }
    Ok(Identity { chain: certified.cert, key, self_signed: false })
}

/// The bytes of a file; overwritten when they are dropped, since they may be a key.
fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Problem> {
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
    Ok(bytes)
}

fn unreadable_pem(error: &rustls::pki_types::pem::Error) -> Problem {
    Problem::new(
        format!("is PEM that cannot be read ({error})"),
        "copy the file again, whole, from where it was made",
    )
}
