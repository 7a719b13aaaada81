//! Reads files within a bound. A device or a pipe has no length beforehand, and a file may grow
//! while it is read: the bytes that come are counted, not those that were stated.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The bytes of a file that has at most `largest`, a multiple of a KiB.
///
/// # Errors
/// It cannot be read, or it has more: [`ErrorKind::FileTooLarge`], with the bound in the text.
pub fn read_bytes(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    all_of(crate::files::open(path)?, largest)
}

/// The text of a file that has at most `largest` bytes, a multiple of a KiB.
///
/// # Errors
/// As [`read_bytes`]; or it is no text in UTF-8.
pub fn read_text(path: &Path, largest: u64) -> io::Result<String> {
    let text = String::from_utf8(read_bytes(path, largest)?);
    text.map_err(|_| io::Error::new(ErrorKind::InvalidData, "is not text in UTF-8"))
}

/// What comes from a source that gives at most `largest` bytes, a multiple of a KiB.
///
/// # Errors
/// As [`read_bytes`].
pub fn all_of(source: impl Read, largest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(largest.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        return Err(io::Error::new(ErrorKind::FileTooLarge, too_large(largest)));
    }
    Ok(bytes)
}

/// The bytes after a UTF-8 byte order mark, which editors on Windows write at the beginning of a
/// file. Readers of PEM, CSV and JSON take it for content.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// `has more than 64 MiB`.
pub fn too_large(largest: u64) -> String {
    match largest {
        0x10_0000.. => format!("has more than {} MiB", largest >> 20),
        _ => format!("has more than {} KiB", largest >> 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_read_up_to_the_bound_and_the_bound_is_named() {
        for (largest, expected) in
            [(4 << 10, "has more than 4 KiB"), (2 << 20, "has more than 2 MiB")]
        {
            let error = read_bytes(Path::new("/dev/zero"), largest).unwrap_err();
            assert_eq!(
                (error.kind(), error.to_string().as_str()),
                (ErrorKind::FileTooLarge, expected)
            );
        }
        assert!(read_text(Path::new("/dev/zero"), 1 << 10).is_err());
    }

    #[test]
    fn a_file_of_exactly_the_bound_is_read_and_text_must_be_text() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, [b'a'; 1024]).unwrap();
        assert_eq!(read_bytes(&file, 1024).unwrap(), [b'a'; 1024]);
        assert_eq!(read_text(&file, 1024).unwrap().len(), 1024);
        std::fs::write(&file, [b'a'; 1025]).unwrap();
        assert_eq!(read_bytes(&file, 1024).unwrap_err().kind(), ErrorKind::FileTooLarge);
        std::fs::write(&file, b"\xE9").unwrap();
        assert_eq!(read_text(&file, 1024).unwrap_err().to_string(), "is not text in UTF-8");
        assert_eq!(read_bytes(folder.path(), 1024).unwrap_err().kind(), ErrorKind::IsADirectory);
    }
}
