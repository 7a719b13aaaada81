//! A self-signed certificate that is kept: clients trust it once, and it stays the same when
//! the site is started again.

use std::path::{Path, PathBuf};

use crate::{Error, Result, private_file};

/// Names that the certificate is for.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The files `NAME.pem` and `NAME-key.pem` of certificate and key in this folder; they are made
/// if one is missing.
///
/// # Errors
/// They cannot be made.
pub fn kept(folder: &Path, name: &str) -> Result<(PathBuf, PathBuf)> {
    let files = (folder.join(format!("{name}.pem")), folder.join(format!("{name}-key.pem")));
    if files.0.exists() && files.1.exists() {
        return Ok(files);
    }
    let made = rcgen::generate_simple_self_signed(NAMES.map(String::from))
        .map_err(|error| Error::Internal(format!("no certificate can be made: {error}")))?;
    private_file::replace(&files.1, made.signing_key.serialize_pem().as_bytes())?;
    std::fs::write(&files.0, made.cert.pem()).map_err(|error| {
        Error::Operator(format!("{}: cannot be written: {error}", files.0.display()))
    })?;
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::{self, Tls, TlsVersion};

    #[test]
    fn a_certificate_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let files = kept(folder.path(), "a").unwrap();
        let first = std::fs::read_to_string(&files.0).unwrap();
        assert_eq!(kept(folder.path(), "a").unwrap(), files);
        assert_eq!(std::fs::read_to_string(&files.0).unwrap(), first);
        let tls = Tls { version: TlsVersion::V13, files: Some(files), resumption: true };
        assert!(tls::config(&tls).is_ok());
    }
}
