//! Bytes on their way. Their buffers are there only while there are any; a thread
//! keeps the free ones.

use std::cell::RefCell;

use tokio::io::ReadBuf;

/// Bytes of a buffer: more than the largest record.
pub(super) const BUFFER: usize = 32 * 1024;
/// Most free buffers that a thread keeps.
const FREE: usize = 16;

thread_local! {
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// What is on its way over one connection.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// What has come and is not decrypted: a part of a record.
    pub(super) incoming: Held,
    /// What is encrypted and not sent.
    pub(super) outgoing: Held,
    /// Decrypted bytes that were not read yet.
    pub(super) plain: Held,
    /// close_notify was received.
    pub(super) ended: bool,
}

/// What the records that have come lead to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Something is decrypted.
    Plain,
    /// A ticket of TLS 1.3: the server's message, without its head.
    Ticket(Vec<u8>),
    /// close_notify.
    Ended,
    /// More has to come.
    More,
    /// Something has to be sent.
    Send,
    /// More has to come, or be sent: the handshake is complete.
    Traffic,
}

/// Bytes in a buffer.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Longer than what it holds.
    buffer: Vec<u8>,
    from: usize,
    to: usize,
}

impl Held {
    pub(super) fn is_empty(&self) -> bool {
        self.from == self.to
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.from..self.to]
    }

    pub(super) fn space(&mut self) -> &mut [u8] {
        &mut self.buffer[self.to..]
    }

    pub(super) fn add(&mut self, count: usize) {
        self.to += count;
        self.release_memory();
    }

    pub(super) fn discard(&mut self, count: usize) {
        self.from += count;
        self.release_memory();
    }

    pub(super) fn clear(&mut self) {
        self.discard(self.to - self.from);
    }

    /// Gives the buffer back, if it holds nothing.
    fn release_memory(&mut self) {
        if self.is_empty() && !self.buffer.is_empty() {
            (self.from, self.to) = (0, 0);
            give(std::mem::take(&mut self.buffer));
        }
    }

    /// Makes space for at least `wanted` bytes, or says that it would hold more
    /// than `most`.
    pub(super) fn make_space(&mut self, wanted: usize, most: usize) -> bool {
        if self.buffer.is_empty() {
            self.buffer = take();
        }
        if self.buffer.len() - self.to < wanted && self.from > 0 {
            self.buffer.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        if self.buffer.len() - self.to < wanted {
            if self.to + wanted > most {
                return false;
            }
            self.buffer.resize(self.to + wanted, 0);
        }
        true
    }

    /// Appends decrypted bytes to the reader's buffer and keeps what does not fit.
    pub(super) fn pass(&mut self, mut bytes: &[u8], buf: Option<&mut ReadBuf<'_>>) {
        if let Some(buf) = buf
            && self.is_empty()
        {
            let count = bytes.len().min(buf.remaining());
            buf.put_slice(&bytes[..count]);
            bytes = &bytes[count..];
        }
        if !bytes.is_empty() {
            self.make_space(bytes.len(), usize::MAX);
            self.space()[..bytes.len()].copy_from_slice(bytes);
            self.add(bytes.len());
        }
    }

    /// Moves what fits; whether there was any.
    pub(super) fn move_to(&mut self, buf: &mut ReadBuf<'_>) -> bool {
        let count = buf.remaining().min(self.to - self.from);
        buf.put_slice(&self.buffer[self.from..self.from + count]);
        self.discard(count);
        count > 0
    }

    /// Bytes of its buffer.
    #[cfg(test)]
    pub(super) fn takes(&self) -> usize {
        self.buffer.len()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        give(std::mem::take(&mut self.buffer));
    }
}

fn take() -> Vec<u8> {
    BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_else(|| vec![0; BUFFER])
}

fn give(buffer: Vec<u8>) {
    if buffer.len() == BUFFER {
        // At its end a thread has no place for them any more.
        let _ = BUFFERS.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < FREE {
                free.push(buffer);
            }
        });
    }
}
