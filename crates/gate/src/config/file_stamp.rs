//! Tells whether a file was changed or replaced, without reading it.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Device, inode, size, and the time of the last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp(u64, u64, u64, i64, i64);

impl FileStamp {
    /// Of the file at a path, through symbolic links; `None` if there is none.
    pub fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().as_ref().map(Self::from)
    }

    /// Of an open file.
    pub fn of_open(file: &File) -> Option<Self> {
        file.metadata().ok().as_ref().map(Self::from)
    }
}

impl From<&Metadata> for FileStamp {
    fn from(meta: &Metadata) -> Self {
        Self(meta.dev(), meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec())
    }
}
