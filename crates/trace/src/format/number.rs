//! Numbers of variable length: seven bits a byte, the lowest first.

/// Appends a number.
pub fn write(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a number that may be negative.
pub fn write_signed(out: &mut Vec<u8>, number: i64) {
    write(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Reads from the beginning of bytes, and moves on. Every method returns `None` where the bytes
/// end or are malformed.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'b>(pub &'b [u8]);

impl<'b> Bytes<'b> {
    /// One byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A number.
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A number that may be negative.
    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// So many bytes.
    pub fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_by_hand() {
        for (number, bytes) in [(0, &[0][..]), (127, &[127]), (128, &[0x80, 1]), (300, &[0xac, 2])]
        {
            let mut out = Vec::new();
            write(&mut out, number);
            assert_eq!(out, bytes);
        }
        let mut out = Vec::new();
        write_signed(&mut out, -1);
        assert_eq!(out, [1]);
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_none() {
        assert_eq!(Bytes(&[0xff; 10]).number(), None);
        assert_eq!(Bytes(&[0x80; 11]).number(), None);
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(Bytes(&most).number(), Some(u64::MAX));
        most[9] = 2;
        assert_eq!(Bytes(&most).number(), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(number: u64, signed: i64) {
            let mut out = Vec::new();
            write(&mut out, number);
            write_signed(&mut out, signed);
            let mut bytes = Bytes(&out);
            prop_assert_eq!(bytes.number(), Some(number));
            prop_assert_eq!(bytes.signed(), Some(signed));
            prop_assert!(bytes.0.is_empty());
        }
    }
}
