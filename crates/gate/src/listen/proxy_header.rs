//! The header of the PROXY protocol, by which a load balancer that passes TCP on says who
//! connected to it.
//!
//! Source: "The PROXY protocol, versions 1 & 2" (haproxy.org, proxy-protocol.txt), section 2: no
//! byte is taken for anything else before the header is complete, and whether there is one is
//! not guessed. Deviation: a header of version 2 has at most [`LONGEST`] bytes, where 65,551 are
//! possible; senders are asked to stay below 536.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Longest header that is read, in bytes. Those with the certificate of a TLS client may have
/// some thousand.
pub const LONGEST: usize = 4096;

/// Longest line of version 1, in bytes with its end.
const LINE: usize = 107;
const PREFIX: &[u8] = b"PROXY ";
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Signature, version and command, family, length.
const FIXED: usize = 16;
/// The checksum's kind among the further fields, and its length.
const CRC32C: u8 = 0x03;

/// A whole header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The customer, if it names one: not where the sender connects on its own account (LOCAL),
    /// nor where the customer came by something other than TCP.
    pub source: Option<SocketAddr>,
    /// Its bytes.
    pub length: usize,
}

/// Why bytes are no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// They begin with neither version's signature.
    #[error("there is no header of the PROXY protocol")]
    Absent,
    /// A line of version 1 breaks its grammar.
    #[error("the line of version 1 is malformed")]
    Line,
    /// A version, command or family that is not defined, or addresses of the wrong length.
    #[error("the header of version 2 is malformed")]
    Binary,
    /// More bytes than are read.
    #[error("the header is longer than {LONGEST} bytes")]
    TooLong,
    /// Its sum is wrong.
    #[error("the CRC32c of the header is wrong")]
    Checksum,
}

/// Reads the header with which these bytes begin; `None` while more are needed.
///
/// # Errors
/// They cannot begin one.
pub fn read(bytes: &[u8]) -> Result<Option<Header>, Fault> {
    let begins = |with: &[u8]| bytes.iter().zip(with).all(|(one, other)| one == other);
    if begins(PREFIX) {
        read_line(bytes)
    } else if begins(SIGNATURE) {
        read_binary(bytes)
    } else {
        Err(Fault::Absent)
    }
}

fn read_line(bytes: &[u8]) -> Result<Option<Header>, Fault> {
    let seen = &bytes[..bytes.len().min(LINE)];
    let Some(end) = memchr::memchr(b'\n', seen) else {
        return if seen.len() < LINE { Ok(None) } else { Err(Fault::Line) };
    };
    let line = seen[..end].strip_suffix(b"\r").ok_or(Fault::Line)?;
    let line = std::str::from_utf8(line).map_err(|_| Fault::Line)?;
    let mut words = line.split(' ').skip(1);
    let source = match words.next() {
        // What follows is ignored.
        Some("UNKNOWN") => None,
        Some(family @ ("TCP4" | "TCP6")) => {
            let mut address = || match family {
                "TCP4" => words.next()?.parse().map(IpAddr::V4).ok(),
                _ => words.next()?.parse().map(IpAddr::V6).ok(),
            };
            let (source, _destination) =
                (address().ok_or(Fault::Line)?, address().ok_or(Fault::Line)?);
            let mut port = || words.next().and_then(read_port).ok_or(Fault::Line);
            let (port, _destination) = (port()?, port()?);
            if words.next().is_some() {
                return Err(Fault::Line);
            }
            Some(SocketAddr::new(source, port))
        }
        _ => return Err(Fault::Line),
    };
    Ok(Some(Header { source, length: end + 1 }))
}

/// A port in decimal digits, without further zeros.
fn read_port(word: &str) -> Option<u16> {
    let plain = word.bytes().all(|byte| byte.is_ascii_digit());
    let padded = word.len() > 1 && word.starts_with('0');
    word.parse().ok().filter(|_| plain && !padded)
}

fn read_binary(bytes: &[u8]) -> Result<Option<Header>, Fault> {
    let at = |index: usize| bytes.get(index).copied();
    // What is there is judged before the rest has come.
    let local = match at(12) {
        None => return Ok(None),
        Some(0x20) => true,
        Some(0x21) => false,
        Some(_) => return Err(Fault::Binary),
    };
    let Some(family) = at(13) else { return Ok(None) };
    let Some(addresses) = length_of(family) else { return Err(Fault::Binary) };
    let (Some(high), Some(low)) = (at(14), at(15)) else { return Ok(None) };
    let length = FIXED + usize::from(u16::from_be_bytes([high, low]));
    if length > LONGEST {
        return Err(Fault::TooLong);
    }
    if !local && length < FIXED + addresses {
        return Err(Fault::Binary);
    }
    let Some(header) = bytes.get(..length) else { return Ok(None) };
    if local {
        return Ok(Some(Header { source: None, length }));
    }
    let (addresses, fields) = header[FIXED..].split_at(addresses);
    check_sum(header, fields)?;
    let port = |at: usize| u16::from_be_bytes([addresses[at], addresses[at + 1]]);
    let source = match (family, addresses) {
        (TCP4, [a, b, c, d, ..]) => {
            Some(SocketAddr::new(Ipv4Addr::new(*a, *b, *c, *d).into(), port(8)))
        }
        (TCP6, _) => addresses
            .first_chunk::<16>()
            .map(|address| SocketAddr::new(Ipv6Addr::from(*address).into(), port(32))),
        _ => None,
    };
    Ok(Some(Header { source, length }))
}

const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;

/// The bytes of the addresses of a family and transport that are defined: none, IPv4, IPv6 and
/// unix sockets, by stream or datagram.
fn length_of(family: u8) -> Option<usize> {
    match family {
        0x00 => Some(0),
        TCP4 | 0x12 => Some(12),
        TCP6 | 0x22 => Some(36),
        0x31 | 0x32 => Some(216),
        _ => None,
    }
}

/// Checks the sum of a header, if there is one among its further fields (TLVs): the others are
/// skipped.
fn check_sum(header: &[u8], fields: &[u8]) -> Result<(), Fault> {
    let mut rest = fields;
    while let [kind, high, low, tail @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let value = tail.get(..length).ok_or(Fault::Binary)?;
        if *kind == CRC32C {
            let value: [u8; 4] = value.try_into().map_err(|_| Fault::Binary)?;
            let begin = header.len() - tail.len();
            // Over the header with zeros in its place.
            let before = crc32c(!0, &header[..begin]);
            let zeros = crc32c(before, &[0; 4]);
            let sum = !crc32c(zeros, &header[begin + 4..]);
            return if sum == u32::from_be_bytes(value) { Ok(()) } else { Err(Fault::Checksum) };
        }
        rest = &tail[length..];
    }
    if rest.is_empty() { Ok(()) } else { Err(Fault::Binary) }
}

/// Continues a CRC32c, which begins with all bits set and ends inverted. Bit by bit: a header
/// has some hundred bytes.
///
/// Source: RFC 3720, appendix B.4 (polynomial 0x1EDC6F41, reflected).
fn crc32c(sum: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(sum, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            let carry = 0u32.wrapping_sub(sum & 1);
            (sum >> 1) ^ (0x82F6_3B78 & carry)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A header of version 2.
    fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
        [&SIGNATURE[..], &[command, family], &length, rest].concat()
    }

    const V4: [u8; 12] = [192, 0, 2, 7, 198, 51, 100, 1, 0x80, 1, 1, 187];

    fn source(bytes: &[u8]) -> Result<Option<String>, Fault> {
        let followed = [bytes, b"rest"].concat();
        let header = read(&followed)?.expect("it is complete");
        assert_eq!(header.length, bytes.len());
        Ok(header.source.map(|source| source.to_string()))
    }

    #[test]
    fn a_line_names_the_customer() {
        for (line, customer) in [
            ("PROXY TCP4 192.0.2.7 198.51.100.1 32769 443\r\n", Some("192.0.2.7:32769")),
            ("PROXY TCP6 2001:db8::7 2001:db8::1 0 65535\r\n", Some("[2001:db8::7]:0")),
            ("PROXY UNKNOWN\r\n", None),
            ("PROXY UNKNOWN ffff::1 what is this\r\n", None),
        ] {
            assert_eq!(source(line.as_bytes()), Ok(customer.map(str::to_owned)), "{line}");
        }
    }

    #[test]
    fn a_line_that_breaks_the_grammar_is_refused() {
        for line in [
            "PROXY TCP4 192.0.2.7 198.51.100.1 32769 443\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 32769\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 32769 443 1\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 032 443\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 +1 443\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 65536 443\r\n",
            "PROXY TCP4  192.0.2.7 198.51.100.1 1 2\r\n",
            "PROXY TCP4 2001:db8::7 2001:db8::1 1 2\r\n",
            "PROXY TCP6 192.0.2.7 198.51.100.1 1 2\r\n",
            "PROXY TCP4 shop.example 198.51.100.1 1 2\r\n",
            "PROXY UDP4 192.0.2.7 198.51.100.1 1 2\r\n",
            "PROXY \r\n",
        ] {
            assert_eq!(read(line.as_bytes()), Err(Fault::Line), "{line}");
        }
        let endless = format!("PROXY UNKNOWN {}", "x".repeat(200));
        assert_eq!(read(endless.as_bytes()), Err(Fault::Line));
    }

    #[test]
    fn other_bytes_are_no_header() {
        for bytes in [&b"GET / HTTP/1.1\r\n"[..], b"\x16\x03\x01", b"\r\nGET", b"proxy ", b"PROXYX"]
        {
            assert_eq!(read(bytes), Err(Fault::Absent), "{bytes:?}");
        }
    }

    #[test]
    fn a_binary_header_names_the_customer() {
        assert_eq!(source(&binary(0x21, 0x11, &V4)), Ok(Some("192.0.2.7:32769".into())));
        let mut v6 = [0; 36];
        v6[..2].copy_from_slice(&[0x20, 0x01]);
        v6[15] = 7;
        v6[33] = 80;
        assert_eq!(source(&binary(0x21, 0x21, &v6)), Ok(Some("[2001::7]:80".into())));
    }

    #[test]
    fn further_fields_are_skipped() {
        let fields = [&V4[..], &[0x04, 0, 0], &[0xE0, 0, 2, 1, 2], &[0x30, 0, 1, 9]].concat();
        assert_eq!(source(&binary(0x21, 0x11, &fields)), Ok(Some("192.0.2.7:32769".into())));
        for cut in [&[0x04][..], &[0x04, 0], &[0x04, 0, 1]] {
            let fields = [&V4[..], cut].concat();
            assert_eq!(read(&binary(0x21, 0x11, &fields)), Err(Fault::Binary), "{cut:?}");
        }
    }

    #[test]
    fn connections_of_the_sender_itself_and_of_other_kinds_keep_their_address() {
        assert_eq!(source(&binary(0x20, 0x00, &[])), Ok(None), "LOCAL");
        assert_eq!(source(&binary(0x20, 0x11, &V4)), Ok(None), "LOCAL");
        assert_eq!(source(&binary(0x21, 0x00, b"any")), Err(Fault::Binary), "no field");
        assert_eq!(source(&binary(0x21, 0x00, &[])), Ok(None), "not known");
        assert_eq!(source(&binary(0x21, 0x12, &V4)), Ok(None), "by UDP");
        assert_eq!(source(&binary(0x21, 0x31, &[0; 216])), Ok(None), "a unix socket");
    }

    #[test]
    fn what_is_not_defined_is_refused_at_its_first_byte() {
        assert_eq!(read(&binary(0x11, 0x11, &V4)[..13]), Err(Fault::Binary), "version 1");
        assert_eq!(read(&binary(0x22, 0x11, &V4)[..13]), Err(Fault::Binary), "a third command");
        assert_eq!(read(&binary(0x21, 0x41, &V4)[..14]), Err(Fault::Binary), "a fourth family");
        assert_eq!(read(&binary(0x21, 0x13, &V4)[..14]), Err(Fault::Binary), "a third transport");
        assert_eq!(read(&binary(0x21, 0x21, &V4)[..16]), Err(Fault::Binary), "too short for IPv6");
        let long = binary(0x21, 0x11, &[0; LONGEST]);
        assert_eq!(read(&long[..16]), Err(Fault::TooLong));
    }

    #[test]
    fn the_crc_is_that_of_the_standard_and_is_checked() {
        assert_eq!(!crc32c(!0, b"123456789"), 0xE306_9283);
        assert_eq!(!crc32c(!0, &[0; 32]), 0x8A91_36AA, "RFC 3720");
        let mut header = binary(0x21, 0x11, &[&V4[..], &[CRC32C, 0, 4, 0, 0, 0, 0]].concat());
        let sum = !crc32c(!0, &header);
        let at = header.len() - 4;
        header[at..].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(source(&header), Ok(Some("192.0.2.7:32769".into())));
        header[17] ^= 1;
        assert_eq!(read(&header), Err(Fault::Checksum));
    }

    proptest! {
        #[test]
        fn a_header_in_pieces_is_read_when_its_last_byte_has_come(binary_form: bool) {
            let header = match binary_form {
                true => binary(0x21, 0x11, &V4),
                false => b"PROXY TCP4 192.0.2.7 198.51.100.1 32769 443\r\n".to_vec(),
            };
            for length in 0..header.len() {
                prop_assert_eq!(read(&header[..length]), Ok(None));
            }
            prop_assert!(read(&header).unwrap().is_some());
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
            let _ = read(&[&SIGNATURE[..], &bytes].concat());
            let _ = read(&[PREFIX, &bytes].concat());
        }
    }
}
