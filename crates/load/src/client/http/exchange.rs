//! One request, one answer, every byte timed: over HTTP/1.1 here, over HTTP/2
//! next door.
//!
//! Source: RFC 9112, sections 6 (message body) and 9 (connections).

use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::time::Instant;

use tokio::io::ReadBuf;

use super::body::Body;
use super::head::{Fields, LastHead};
use crate::client::connection::Connection;
use crate::client::wire::Wire;
use crate::outcome::{Failure, Stage};

/// Largest head of an answer.
pub(crate) const LARGEST_HEAD: usize = 64 * 1024;
/// Bytes read at once: a TLS record.
const READ: usize = 16 * 1024;

/// One request on its way.
pub(crate) struct Exchange<'a> {
    /// Head and body as they go out.
    pub(crate) bytes: &'a [u8],
    /// When they do.
    pub(crate) sent: Instant,
    /// The answer has no body.
    pub(crate) head_only: bool,
    /// Header fields of the answer that are wanted, in lower case.
    pub(crate) headers: &'a [String],
    /// Where up to [`KEPT`](super::body::KEPT) bytes of the body go, if they are needed.
    pub(crate) keep: Option<&'a mut Vec<u8>>,
    /// Scratch space, empty, reused from request to request.
    pub(crate) buffer: &'a mut Vec<u8>,
    /// Of the answers before.
    pub(crate) last_head: &'a LastHead,
    /// Follows how far it has come.
    pub(crate) stage: &'a Cell<Stage>,
}

/// An answer without its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The connection is good for another request.
    pub(crate) reusable: bool,
    pub(crate) fields: Option<Box<Fields>>,
    pub(crate) sent: Instant,
    pub(crate) first_byte: Instant,
    pub(crate) last_byte: Instant,
    pub(crate) received_bytes: u64,
}

impl Answer {
    /// Whether it leads elsewhere.
    pub(crate) fn is_redirect(&self) -> bool {
        matches!(self.status, 301 | 302 | 303 | 307 | 308)
    }

    /// The header fields that were wanted.
    pub(crate) fn headers(&self) -> &[(String, String)] {
        self.fields.as_ref().map_or(&[], |fields| &fields.headers)
    }
}

/// Why there is no whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) failure: Failure,
    /// No byte of an answer came: if the connection was an old one, the
    /// server had probably closed it before the request arrived.
    pub(crate) unanswered: bool,
}

impl Exchange<'_> {
    /// Sends the request and takes in the answer.
    pub(crate) async fn run(self, connection: &mut Connection) -> Result<Answer, Broken> {
        match connection {
            Connection::Http1(wire) => self.over_http1(wire).await,
            // Boxed, so that customers of HTTP/1.1 hold no room for it.
            Connection::Http2(http2) => Box::pin(http2.run(self)).await,
        }
    }

    async fn over_http1(mut self, connection: &mut Wire) -> Result<Answer, Broken> {
        self.stage.set(Stage::FirstByte);
        self.buffer.clear();
        let sent = self.sent;
        connection
            .send(self.bytes)
            .await
            .map_err(|error| Broken { failure: failure(&error), unanswered: true })?;
        let mut first_byte = None;
        // When the last bytes came.
        let mut came = sent;
        let mut received_bytes = 0u64;
        let answered =
            |first: Option<Instant>, failure| Broken { failure, unanswered: first.is_none() };
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
        let broken = |failure| Broken { failure, unanswered: false };
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

async fn read(connection: &mut Wire, buffer: &mut Vec<u8>) -> io::Result<usize> {
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

pub(crate) fn failure(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Failure::Reset,
        io::ErrorKind::UnexpectedEof | io::ErrorKind::NotConnected => Failure::Closed,
        io::ErrorKind::TimedOut => Failure::ConnectTimeout,
        io::ErrorKind::InvalidData => Failure::Tls,
        _ => Failure::Other,
    }
}
