//! The reader: takes bytes as they arrive and says where the hello stands.

use crate::client_hello::ClientHello;
use crate::limits::Limits;
use crate::looks::{self, Looks, Start};
use crate::malformed::Malformed;
use crate::parse;
use crate::records::{Records, Walk, assemble};

/// Reads one ClientHello. It keeps all bytes it was given, so that they can
/// be fed to a TLS library afterwards.
///
/// The answer depends only on the bytes, never on how they were split: the
/// answer to a stream is that to its shortest prefix that needs no more.
#[derive(Clone, Debug)]
pub struct Reader {
    limits: Limits,
    raw: Vec<u8>,
    records: Records,
    /// The first bytes were judged to be TLS.
    tls: bool,
}

impl Reader {
    /// A reader that holds nothing yet, and allocates nothing before the
    /// first byte.
    pub fn new(limits: Limits) -> Self {
        Self { limits, raw: Vec::new(), records: Records::default(), tls: false }
    }

    /// Takes what arrived and answers for all bytes so far.
    ///
    /// Bytes behind the hello that came together with its end are kept and
    /// not looked at. After an answer other than [`Progress::NeedsMore`] the
    /// caller should stop; further bytes are still kept and answered in the
    /// same way until [`Limits::bytes`] are held. From then on they are dropped
    /// and answered with [`Malformed::TooLong`], so that the reader never holds
    /// more than the cap and one piece.
    pub fn push(&mut self, bytes: &[u8]) -> Progress {
        let limit = self.limits.bytes;
        if !self.raw.is_empty() && self.raw.len() >= limit {
            return Progress::Malformed(Malformed::TooLong { limit });
        }
        self.keep(bytes);
        let within = &self.raw[..self.raw.len().min(limit)];
        if !self.tls {
            match looks::judge(within) {
                Start::Undecided => return self.unfinished(),
                Start::Other(looks) => return Progress::NotTls(looks),
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

    /// Exact for the first piece, as most hellos come in one; doubling after
    /// that, never beyond the cap.
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

/// Where the hello stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All is well so far, and the hello does not end yet.
    NeedsMore,
    /// A whole, well-formed hello.
    Complete(ClientHello),
    /// These bytes can never become TLS.
    NotTls(Looks),
    /// TLS, but no usable hello.
    Malformed(Malformed),
}
