//! Files that hold a secret which several processes share.

use crate::Problem;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use zeroize::Zeroizing;

/// `O_NONBLOCK`: a pipe in the file's place must not block.
const NONBLOCK: i32 = 0o4000;
/// Shortest and longest secret, in bytes: 256 bits, as many as the signature has, also where
/// the file has them in hexadecimal digits or Base64.
const LENGTHS: (usize, usize) = (32, 4096);
/// How a secret is made.
const MAKE: &str = "(umask 077; openssl rand -base64 32 > FILE) makes one";

/// Checks the length of a secret.
///
/// # Errors
/// It is too short or too long, with a remedy.
pub fn check_secret(bytes: &[u8]) -> Result<(), Problem> {
    let (least, most) = LENGTHS;
    if bytes.len() < least {
        let rule = format!("has a secret of {} bytes, and {least} are needed", bytes.len());
        return Err(Problem::new(rule, MAKE));
    }
    if bytes.len() > most {
        return Err(Problem::new(format!("is longer than {most} bytes"), MAKE));
    }
    Ok(())
}

/// Reads a file with a secret; white space at its end is not part of the secret.
///
/// # Errors
/// It cannot be read, others may read it, or its length is wrong; with a remedy.
pub fn read_secret(path: &Path) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let mut bytes = read_private(path, LENGTHS.1 + 2, MAKE)?;
    let length = bytes.trim_ascii_end().len();
    bytes.truncate(length);
    check_secret(&bytes)?;
    Ok(bytes)
}

/// Reads at most `most` bytes of a file that only its owner and group may read; `made` tells how
/// such a file is made.
///
/// # Errors
/// It cannot be read, or others may read it; with a remedy.
pub fn read_private(path: &Path, most: usize, made: &str) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let unreadable = |error: std::io::Error| {
        let remedy = format!("make {} and let this user read it: {made}", path.display());
        Problem::new(format!("cannot be read ({error})"), remedy)
    };
    let opened = OpenOptions::new().read(true).custom_flags(NONBLOCK).open(path);
    let file = opened.map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    if !meta.is_file() {
        return Err(Problem::new("is not a file", format!("name a file: {made}")));
    }
    let mode = meta.mode() & 0o7777;
    // Read by the group: how systemd hands over credentials.
    if mode & 0o037 != 0 {
        let rule = format!("can be used by others (mode {mode:04o})");
        return Err(Problem::new(rule, format!("chmod 600 {}", path.display())));
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(most + 1));
    file.take(most as u64).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}
