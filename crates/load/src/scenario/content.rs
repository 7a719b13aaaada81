//! Bytes that customers send as they are: of a file, of a command line, or decoded.

use std::fmt;

use bytes::Bytes;

use crate::fnv::Fnv;

/// Largest content of one file, in bytes.
pub const LARGEST: u64 = 16 << 20;

/// Bytes that are sent as they are. A clone shares them.
#[derive(Clone, PartialEq, Eq)]
pub struct Content(Bytes);

impl Content {
    /// The bytes, without a copy.
    pub(crate) fn bytes(&self) -> Bytes {
        self.0.clone()
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

/// Shows a digest in place of the bytes: there may be millions.
impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digest = Fnv::default();
        digest.add(&self.0);
        write!(f, "Content({} bytes, {digest})", self.0.len())
    }
}

/// A file that a form sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePart {
    /// Its name there.
    pub name: String,
    /// Its media type.
    pub content_type: String,
    /// What is in it.
    pub content: Content,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_differs_where_a_byte_does_and_is_short() {
        let shown = |bytes: &[u8]| format!("{:?}", Content::from(bytes.to_vec()));
        assert_eq!(shown(b"\0a"), shown(b"\0a"));
        assert_ne!(shown(b"\0a"), shown(b"\0b"));
        assert!(shown(&[0xff; 100_000]).len() < 60);
    }
}
