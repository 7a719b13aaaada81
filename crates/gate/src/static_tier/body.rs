//! A file that is sent piece by piece: a piece is read when the HTTP library has room for it.

use crate::static_tier::disk::Disk;
use bytes::Bytes;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Bytes that are read at once. A slow reader keeps a few pieces in memory: as many as the HTTP
/// library has room for, as of any response.
const PIECE: u64 = 32 << 10;

type Piece = Pin<Box<dyn Future<Output = io::Result<Bytes>>>>;

/// A part of a file on its way.
pub struct FileBody {
    file: Arc<File>,
    at: u64,
    end: u64,
    disk: Rc<Disk>,
    reading: Option<Piece>,
}

impl FileBody {
    /// The bytes of a file from `at` up to `end`.
    pub fn new(file: Arc<File>, at: u64, end: u64, disk: Rc<Disk>) -> Self {
        Self { file, at, end, disk, reading: None }
    }

    /// How many bytes are still to come.
    pub fn remaining(&self) -> u64 {
        self.end - self.at
    }

    /// The next piece; none after the last.
    ///
    /// # Errors
    /// The file cannot be read, or has become shorter.
    pub fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.remaining() == 0 {
            return Poll::Ready(None);
        }
        let Self { file, at, disk, reading, .. } = self;
        let length = (self.end - *at).min(PIECE) as usize;
        let piece = reading.get_or_insert_with(|| {
            let (file, at) = (file.clone(), *at);
            Box::pin(disk.work(move || {
                let mut bytes = vec![0; length];
                file.read_exact_at(&mut bytes, at)?;
                Ok(bytes.into())
            }))
        });
        let read = ready!(piece.as_mut().poll(cx));
        self.reading = None;
        if let Ok(bytes) = &read {
            self.at += bytes.len() as u64;
        }
        Poll::Ready(Some(read))
    }
}
