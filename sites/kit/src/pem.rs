//! PEM files. A byte order mark is skipped: the reader would skip the first section behind it.

use std::path::Path;

use rustls::pki_types::pem::{Error, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use tidegate_config::without_mark;

/// Largest file that is read: system bundles of roots are below 1 MiB.
const LARGEST: u64 = 4 << 20;

/// The certificates of a file, in their order.
///
/// # Errors
/// Why it cannot be read, or that it holds none.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    sections(path, "certificate")
}

/// The lists of revoked certificates of a file.
///
/// # Errors
/// Why it cannot be read, or that it holds none.
pub fn revocation_lists(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    sections(path, "list of revoked certificates")
}

fn sections<T: PemObject>(path: &Path, kind: &str) -> Result<Vec<T>, String> {
    let text = tidegate_config::read_bytes(path, LARGEST).map_err(|error| error.to_string())?;
    let found: Result<Vec<T>, _> = T::pem_slice_iter(without_mark(&text)).collect();
    let found = found.map_err(|error| error.to_string())?;
    if found.is_empty() { Err(format!("holds no {kind}")) } else { Ok(found) }
}

/// The key in the text of a file.
///
/// # Errors
/// There is none, or it is malformed.
pub fn key(text: &[u8]) -> Result<PrivateKeyDer<'static>, Error> {
    PrivateKeyDer::from_pem_slice(without_mark(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_hides_no_section() {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        for mark in ["", "\u{feff}"] {
            std::fs::write(file.path(), format!("{mark}{}", made.cert.pem())).unwrap();
            assert_eq!(certificates(file.path()).unwrap(), [made.cert.der().clone()]);
            let text = format!("{mark}{}", made.signing_key.serialize_pem());
            assert_eq!(
                key(text.as_bytes()).unwrap().secret_der(),
                made.signing_key.serialize_der()
            );
        }
    }
}
