//! A file of a static tier, with its compressed forms.

use crate::config::file_stamp::FileStamp;
use crate::static_tier::coding::Coding;
use bytes::Bytes;
use http::header::HeaderValue;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A file as it was when it was found.
#[derive(Debug)]
pub struct StaticFile {
    /// Its `Content-Type`.
    pub content_type: HeaderValue,
    /// When it was last changed, in seconds since 1970; never after it was found.
    pub modified: u64,
    /// The same as `Last-Modified`.
    pub last_modified: HeaderValue,
    /// Its forms, in the order of [`Coding::ALL`]. It has one as it is.
    pub forms: [Option<Form>; Coding::ALL.len()],
    /// The files of these forms as they were.
    pub stamps: Stamps,
}

/// The files of all forms; none where there is no such file.
pub type Stamps = [Option<FileStamp>; Coding::ALL.len()];

impl StaticFile {
    /// The form with this coding, if there is one.
    pub fn form(&self, coding: Coding) -> Option<&Form> {
        self.forms[coding as usize].as_ref()
    }

    /// Whether all of it is in memory.
    pub fn is_in_memory(&self) -> bool {
        self.forms.iter().flatten().all(|form| matches!(form.content, Content::Memory(_)))
    }

    /// Whether it has compressed forms, so that a response depends on what the client accepts.
    pub fn is_negotiated(&self) -> bool {
        self.form(Coding::Brotli).is_some() || self.form(Coding::Gzip).is_some()
    }
}

/// The content of a file in one coding.
#[derive(Debug)]
pub struct Form {
    /// Its length in bytes.
    pub length: u64,
    /// Its strong validator, in quotes.
    pub etag: HeaderValue,
    /// The bytes.
    pub content: Content,
}

/// Where bytes are.
#[derive(Debug)]
pub enum Content {
    /// In memory.
    Memory(Bytes),
    /// In an open file.
    Disk(Arc<File>),
}

/// Memory that files use, in bytes: counted from when they are read until nobody sends them any
/// more, in the cache or not.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<AtomicUsize>);

impl Memory {
    /// How much is used.
    pub fn used(&self) -> usize {
        self.0.load(Relaxed)
    }

    /// These bytes, which are counted as long as anybody has them.
    pub fn counted(&self, bytes: Vec<u8>) -> Bytes {
        self.0.fetch_add(bytes.len(), Relaxed);
        Bytes::from_owner(Counted { bytes, memory: self.clone() })
    }
}

struct Counted {
    bytes: Vec<u8>,
    memory: Memory,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.memory.0.fetch_sub(self.bytes.len(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted_until_the_last_reader_is_done() {
        let memory = Memory::default();
        let bytes = memory.counted(vec![0; 100]);
        let part = bytes.slice(10..20);
        drop(bytes);
        assert_eq!(memory.used(), 100);
        drop(part);
        assert_eq!(memory.used(), 0);
    }
}
