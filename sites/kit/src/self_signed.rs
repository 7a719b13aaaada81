//! A self-signed certificate that is kept: clients trust it once, and it stays the same when
//! the site is started again.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::{Error, Result, private_file};

/// Names that the certificate is for.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The files `NAME.pem` and `NAME-key.pem` of certificate and key in this folder; they are made
/// if one is missing. For an address that others reach, the certificate has its name as well and
/// files of its own.
///
/// # Errors
/// They cannot be made.
pub fn kept(folder: &Path, name: &str, listen: IpAddr) -> Result<(PathBuf, PathBuf)> {
    let mut names = NAMES.map(String::from).to_vec();
    let mut name = name.to_owned();
    if !(listen.is_loopback() || listen.is_unspecified()) {
        names.push(listen.to_string());
        name = format!("{name}-{listen}");
    }
    let files = (folder.join(format!("{name}.pem")), folder.join(format!("{name}-key.pem")));
    if files.0.exists() && files.1.exists() {
        return Ok(files);
    }
    let made = rcgen::generate_simple_self_signed(names)
        .map_err(|error| Error::Internal(format!("no certificate can be made: {error}")))?;
    // The certificate appears last and complete, so that it is never beside another one's key.
    let unfinished = folder.join(format!("{name}.pem.new"));
    let written = match std::fs::remove_file(&files.0) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => {
            private_file::replace(&files.1, made.signing_key.serialize_pem().as_bytes())?;
            std::fs::write(&unfinished, made.cert.pem())
                .and_then(|()| std::fs::rename(&unfinished, &files.0))
        }
    };
    written.map_err(|error| {
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
        let here = IpAddr::from([127, 0, 0, 1]);
        let files = kept(folder.path(), "a", here).unwrap();
        let first = std::fs::read_to_string(&files.0).unwrap();
        assert_eq!(kept(folder.path(), "a", here).unwrap(), files);
        assert_eq!(std::fs::read_to_string(&files.0).unwrap(), first);
        // One of them alone is of no use.
        std::fs::remove_file(&files.1).unwrap();
        assert_eq!(kept(folder.path(), "a", here).unwrap(), files);
        assert_ne!(std::fs::read_to_string(&files.0).unwrap(), first);
        let other = kept(folder.path(), "a", IpAddr::from([192, 0, 2, 1])).unwrap();
        assert!(other.0.ends_with("a-192.0.2.1.pem"), "{other:?}");
        let tls =
            Tls { version: TlsVersion::V13, files: Some(files), resumption: true, clients: None };
        assert!(tls::config(&tls).is_ok());
    }
}
