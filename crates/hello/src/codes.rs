//! Lists of 16-bit code points in wire format.

use std::fmt;

/// A list of 16-bit code points (versions, suites, groups, schemes), in the
/// client's order, GREASE values included. Borrowed; nothing is copied.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Codes<'a>(&'a [[u8; 2]]);

impl<'a> Codes<'a> {
    /// Reads big-endian pairs; a last odd byte is ignored.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.as_chunks().0)
    }

    /// The code points in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = u16> + DoubleEndedIterator + Clone + 'a {
        self.0.iter().map(|pair| u16::from_be_bytes(*pair))
    }

    /// Whether the list contains this code point.
    pub fn contains(self, code: u16) -> bool {
        self.0.contains(&code.to_be_bytes())
    }

    /// Number of code points.
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// Whether the list is empty, which means absent: no list on the wire may be
    /// empty.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The code points as a vector.
    pub fn to_vec(self) -> Vec<u16> {
        self.iter().collect()
    }
}

impl fmt::Debug for Codes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.iter().map(|code| format_args!("{code:#06x}").to_string()))
            .finish()
    }
}

/// Whether this is a GREASE value, which clients send to keep servers tolerant.
/// Versions, suites, groups, schemes and extensions share one pattern.
///
/// Source: RFC 8701, section 2.
pub fn is_grease(code: u16) -> bool {
    let [high, low] = code.to_be_bytes();
    high == low && low & 0x0f == 0x0a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_sixteen_grease_values() {
        let all: Vec<u16> = (0..=u16::MAX).filter(|code| is_grease(*code)).collect();
        assert_eq!(all.len(), 16);
        assert_eq!((all[0], all[1], all[15]), (0x0a0a, 0x1a1a, 0xfafa));
    }

    #[test]
    fn codes_keep_the_order_of_the_wire() {
        let codes = Codes::new(&[0x13, 0x02, 0x13, 0x01]);
        assert_eq!(codes.to_vec(), [0x1302, 0x1301]);
        assert!(codes.contains(0x1301) && !codes.contains(0x0213));
    }
}
