//! The reader: takes bytes as they arrive and returns the state of the hello.

use crate::client_hello::ClientHello;
use crate::limits::Limits;
use crate::malformed::Malformed;
use crate::other_protocol::{self, OtherProtocol, Start};
use crate::parse;
use crate::records::{Records, Walk, assemble, join};

/// Reads one ClientHello. It keeps all bytes, so that they can be passed to a
/// TLS library afterwards.
///
/// The result depends only on the bytes, not on how they were split: the result
/// of a stream is that of its shortest prefix that needs no more bytes.
#[derive(Clone, Debug)]
pub struct Reader {
    limits: Limits,
    raw: Vec<u8>,
    records: Records,
    /// The first bytes were recognised as TLS.
    tls: bool,
}

impl Reader {
    /// An empty reader. It allocates nothing before the first byte.
    pub fn new(limits: Limits) -> Self {
        Self { limits, raw: Vec::new(), records: Records::default(), tls: false }
    }

    /// Adds bytes and returns the state after all bytes so far.
    ///
    /// Bytes after the hello that arrive with its end are kept and not read.
    /// After a result other than [`Progress::NeedsMore`] the caller should stop;
    /// further bytes are still kept, with the same result, until
    /// [`Limits::bytes`] are held. From then on they are dropped, and the result
    /// is [`Malformed::TooLong`], so that the reader never holds more than the
    /// cap and one piece.
    pub fn push(&mut self, bytes: &[u8]) -> Progress {
        let limit = self.limits.bytes;
        if !self.raw.is_empty() && self.raw.len() >= limit {
            return Progress::Malformed(Malformed::TooLong { limit });
        }
        self.keep(bytes);
        let within = &self.raw[..self.raw.len().min(limit)];
        if !self.tls {
            match other_protocol::classify(within) {
                Start::Undecided => return self.unfinished(),
                Start::Other(protocol) => return Progress::NotTls(protocol),
                Start::Tls => self.tls = true,
            }
        }
        match self.records.walk(within, &self.limits) {
            Err(malformed) => Progress::Malformed(malformed),
            Ok(Walk::Unfinished) => self.unfinished(),
            Ok(Walk::Finished { length, records }) => {
                match parse::parse(assemble(within, length), records, &self.limits) {
                    Ok(hello) => Progress::Complete(hello),
                    Err(malformed) => Progress::Malformed(malformed),
                }
            }
        }
    }

    /// Everything pushed so far, verbatim.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Everything pushed, verbatim, without a copy.
    pub fn into_raw(self) -> Vec<u8> {
        self.raw
    }

    /// Everything pushed, with the hello in one record, or as few as hold it: a TLS
    /// library takes time that grows with the square of their number.
    pub fn into_joined(self, hello: &ClientHello) -> Vec<u8> {
        match hello.records() {
            0 | 1 => self.raw,
            _ => join(&self.raw, hello.length()),
        }
    }

    /// Allocates exactly for the first piece, since most hellos arrive in one;
    /// doubles after that, never beyond the cap.
    fn keep(&mut self, bytes: &[u8]) {
        let needed = self.raw.len() + bytes.len();
        if needed > self.raw.capacity() {
            let room = needed.max((2 * self.raw.len()).min(self.limits.bytes));
            self.raw.reserve_exact(room - self.raw.len());
        }
        self.raw.extend_from_slice(bytes);
    }

    fn unfinished(&self) -> Progress {
        let limit = self.limits.bytes;
        if self.raw.len() >= limit {
            Progress::Malformed(Malformed::TooLong { limit })
        } else {
            Progress::NeedsMore
        }
    }
}

/// State of the hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Well-formed so far, and the hello does not end yet.
    NeedsMore,
    /// A whole, well-formed hello.
    Complete(ClientHello),
    /// These bytes can never become TLS.
    NotTls(OtherProtocol),
    /// TLS, but not a usable hello.
    Malformed(Malformed),
}
