//! Files of keys: written so that their owner alone can read them, and refused where
//! others can.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use crate::{Error, Result};

/// Lets a type that holds secrets be printed by these fields alone:
/// `printed_by!(Account: user)`.
#[macro_export]
macro_rules! printed_by {
    ($type:ident $(: $($field:ident),+)?) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))
                    $($(.field(stringify!($field), &self.$field))+)?
                    .finish_non_exhaustive()
            }
        }
    };
}

/// Most bytes of such a file.
const LARGEST: u64 = 64 * 1024;

/// What others than the owner may not do with a file of keys: anything.
const OTHERS: u32 = 0o077;
/// The same for a key of TLS, which a group of services may read.
const OTHERS_THAN_GROUP: u32 = 0o037;

/// Reads a file of keys.
///
/// # Errors
/// It is missing, is longer than 64 KiB, or can be read or written by others than its
/// owner: errors for the operator.
pub fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>> {
    read_at_most(LARGEST, path)
        .map_err(|reason| Error::Operator(format!("{}: {reason}", path.display())))
}

/// The same for a file of at most so many bytes.
///
/// # Errors
/// The reason, without the path.
pub fn read_at_most(most: u64, path: &Path) -> Result<Zeroizing<Vec<u8>>, String> {
    read_unless(OTHERS, most, path)
}

/// Reads the key of a certificate, which its group may read as well: Debian's `ssl-cert` and
/// similar groups are for services that have no other access to it.
///
/// # Errors
/// The reason, without the path.
pub fn read_tls_key(path: &Path) -> Result<Zeroizing<Vec<u8>>, String> {
    read_unless(OTHERS_THAN_GROUP, LARGEST, path)
}

/// Reads a file unless its mode has one of these bits.
fn read_unless(forbidden: u32, most: u64, path: &Path) -> Result<Zeroizing<Vec<u8>>, String> {
    let reason = |error: std::io::Error| error.to_string();
    // What is looked at is the open file, whatever has its name by then.
    let file = File::open(path).map_err(reason)?;
    let about = file.metadata().map_err(reason)?;
    if !about.is_file() {
        return Err("is no file of keys".into());
    }
    let mode = about.permissions().mode() & 0o777;
    if mode & forbidden != 0 {
        return Err(format!(
            "holds a secret, and others may read it or write to it (mode {mode:03o}); \
             run `chmod 600 {}`, and replace the key if somebody may have read it",
            path.display()
        ));
    }
    // Reserved at once: a vector that grows leaves copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(about.len().min(most) as usize + 1));
    file.take(most + 1).read_to_end(&mut bytes).map_err(reason)?;
    if bytes.len() as u64 > most {
        return Err(format!("is no file of keys: it is longer than {} KiB", most / 1024));
    }
    Ok(bytes)
}

/// Writes a new file of keys with mode 0600. It is complete when it has its name.
///
/// # Errors
/// It is there already, or cannot be written: the reason, without the path.
pub fn create(path: &Path, content: &[u8]) -> Result<(), String> {
    // A link is not made in place of another file, whoever writes it at the same time.
    write(path, content, |unfinished| {
        std::fs::hard_link(unfinished, path).and_then(|()| std::fs::remove_file(unfinished))
    })
}

/// Replaces a file of keys: whoever reads it meanwhile reads the old one or the new one.
///
/// # Errors
/// It cannot be written: an error for the operator.
pub fn replace(path: &Path, content: &[u8]) -> Result<()> {
    write(path, content, |unfinished| std::fs::rename(unfinished, path))
        .map_err(|reason| Error::Operator(format!("cannot write {}: {reason}", path.display())))
}

/// Writes a file beside this one, and gives it its name when it is complete.
fn write(
    path: &Path,
    content: &[u8],
    name: impl FnOnce(&Path) -> std::io::Result<()>,
) -> Result<(), String> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = Path::new(&beside);
    // What a crash has left there.
    let _ = std::fs::remove_file(beside);
    let written = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(beside)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .and_then(|()| name(beside));
    written.map_err(|error| {
        let _ = std::fs::remove_file(beside);
        error.to_string()
    })
}

/// The same with a value as JSON.
///
/// # Errors
/// It cannot be written: an error for the operator.
pub fn replace_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_vec_pretty(value)
        .map(Zeroizing::new)
        .map_err(|error| Error::Internal(error.to_string()))?;
    text.push(b'\n');
    replace(path, &text)
}

/// Parses the JSON of a file of keys.
///
/// # Errors
/// The reason. It repeats nothing of the file, whose values are secrets.
pub fn parse_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        format!("is no file of keys (line {line}, column {column})")
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};

    use super::*;

    #[test]
    fn a_file_is_readable_by_its_owner_alone_and_never_overwritten_by_accident() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        create(&path, b"secret").unwrap();
        assert_eq!(read(&path).unwrap().as_slice(), b"secret");
        assert!(create(&path, b"other").unwrap_err().to_string().contains("File exists"));
        replace(&path, b"other").unwrap();
        assert_eq!(read(&path).unwrap().as_slice(), b"other");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        // A crash before the file got its name.
        create(&folder.path().join("key.new"), b"half").unwrap();
        replace(&path, b"third").unwrap();
        assert_eq!(read(&path).unwrap().as_slice(), b"third");
    }

    #[test]
    fn a_file_that_others_can_read_or_write_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        create(&path, b"secret").unwrap();
        for mode in [0o644, 0o640, 0o604, 0o620, 0o601] {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(&format!("mode {mode:03o}")), "{error}");
            assert!(error.contains("chmod 600"), "{error}");
        }
        set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        assert!(read(&path).is_ok());
    }

    #[test]
    fn the_key_of_a_certificate_may_be_read_by_its_group_and_by_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        create(&path, b"secret").unwrap();
        for mode in [0o600, 0o400, 0o640, 0o440] {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(read_tls_key(&path).unwrap().as_slice(), b"secret", "{mode:o}");
        }
        for mode in [0o644, 0o604, 0o660, 0o602] {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let error = read_tls_key(&path).unwrap_err();
            assert!(error.contains(&format!("mode {mode:03o}")), "{error}");
        }
    }

    #[test]
    fn what_is_no_file_of_keys_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).unwrap_err().to_string().contains("no file of keys"));
        let path = folder.path().join("missing");
        assert!(read(&path).unwrap_err().to_string().contains("missing: No such file"));
        create(&path, &vec![0; 70_000]).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("no file of keys"));
    }
}
