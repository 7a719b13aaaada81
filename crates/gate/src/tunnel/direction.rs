//! One direction of a tunnel: what one side sends on its way to the other. No more is read before
//! what was read has been sent, and memory is held only while something waits.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Most bytes that are read at once, and so that wait.
const PIECE: usize = 16 * 1024;

/// What one side sends on its way to the other.
#[derive(Debug, Default)]
pub struct Direction {
    /// Read, and not yet taken by the other side: from here on.
    waiting: Vec<u8>,
    taken: usize,
    /// The sender has ended.
    ended: bool,
    /// The receiver has been told so.
    over: bool,
    /// The receiver takes nothing at the moment.
    blocked: bool,
}

/// Which side broke.
#[derive(Debug)]
pub struct Broken(#[allow(dead_code, reason = "shown in logs")] pub io::Error);

impl Direction {
    /// A direction in which these bytes wait.
    pub fn new(waiting: Vec<u8>) -> Self {
        Self { waiting, ..Self::default() }
    }

    /// Whether the sender has ended, and the receiver knows.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Whether the sender has ended.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the receiver takes nothing at the moment.
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Adds bytes of the gate's own behind what waits.
    pub fn add(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// Moves bytes until one side has to be waited for. `pass` is shown what is read, and returns
    /// how much of it goes on; the rest is discarded. Returns how many bytes were moved.
    ///
    /// # Errors
    /// One side broke.
    pub fn poll(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
        mut pass: impl FnMut(&[u8], &mut Vec<u8>) -> usize,
    ) -> Result<u64, Broken> {
        let mut moved = 0;
        while !self.over {
            self.blocked = true;
            while self.taken < self.waiting.len() {
                match Pin::new(&mut *to).poll_write(cx, &self.waiting[self.taken..]) {
                    Poll::Pending => return Ok(moved),
                    Poll::Ready(Ok(0)) => return Err(Broken(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(taken)) => {
                        self.taken += taken;
                        moved += taken as u64;
                    }
                    Poll::Ready(Err(error)) => return Err(Broken(error)),
                }
            }
            (self.waiting, self.taken) = (Vec::new(), 0);
            match Pin::new(&mut *to).poll_flush(cx) {
                Poll::Pending => return Ok(moved),
                Poll::Ready(flushed) => flushed.map_err(Broken)?,
            }
            if self.ended {
                match Pin::new(&mut *to).poll_shutdown(cx) {
                    Poll::Pending => return Ok(moved),
                    // The receiver may have closed meanwhile.
                    Poll::Ready(_) => self.over = true,
                }
                continue;
            }
            self.blocked = false;
            let mut piece = [const { MaybeUninit::uninit() }; PIECE];
            let mut piece = ReadBuf::uninit(&mut piece);
            match Pin::new(&mut *from).poll_read(cx, &mut piece) {
                Poll::Pending => return Ok(moved),
                Poll::Ready(read) => read.map_err(Broken)?,
            }
            let bytes = piece.filled();
            if bytes.is_empty() {
                self.ended = true;
                continue;
            }
            moved += 1;
            let passed = pass(bytes, &mut self.waiting);
            let mut rest = &bytes[..passed];
            if self.waiting.is_empty() && !rest.is_empty() {
                match Pin::new(&mut *to).poll_write(cx, rest) {
                    Poll::Ready(Ok(taken)) => {
                        rest = &rest[taken..];
                        moved += taken as u64;
                    }
                    Poll::Ready(Err(error)) => return Err(Broken(error)),
                    Poll::Pending => {}
                }
                self.waiting.extend_from_slice(rest);
            } else {
                // What `pass` adds goes behind what it lets pass.
                self.waiting.splice(0..0, rest.iter().copied());
            }
        }
        self.blocked = false;
        Ok(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test]
    async fn no_more_is_read_than_the_receiver_takes() {
        let (mut sender, mut from) = duplex(1 << 20);
        let (mut to, mut receiver) = duplex(100);
        sender.write_all(&[7; 100_000]).await.unwrap();
        let mut direction = Direction::default();
        let mut read = 0;
        let mut move_on = |direction: &mut Direction| {
            let cx = &mut Context::from_waker(Waker::noop());
            direction.poll(cx, &mut from, &mut to, |bytes, _| {
                read += bytes.len();
                bytes.len()
            })
        };
        move_on(&mut direction).unwrap();
        assert!(direction.is_blocked());
        move_on(&mut direction).unwrap();
        let mut taken = vec![0; 50];
        receiver.read_exact(&mut taken).await.unwrap();
        move_on(&mut direction).unwrap();
        assert_eq!(read, PIECE, "one piece waits, and no second is read");
    }

    #[tokio::test]
    async fn the_end_of_the_sender_reaches_the_receiver_behind_the_last_byte() {
        let (mut sender, mut from) = duplex(100);
        let (mut to, mut receiver) = duplex(100);
        sender.write_all(b"last").await.unwrap();
        drop(sender);
        let mut direction = Direction::new(b"the ".to_vec());
        let cx = &mut Context::from_waker(Waker::noop());
        direction.poll(cx, &mut from, &mut to, |bytes, _| bytes.len()).unwrap();
        assert!(direction.is_over() && direction.has_ended());
        let mut text = String::new();
        receiver.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "the last");
        assert_eq!(direction.waiting.capacity(), 0, "an idle direction has no memory");
    }
}
