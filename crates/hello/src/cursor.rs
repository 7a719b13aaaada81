//! A cursor over a message that returns positions rather than copies.

use crate::malformed::Fault;

/// A part of the message: `start..end`. The default means "absent": no field can
/// start at 0, where the message has its header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// Where no part of a message can be; empty.
    pub(crate) const NOWHERE: Self = Self { start: u32::MAX, end: u32::MAX };

    /// `end` is at most 2^24 + 3, the longest handshake message.
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    pub(crate) fn is_present(self) -> bool {
        self.start != 0
    }

    pub(crate) fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// The bytes of this part; empty if absent.
    pub(crate) fn of(self, message: &[u8]) -> &[u8] {
        message.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    pub(crate) fn of_mut(self, message: &mut [u8]) -> &mut [u8] {
        message.get_mut(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// A cursor over this part.
    pub(crate) fn cursor(self, message: &[u8]) -> Cursor<'_> {
        let end = (self.end as usize).min(message.len());
        Cursor { message, at: (self.start as usize).min(end), end }
    }
}

/// Reads numbers and length-prefixed vectors, never beyond its part.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    message: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.end
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<Span, Fault> {
        if length > self.end - self.at {
            return Err(Fault::Truncated);
        }
        let span = Span::new(self.at, self.at + length);
        self.at += length;
        Ok(span)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Fault> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Fault> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// A vector behind an 8-bit length.
    pub(crate) fn vector8(&mut self) -> Result<Span, Fault> {
        let length = self.u8()?;
        self.take(usize::from(length))
    }

    /// A vector behind a 16-bit length.
    pub(crate) fn vector16(&mut self) -> Result<Span, Fault> {
        let length = self.u16()?;
        self.take(usize::from(length))
    }

    /// The remaining bytes.
    pub(crate) fn rest(&mut self) -> Span {
        let span = Span::new(self.at, self.end);
        self.at = self.end;
        span
    }

    /// A cursor over a part of the same message.
    pub(crate) fn over(&self, span: Span) -> Cursor<'a> {
        span.cursor(self.message)
    }

    pub(crate) fn bytes(&self, span: Span) -> &'a [u8] {
        span.of(self.message)
    }

    /// Checks that no bytes remain.
    pub(crate) fn finish(&self) -> Result<(), Fault> {
        if self.is_empty() { Ok(()) } else { Err(Fault::TrailingBytes) }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let left = self.message.get(self.at..self.end).ok_or(Fault::Truncated)?;
        let array = left.first_chunk::<N>().ok_or(Fault::Truncated)?;
        self.at += N;
        Ok(*array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_longer_than_its_enclosure_is_truncated() {
        let message = [0, 0, 3, 1, 2];
        let mut cursor = Span::new(1, 5).cursor(&message);
        assert_eq!(cursor.clone().vector16(), Err(Fault::Truncated));
        assert_eq!(cursor.u8(), Ok(0));
        assert_eq!(cursor.vector8(), Err(Fault::Truncated));
    }

    #[test]
    fn an_absent_part_is_empty_and_never_read() {
        assert!(!Span::default().is_present());
        assert_eq!(Span::default().of(&[1, 2, 3]), []);
        assert_eq!(Span::default().cursor(&[1, 2, 3]).u8(), Err(Fault::Truncated));
    }
}
