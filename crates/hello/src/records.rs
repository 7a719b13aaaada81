//! The record layer of the first message: walks the record headers and
//! reassembles a hello that is split over several records.

use crate::limits::Limits;
use crate::malformed::Malformed;
use crate::parse::HEADER;

/// Bytes of a record header: type, version, 16-bit length.
const RECORD_HEADER: usize = 5;
/// Source: RFC 8446, section 5.1.
const LONGEST_RECORD: usize = 1 << 14;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;

/// Walks the records as they arrive. A whole record is read once, so that the
/// work for each byte is constant, however slowly the bytes arrive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    /// Start of the first incomplete record.
    at: usize,
    /// Number of complete records.
    whole: usize,
    /// Message bytes in the complete records.
    passed: usize,
    /// The handshake header, as far as the complete records contain it.
    header: [u8; HEADER],
}

/// State of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// The hello does not end yet.
    Unfinished,
    /// It ends at the end of this many records.
    Finished { length: usize, records: usize },
}

impl Records {
    /// Continues over all bytes received so far, of which earlier calls saw a
    /// prefix. The first two bytes were recognised as those of a TLS record.
    pub(crate) fn walk(&mut self, raw: &[u8], limits: &Limits) -> Result<Walk, Malformed> {
        loop {
            let rest = raw.get(self.at..).unwrap_or_default();
            if let Some(kind) = rest.first()
                && *kind != HANDSHAKE
            {
                return Err(Malformed::UnexpectedRecord(*kind));
            }
            if let [_, major, minor, ..] = rest
                && *major != 3
            {
                return Err(Malformed::RecordVersion(u16::from_be_bytes([*major, *minor])));
            }
            let Some((header, payload)) = rest.split_at_checked(RECORD_HEADER) else {
                return Ok(Walk::Unfinished);
            };
            let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
            match length {
                0 => return Err(Malformed::EmptyRecord),
                1..=LONGEST_RECORD => {}
                _ => return Err(Malformed::RecordTooLong(length)),
            }
            let here = &payload[..length.min(payload.len())];
            if let Some(walk) = self.record(here, length, limits)? {
                return Ok(walk);
            }
        }
    }

    /// Reads one record of `length` bytes, of which `here` has arrived. None if
    /// it is complete and the walk continues after it.
    fn record(
        &mut self,
        here: &[u8],
        length: usize,
        limits: &Limits,
    ) -> Result<Option<Walk>, Malformed> {
        let mut header = self.header;
        for (slot, byte) in header.iter_mut().skip(self.passed).zip(here) {
            *slot = *byte;
        }
        let seen = self.passed + here.len();
        if seen > 0 && header[0] != CLIENT_HELLO {
            return Err(Malformed::NotClientHello(header[0]));
        }
        let message = (seen >= HEADER).then(|| {
            HEADER
                + usize::from(header[1]) * 65536
                + usize::from(header[2]) * 256
                + usize::from(header[3])
        });
        if message.is_some_and(|message| message + RECORD_HEADER > limits.bytes) {
            return Err(Malformed::TooLong { limit: limits.bytes });
        }
        if message.is_some_and(|message| self.passed + length > message) {
            return Err(Malformed::MoreThanOneMessage);
        }
        if here.len() < length {
            return Ok(Some(Walk::Unfinished));
        }
        let records = self.whole + 1;
        if message == Some(seen) {
            return Ok(Some(Walk::Finished { length: seen, records }));
        }
        self.header = header;
        self.passed = seen;
        self.whole = records;
        self.at += RECORD_HEADER + length;
        Ok(None)
    }
}

/// Reassembles the message from records whose headers were walked.
pub(crate) fn assemble(raw: &[u8], length: usize) -> Vec<u8> {
    let mut message = Vec::with_capacity(length);
    let mut rest = raw;
    while message.len() < length
        && let Some((header, payload)) = rest.split_at_checked(RECORD_HEADER)
    {
        let record = usize::from(u16::from_be_bytes([header[3], header[4]]));
        let (here, behind) = payload.split_at(record.min(payload.len()));
        message.extend_from_slice(&here[..here.len().min(length - message.len())]);
        rest = behind;
    }
    message
}

/// The same bytes with the message, which has this length, in as few records as possible.
/// What follows its last record stays.
pub(crate) fn join(raw: &[u8], length: usize) -> Vec<u8> {
    let version = raw.get(1..3).unwrap_or_default();
    let mut joined = Vec::with_capacity(raw.len());
    for content in assemble(raw, length).chunks(LONGEST_RECORD) {
        joined.push(HANDSHAKE);
        joined.extend_from_slice(version);
        let length = u16::try_from(content.len()).expect("at most 2^14");
        joined.extend_from_slice(&length.to_be_bytes());
        joined.extend_from_slice(content);
    }
    let end = length.checked_sub(1).and_then(|last| place_of(raw, last)).map_or(0, |at| at + 1);
    joined.extend_from_slice(raw.get(end..).unwrap_or_default());
    joined
}

/// The place in the received bytes of a byte of the message. The headers of the records
/// were walked.
pub(crate) fn place_of(raw: &[u8], offset: usize) -> Option<usize> {
    let (mut at, mut left) = (0, offset);
    loop {
        let header = raw.get(at..at + RECORD_HEADER)?;
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        at += RECORD_HEADER;
        if left < length {
            return Some(at + left);
        }
        (at, left) = (at + length, left - length);
    }
}
