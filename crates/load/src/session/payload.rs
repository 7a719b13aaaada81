//! The body of a request: pieces one after the other, so that the files in it are shared.

use bytes::Bytes;

/// The body of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Payload(Vec<Bytes>);

impl Payload {
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, piece: impl Into<Bytes>) {
        let piece = piece.into();
        if !piece.is_empty() {
            self.0.push(piece);
        }
    }

    /// Writes all of it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|piece| out.extend_from_slice(piece));
    }

    /// All of it as text.
    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl From<String> for Payload {
    fn from(text: String) -> Self {
        let mut payload = Self::default();
        payload.push(text);
        payload
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        let mut payload = Self::default();
        payload.push(bytes);
        payload
    }
}
