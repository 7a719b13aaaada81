//! The trace context that joins a request's records in all processes: the header field
//! `traceparent`.
//!
//! Source: W3C Trace Context, Recommendation of 23 November 2021, section 3.2.

use std::fmt;

/// The trace context of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Context {
    /// Identifier of the trace, the same in all processes. Not 0.
    pub trace: u128,
    /// The sender's span: the request as it sees it. Not 0 where it came in a header field; 0
    /// where the process began the trace.
    pub parent: u64,
    /// The own span: what a next hop receives as its parent. Not 0.
    pub span: u64,
}

/// Name of the header field.
pub const FIELD: &str = "traceparent";

impl Context {
    /// A new trace with one span.
    pub fn begin() -> Self {
        Self::of_trace(Self::new_trace())
    }

    /// A new span of a trace that this process began.
    pub fn of_trace(trace: u128) -> Self {
        Self { trace, parent: 0, span: new_span() }
    }

    /// An identifier for a new trace.
    pub fn new_trace() -> u128 {
        loop {
            let trace = rand::random::<u128>();
            if trace != 0 {
                return trace;
            }
        }
    }

    /// The context that a request's header fields name, with a new span of this process.
    /// `None` unless there is exactly one field, in a form that is valid.
    pub fn received<'v>(mut values: impl Iterator<Item = &'v [u8]>) -> Option<Self> {
        let value = values.next()?;
        match values.next() {
            Some(_) => None,
            None => Self::parse(value),
        }
    }

    /// Reads `00-TRACE-PARENT-FLAGS` in lower-case hexadecimal digits. A later version may
    /// have more after the flags; version `ff` and identifiers of zeros are invalid.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let value = value.trim_ascii();
        let later = value.len() > 55;
        if value.len() < 55 || (later && (value.starts_with(b"00") || value[55] != b'-')) {
            return None;
        }
        if value[2] != b'-' || value[35] != b'-' || value[52] != b'-' {
            return None;
        }
        let version = hex(&value[..2])?;
        let (trace, parent) = (hex(&value[3..35])?, hex(&value[36..52])? as u64);
        hex(&value[53..55])?;
        let valid = version != 0xff && trace != 0 && parent != 0;
        valid.then(|| Self { trace, parent, span: new_span() })
    }

    /// The value of the field for the next hop.
    pub fn value(&self) -> String {
        let mut value = String::with_capacity(55);
        value.push_str("00-");
        push_hex(&mut value, &self.trace.to_be_bytes());
        value.push('-');
        push_hex(&mut value, &self.span.to_be_bytes());
        value.push_str("-01");
        value
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.value())
    }
}

/// Appends two digits a byte; on the path of every request that is traced.
fn push_hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

fn new_span() -> u64 {
    rand::random::<u64>().max(1)
}

/// The number of at most 32 lower-case hexadecimal digits.
fn hex(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0u128, |number, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn the_example_of_the_recommendation_is_read() {
        let context = Context::parse(VALID.as_bytes()).unwrap();
        assert_eq!(context.trace, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
        assert_eq!(context.parent, 0x00f0_67aa_0ba9_02b7);
        let next = Context::parse(context.value().as_bytes()).unwrap();
        assert_eq!((next.trace, next.parent), (context.trace, context.span));
    }

    #[test]
    fn the_value_for_the_next_hop_by_hand() {
        let context = Context { trace: 0xa << 120 | 0x2f, parent: 0, span: 1 << 60 | 3 };
        let expected = "00-0a00000000000000000000000000002f-1000000000000003-01";
        assert_eq!((context.value().as_str(), context.to_string().as_str()), (expected, expected));
    }

    #[test]
    fn a_later_version_may_have_more() {
        let later = VALID.replacen("00", "01", 1);
        assert!(Context::parse(later.as_bytes()).is_some());
        assert!(Context::parse(format!("{later}-more").as_bytes()).is_some());
        assert!(Context::parse(format!("{later}more").as_bytes()).is_none());
        assert!(Context::parse(format!("{VALID}-more").as_bytes()).is_none());
    }

    #[test]
    fn hostile_values_are_none() {
        let zero_trace = VALID.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32));
        let zero_parent = VALID.replace("00f067aa0ba902b7", &"0".repeat(16));
        let upper = VALID.to_uppercase();
        let cases = ["", "00", &VALID[1..], &VALID[..54], &zero_trace, &zero_parent, &upper];
        let more = [
            VALID.replacen("00", "ff", 1),
            VALID.replace('-', "_"),
            VALID.replace("01", "0x"),
            "\u{e9}".repeat(40),
        ];
        for value in cases.into_iter().chain(more.iter().map(String::as_str)) {
            assert_eq!(Context::parse(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn two_fields_are_none() {
        let (one, two) = ([VALID.as_bytes()], [VALID.as_bytes(); 2]);
        assert!(Context::received(one.into_iter()).is_some());
        assert!(Context::received(two.into_iter()).is_none());
        assert!(Context::received(std::iter::empty()).is_none());
    }

    #[test]
    fn a_begun_trace_is_valid_for_the_next_hop() {
        let context = Context::begin();
        assert!(Context::parse(context.value().as_bytes()).is_some());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(value in proptest::collection::vec(proptest::num::u8::ANY, 0..80)) {
            Context::parse(&value);
        }
    }
}
