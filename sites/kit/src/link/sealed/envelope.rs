//! The header of a sealed message, and the data that is associated with it.

use aws_lc_rs::aead::Nonce;

use super::keys::LONGEST_NAME;

/// Version of the form.
const VERSION: u8 = 1;
/// Bytes of a sender.
pub(super) const SENDER: usize = 16;
/// Bytes of a tag.
pub(super) const TAG: usize = 16;

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Direction {
    /// To the server.
    Request,
    /// To the client.
    Answer,
}

impl Direction {
    /// Its name, which derived keys and associated data contain.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Answer => "answer",
        }
    }
}

/// A message's identity: no other has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id {
    /// The process that sent it.
    pub(super) sender: [u8; SENDER],
    /// Its number there.
    pub(super) number: u64,
}

impl Id {
    pub(super) fn nonce(self) -> Nonce {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.number.to_be_bytes());
        Nonce::assume_unique_for_key(nonce)
    }
}

/// The header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header<'a> {
    /// Name of the key.
    pub(super) key: &'a [u8],
    /// Identity of the message.
    pub(super) id: Id,
    /// When it was sealed, milliseconds since 1970.
    pub(super) time_ms: u64,
}

impl<'a> Header<'a> {
    /// The header as bytes, with room for a body of `body` bytes and its tag.
    pub(super) fn write(&self, body: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(2 + self.key.len() + SENDER + 16 + body + TAG);
        bytes.push(VERSION);
        bytes.push(u8::try_from(self.key.len()).expect("names are short"));
        bytes.extend_from_slice(self.key);
        bytes.extend_from_slice(&self.id.sender);
        bytes.extend_from_slice(&self.id.number.to_be_bytes());
        bytes.extend_from_slice(&self.time_ms.to_be_bytes());
        bytes
    }

    /// Splits a message into header and the rest: the header, its length in bytes.
    pub(super) fn read(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let [VERSION, length, rest @ ..] = bytes else { return None };
        let length = usize::from(*length);
        if length == 0 || length > LONGEST_NAME {
            return None;
        }
        let (key, rest) = rest.split_at_checked(length)?;
        let (sender, rest) = rest.split_first_chunk::<SENDER>()?;
        let (number, rest) = rest.split_first_chunk::<8>()?;
        let (time, rest) = rest.split_first_chunk::<8>()?;
        if rest.len() < TAG {
            return None;
        }
        let id = Id { sender: *sender, number: u64::from_be_bytes(*number) };
        let header = Self { key, id, time_ms: u64::from_be_bytes(*time) };
        Some((header, bytes.len() - rest.len()))
    }
}

/// Where a message belongs. It is authenticated, and not sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    /// A request to this path, at this address.
    Request {
        /// Path of the operation.
        path: &'a str,
        /// Address and port of the server.
        to: &'a str,
    },
    /// The answer to a request of this path and identity, with this status.
    Answer {
        /// Path of the operation.
        path: &'a str,
        /// Status of the response.
        status: u16,
        /// The request.
        request: Id,
    },
}

impl Place<'_> {
    /// The direction.
    pub(super) fn direction(&self) -> Direction {
        match self {
            Self::Request { .. } => Direction::Request,
            Self::Answer { .. } => Direction::Answer,
        }
    }

    /// The associated data of a message with this header. Every part has its length
    /// before it, so that no two places have the same data.
    pub(super) fn associated(&self, header: &[u8]) -> Vec<u8> {
        let mut data = Vec::with_capacity(header.len() + 96);
        let mut part = |bytes: &[u8]| {
            data.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
            data.extend_from_slice(bytes);
        };
        part(self.direction().name().as_bytes());
        part(header);
        match self {
            Self::Request { path, to } => {
                part(path.as_bytes());
                part(to.as_bytes());
            }
            Self::Answer { path, status, request } => {
                part(path.as_bytes());
                part(&status.to_be_bytes());
                part(&request.sender);
                part(&request.number.to_be_bytes());
            }
        }
        data
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written_and_no_part_may_be_missing() {
        let id = Id { sender: [7; SENDER], number: 3 };
        let header = Header { key: b"key", id, time_ms: 99 };
        let mut bytes = header.write(0);
        let length = bytes.len();
        assert_eq!(length, 2 + 3 + 16 + 8 + 8);
        bytes.extend([0; TAG]);
        assert_eq!(Header::read(&bytes), Some((header, length)));
        for shorter in 0..bytes.len() {
            assert_eq!(Header::read(&bytes[..shorter]), None, "{shorter}");
        }
        for (at, value) in [(0, 2), (1, 0), (1, 33)] {
            let mut other = bytes.clone();
            other.extend([0; 64]);
            other[at] = value;
            assert_eq!(Header::read(&other), None, "{at}");
        }
    }

    #[test]
    fn no_two_places_have_the_same_associated_data() {
        let (one, two) =
            (Id { sender: [1; SENDER], number: 1 }, Id { sender: [1; SENDER], number: 2 });
        let places = [
            Place::Request { path: "/a", to: "b" },
            Place::Request { path: "/ab", to: "" },
            Place::Request { path: "/b", to: "b" },
            Place::Request { path: "/a", to: "c" },
            Place::Answer { path: "/a", status: 200, request: one },
            Place::Answer { path: "/a", status: 404, request: one },
            Place::Answer { path: "/b", status: 200, request: one },
            Place::Answer { path: "/a", status: 200, request: two },
        ];
        for (index, place) in places.iter().enumerate() {
            for other in &places[..index] {
                assert_ne!(place.associated(b"h"), other.associated(b"h"), "{place:?} {other:?}");
            }
        }
        assert_ne!(places[0].associated(b"h"), places[0].associated(b"i"));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = Header::read(&bytes);
        }
    }
}
