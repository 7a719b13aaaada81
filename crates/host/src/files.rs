//! The kernel's files, below a root that tests choose.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Reads files of `/proc` and `/sys`. Every read is capped, so that neither a long
/// nor a hostile file grows memory or delays the caller.
#[derive(Debug, Clone)]
pub struct Files {
    root: PathBuf,
}

/// Most bytes read of one file. What is looked for stands at the beginning of a file,
/// and a table of a million connections must not be read ten times a second.
const FILE_BYTES: u64 = 256 << 10;

impl Files {
    /// Files below `/`, or below another folder in tests.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// A path below the root; a leading `/` is dropped.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The first 256 KiB of a file, with bytes that are not UTF-8 replaced; `None` if it
    /// cannot be read.
    pub fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        let mut bytes = Vec::new();
        let file = fs::File::open(self.path(path)).ok()?;
        file.take(FILE_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The beginning of a file that the kernel makes as it is read: it is read in parts of 4 KiB
    /// until `is_enough` of what there is so far, or 256 KiB; `None` if it cannot be read. A long
    /// table costs as much as the part of it that is read.
    pub fn read_until(
        &self,
        path: impl AsRef<Path>,
        is_enough: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let mut file = fs::File::open(self.path(path)).ok()?.take(FILE_BYTES);
        let (mut text, mut part) = (String::new(), [0; 4096]);
        loop {
            let read = file.read(&mut part).ok()?;
            text.push_str(&String::from_utf8_lossy(&part[..read]));
            if read == 0 || is_enough(&text) {
                return Some(text);
            }
        }
    }

    /// The names in a folder; those that are not UTF-8 are skipped.
    ///
    /// # Errors
    /// The folder does not exist or may not be read.
    pub fn names(&self, path: impl AsRef<Path>) -> io::Result<impl Iterator<Item = String>> {
        let entries = fs::read_dir(self.path(path))?;
        Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()))
    }

    /// The target of a symbolic link; `None` if it cannot be read.
    pub fn link(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        fs::read_link(self.path(path)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_read_up_to_the_cap() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("long"), vec![b'x'; FILE_BYTES as usize + 1]).unwrap();
        fs::write(root.path().join("bytes"), [b'a', 0xff]).unwrap();
        let files = Files::new(root.path());
        assert_eq!(files.read("/long").unwrap().len() as u64, FILE_BYTES);
        let some = files.read_until("/long", |text| text.len() > 5000).unwrap();
        assert_eq!(some.len(), 8192);
        assert_eq!(files.read_until("/none", |_| true), None);
        assert_eq!(files.read("bytes").as_deref(), Some("a\u{fffd}"));
        assert_eq!(files.read("/none"), None);
    }
}
