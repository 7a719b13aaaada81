//! The secret that the gate and its agents share.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use aws_lc_rs::hmac;
use tidegate_config::Problem;
use zeroize::Zeroizing;

/// Length of a signature, in bytes.
pub(crate) const SIGNATURE: usize = 32;

/// Shortest and longest secret, in bytes: 256 bits, as many as the signature has, also where
/// the file has them in hexadecimal digits or Base64.
const LENGTHS: (usize, usize) = (32, 4096);

/// `O_NONBLOCK`: a pipe in the file's place must not block.
const NONBLOCK: i32 = 0o4000;

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
        let (least, most) = LENGTHS;
        if bytes.len() < least {
            let rule = format!("has a secret of {} bytes, and {least} are needed", bytes.len());
            return Err(Problem::new(rule, MAKE));
        }
        if bytes.len() > most {
            return Err(Problem::new(format!("is longer than {most} bytes"), MAKE));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    /// Reads a file; white space at its end is not part of the secret.
    ///
    /// # Errors
    /// It cannot be read, others may read it, or its length is wrong; with a remedy.
    pub fn read(path: &Path) -> Result<Self, Problem> {
        let unreadable = |error: std::io::Error| {
            let remedy = format!("make {} and let this user read it: {MAKE}", path.display());
            Problem::new(format!("cannot be read ({error})"), remedy)
        };
        let opened = OpenOptions::new().read(true).custom_flags(NONBLOCK).open(path);
        let file = opened.map_err(unreadable)?;
        let meta = file.metadata().map_err(unreadable)?;
        if !meta.is_file() {
            return Err(Problem::new("is not a file", format!("name a file: {MAKE}")));
        }
        let mode = meta.mode() & 0o7777;
        // Read by the group: how systemd hands over credentials.
        if mode & 0o037 != 0 {
            let rule = format!("can be used by others (mode {mode:04o})");
            return Err(Problem::new(rule, format!("chmod 600 {}", path.display())));
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(LENGTHS.1 + 3));
        file.take(LENGTHS.1 as u64 + 2).read_to_end(&mut bytes).map_err(unreadable)?;
        Self::new(bytes.trim_ascii_end())
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

/// How a secret is made.
const MAKE: &str = "(umask 077; openssl rand -base64 32 > FILE) makes one";

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
