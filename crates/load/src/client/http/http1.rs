//! HTTP/1.1 as a client: one exchange on a connection.
//!
//! Source: RFC 9112, sections 6 (message body) and 9 (connections).

use std::io;
use std::mem::MaybeUninit;
use std::time::Instant;

use tokio::io::ReadBuf;

use super::body::Body;
use super::exchange::{Answer, Exchange, ExchangeError, LARGEST_HEAD, Progress, failure};
use crate::client::transport::Transport;
use crate::outcome::{Failure, Stage};

/// Bytes per read: a TLS record.
const READ: usize = 16 * 1024;

impl Exchange<'_> {
    /// Sends the request over HTTP/1.1 and reads the response.
    ///
    /// # Errors
    /// There is no complete response.
    pub(crate) async fn over_http1(
        mut self,
        connection: &mut Transport,
    ) -> Result<Answer, ExchangeError> {
        self.stage.set(Stage::FirstByte);
        self.buffer.clear();
        let sent = self.sent;
        connection
            .send(self.bytes)
            .await
            // A part of it may have been sent.
            .map_err(|error| ExchangeError {
                failure: failure(&error),
                progress: Progress::Unanswered,
            })?;
        let mut first_byte = None;
        // When the last bytes came.
        let mut came = sent;
        let mut received_bytes = 0u64;
        let answered = |first: Option<Instant>, failure| ExchangeError {
            failure,
            progress: if first.is_none() { Progress::Unanswered } else { Progress::Answered },
        };
        // Head, past interim answers.
        let mut searched = 0;
        let (head, mut answer) = loop {
            // A head that comes byte by byte is not parsed at every byte.
            let whole =
                !self.buffer.is_empty() && (searched == 0 || ends_head(&self.buffer[searched..]));
            searched = self.buffer.len().saturating_sub(3);
            let parsed = if whole {
                self.last_head.parse(self.buffer, self.head_only, self.headers)
            } else {
                Ok(None)
            };
            match parsed {
                Ok(Some((used, head))) if head.status >= 200 => break (used, head),
                Ok(Some((_, head))) if head.status == 101 => {
                    return Err(answered(first_byte, Failure::Http));
                }
                Ok(Some((used, _))) => {
                    self.buffer.drain(..used);
                    searched = 0;
                    continue;
                }
                Ok(None) if self.buffer.len() > LARGEST_HEAD => {
                    return Err(answered(first_byte, Failure::Http));
                }
                Ok(None) => {}
                Err(()) => return Err(answered(first_byte, Failure::Http)),
            }
            let read = read(connection, self.buffer).await;
            match read {
                Ok(0) => return Err(answered(first_byte, Failure::Closed)),
                Ok(count) => received_bytes += count as u64,
                Err(error) => return Err(answered(first_byte, failure(&error))),
            }
            came = Instant::now();
            if first_byte.is_none() {
                first_byte = Some(came);
                self.stage.set(Stage::LastByte);
            }
        };
        let shown = &self.buffer[..head];
        let shown = self.watch.head(answer.status, |seen| seen.extend_from_slice(shown));
        self.keep = self.keep.take().or(shown);
        let broken = |failure| ExchangeError { failure, progress: Progress::Answered };
        let mut body = answer.body;
        let mut from = head;
        loop {
            let used = body.take(&self.buffer[from..], &mut self.keep).map_err(broken)?;
            from += used;
            if body.is_done() {
                break;
            }
            self.buffer.clear();
            from = 0;
            match read(connection, self.buffer).await {
                Ok(0) if matches!(body, Body::UntilClose) => {
                    came = Instant::now();
                    break;
                }
                Ok(0) => return Err(broken(Failure::Closed)),
                Ok(count) => {
                    received_bytes += count as u64;
                    came = Instant::now();
                }
                // Many servers close without close_notify, which rustls
                // calls an unexpected end.
                Err(error)
                    if matches!(body, Body::UntilClose)
                        && error.kind() == io::ErrorKind::UnexpectedEof =>
                {
                    came = Instant::now();
                    break;
                }
                Err(error) => return Err(broken(failure(&error))),
            }
        }
        let last_byte = came;
        // Bytes beyond the answer: the peer is out of step.
        let in_step = from == self.buffer.len();
        answer.reusable &= in_step && !matches!(body, Body::UntilClose);
        Ok(Answer {
            status: answer.status,
            reusable: answer.reusable,
            coding: answer.coding,
            fields: answer.fields,
            sent,
            first_byte: first_byte.unwrap_or(last_byte),
            last_byte,
            received_bytes,
        })
    }
}

/// Whether an empty line ends here somewhere.
fn ends_head(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"\n\r\n").is_some()
        || memchr::memmem::find(bytes, b"\n\n").is_some()
}

async fn read(connection: &mut Transport, buffer: &mut Vec<u8>) -> io::Result<usize> {
    buffer.reserve(READ);
    std::future::poll_fn(|cx| {
        let spare: &mut [MaybeUninit<u8>] = buffer.spare_capacity_mut();
        let mut space = ReadBuf::uninit(spare);
        let poll = connection.poll_read(cx, &mut space);
        let filled = space.filled().len();
        poll.map(|result| {
            result.map(|()| {
                // SAFETY: the first `filled` bytes of the spare capacity are
                // initialised, as ReadBuf guarantees for its filled part.
                unsafe { buffer.set_len(buffer.len() + filled) };
                filled
            })
        })
    })
    .await
}
