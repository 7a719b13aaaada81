//! The secret that the gate and its agents share.

use std::fmt;
use std::path::Path;

use aws_lc_rs::hmac;
use tidegate_config::Problem;

/// Length of a signature, in bytes.
pub(crate) const SIGNATURE: usize = 32;

/// A shared secret.
#[derive(Clone)]
pub struct Secret(hmac::Key);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Compared by what they sign.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        let text = b"the same secret";
        hmac::verify(&self.0, text, hmac::sign(&other.0, text).as_ref()).is_ok()
    }
}

impl Secret {
    /// A secret of these bytes.
    ///
    /// # Errors
    /// It is too short or too long, with a remedy.
    pub fn new(bytes: &[u8]) -> Result<Self, Problem> {
        tidegate_config::check_secret(bytes)?;
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    /// Reads a file; white space at its end is not part of the secret.
    ///
    /// # Errors
    /// It cannot be read, others may read it, or its length is wrong; with a remedy.
    pub fn read(path: &Path) -> Result<Self, Problem> {
        Self::new(&tidegate_config::read_secret(path)?)
    }

    /// Signs what comes before the last bytes of a datagram, and writes the signature there.
    ///
    /// # Panics
    /// The datagram is shorter than a signature.
    #[doc(hidden)]
    pub fn sign(&self, datagram: &mut [u8]) {
        let (text, signature) = datagram.split_at_mut(datagram.len() - SIGNATURE);
        signature.copy_from_slice(hmac::sign(&self.0, text).as_ref());
    }

    /// Whether a datagram ends with its signature; compared in constant time.
    pub(crate) fn verifies(&self, datagram: &[u8]) -> bool {
        let Some((text, signature)) = datagram.split_last_chunk::<SIGNATURE>() else {
            return false;
        };
        hmac::verify(&self.0, text, signature).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn file(content: &[u8], mode: u32) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    fn problem(path: &Path) -> String {
        let problem = Secret::read(path).unwrap_err();
        format!("{}; {}", problem.rule, problem.remedy)
    }

    #[test]
    fn a_newline_at_the_end_is_not_part_of_the_secret() {
        let (_kept, with) = file(&[b"x".repeat(44), b"\n".to_vec()].concat(), 0o600);
        let mut datagram = [7; 64];
        Secret::read(&with).unwrap().sign(&mut datagram);
        assert!(Secret::new(&b"x".repeat(44)).unwrap().verifies(&datagram));
        assert!(!Secret::new(&b"x".repeat(45)).unwrap().verifies(&datagram));
        datagram[0] ^= 1;
        assert!(!Secret::read(&with).unwrap().verifies(&datagram));
        assert!(!Secret::read(&with).unwrap().verifies(&[0; 31]));
    }

    #[test]
    fn a_secret_that_others_may_read_or_that_is_short_is_refused_with_a_remedy() {
        let (_kept, open) = file(&[b'x'; 44], 0o644);
        assert_eq!(
            problem(&open),
            format!("can be used by others (mode 0644); chmod 600 {}", open.display())
        );
        let (_kept, short) = file(b"hunter2\n", 0o440);
        assert!(problem(&short).starts_with("has a secret of 7 bytes, and 32 are needed; (umask"));
        let (_kept, long) = file(&[b'x'; 5000], 0o400);
        assert!(problem(&long).starts_with("is longer than 4096 bytes"));
        assert!(problem(Path::new("/no such file")).starts_with("cannot be read (No such file"));
        assert!(problem(Path::new("/")).starts_with("is not a file"));
    }
}
