//! The lines of a head: its start line, its fields, and the framing of the body that
//! follows from them.
//!
//! Source: RFC 9112, sections 2 to 6; RFC 9110, sections 5 and 8.6.

use super::fault::Rule;
use http::Uri;

/// What was read of a head so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Its bytes, line ends and the empty lines before it included.
    pub bytes: usize,
    /// Its fields.
    pub fields: usize,
    /// The start line was read.
    pub started: bool,
    /// Its status; 0 of a request.
    pub status: u16,
    is_http_1_0: bool,
    length: Option<u64>,
    /// There is a Transfer-Encoding, and whether the last coding is chunked.
    coding: Option<bool>,
    /// It asks for a WebSocket, or agrees to one.
    pub websocket: bool,
}

/// How the body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// So many bytes.
    Length(u64),
    /// Chunks.
    Chunked,
    /// The end of the connection.
    Close,
}

/// Largest length of a body, in bytes: no two readers differ about its arithmetic.
const LENGTH_MAX: u64 = i64::MAX as u64;

impl Head {
    /// Reads a request line.
    ///
    /// Source: RFC 9112, section 3.
    pub fn request_line(&mut self, line: &[u8]) -> Result<(), Rule> {
        self.started = true;
        let mut words = line.split(|byte| *byte == b' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Rule::StartLine);
        };
        if !is_token(method) || target.is_empty() || !is_text(target) || target.contains(&b'\t') {
            return Err(Rule::StartLine);
        }
        self.is_http_1_0 = is_http_1_0(version)?;
        check_target(target)
    }

    /// Reads a status line.
    ///
    /// Source: RFC 9112, section 4. Deviation: the space before an empty reason may be
    /// missing, as many servers leave it out.
    pub fn status_line(&mut self, line: &[u8]) -> Result<(), Rule> {
        self.started = true;
        let mut words = line.splitn(3, |byte| *byte == b' ');
        let (version, status) = (words.next().unwrap_or_default(), words.next());
        self.is_http_1_0 = is_http_1_0(version)?;
        let status = status.filter(|status| status.len() == 3).and_then(number);
        match (status, words.next().is_none_or(is_text)) {
            (Some(status @ 100..=999), true) => self.status = status as u16,
            _ => return Err(Rule::StartLine),
        }
        Ok(())
    }

    /// Reads a field. A list of equal lengths is one length where `lists` is set.
    pub fn field(&mut self, line: &[u8], lists: bool) -> Result<(), Rule> {
        self.fields += 1;
        let (name, value) = field(line)?;
        // The first letters rule nearly every field out.
        match name.first() {
            Some(b'c' | b'C') if name.eq_ignore_ascii_case(b"content-length") => {
                let length = length(value, lists).ok_or(Rule::Length)?;
                if self.length.replace(length).is_some_and(|other| other != length) {
                    return Err(Rule::Length);
                }
            }
            Some(b't' | b'T') if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                if self.is_http_1_0 {
                    return Err(Rule::Coding);
                }
                let last = value.rsplit(|byte| *byte == b',').next().unwrap_or_default();
                // The library compares text only.
                let chunked =
                    value.is_ascii() && last.trim_ascii().eq_ignore_ascii_case(b"chunked");
                self.coding = Some(chunked);
            }
            Some(b'u' | b'U') if name.eq_ignore_ascii_case(b"upgrade") && !self.is_http_1_0 => {
                let mut members = value.split(|byte| *byte == b',');
                self.websocket |=
                    members.any(|one| one.trim_ascii().eq_ignore_ascii_case(b"websocket"));
            }
            _ => {}
        }
        Ok(())
    }

    /// The framing of a request's body.
    ///
    /// Source: RFC 9112, section 6.3. Deviation: a request with both lengths is an error,
    /// as section 6.1 permits.
    pub fn of_request(&self) -> Result<Framing, Rule> {
        match (self.coding, self.length) {
            (Some(_), Some(_)) => Err(Rule::TwoLengths),
            (Some(true), None) => Ok(Framing::Chunked),
            (Some(false), None) => Err(Rule::Coding),
            (None, length) => Ok(Framing::Length(length.unwrap_or(0))),
        }
    }

    /// The framing of a response's body; `head_only` where it answers a HEAD.
    ///
    /// Source: RFC 9112, section 6.3.
    pub fn of_response(&self, head_only: bool) -> Framing {
        match (self.status, self.coding, self.length) {
            (101, ..) => Framing::Close,
            (100..=199 | 204 | 304, ..) => Framing::Length(0),
            _ if head_only => Framing::Length(0),
            (_, Some(true), _) => Framing::Chunked,
            (_, Some(false), _) | (_, None, None) => Framing::Close,
            (_, None, Some(length)) => Framing::Length(length),
        }
    }
}

/// Longest name of a field that the HTTP library reads.
const NAME_MAX: usize = 65_535;

/// Divides a field into name and value, without the space around the value.
pub fn field(line: &[u8]) -> Result<(&[u8], &[u8]), Rule> {
    if matches!(line, [b' ' | b'\t', ..]) {
        return Err(Rule::Folding);
    }
    let (name, value) = line.split_at(token_length(line));
    let (false, [b':', value @ ..]) = (name.is_empty(), value) else {
        return Err(Rule::FieldName);
    };
    if name.len() > NAME_MAX {
        return Err(Rule::Bytes);
    }
    if !is_text(value) {
        return Err(Rule::FieldValue);
    }
    Ok((name, trim(value)))
}

/// Without spaces and tabs around it.
fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Source: RFC 9110, section 8.6.
fn length(value: &[u8], lists: bool) -> Option<u64> {
    if !lists {
        return number(value);
    }
    let mut numbers = value.split(|byte| *byte == b',').map(|one| number(trim(one)));
    let first = numbers.next()??;
    numbers.all(|other| other == Some(first)).then_some(first)
}

/// Digits alone, at most 19.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    (number <= LENGTH_MAX).then_some(number)
}

/// Longest target that the HTTP library reads.
const TARGET_MAX: usize = 65_534;

/// Whether the HTTP library can read a target. It would answer others by itself, with a
/// response that has no body.
fn check_target(target: &[u8]) -> Result<(), Rule> {
    // The library would drop it silently.
    if memchr::memchr(b'#', target).is_some() {
        return Err(Rule::Fragment);
    }
    if target.len() > TARGET_MAX {
        return Err(Rule::TargetLength);
    }
    let sound = match target {
        [b'/', ..] => is_path_and_query(target),
        _ => Uri::try_from(target).is_ok(),
    };
    if sound { Ok(()) } else { Err(Rule::Target) }
}

/// Whether a text without control characters, spaces and fragment is a path and query as the
/// library reads them.
fn is_path_and_query(target: &[u8]) -> bool {
    let (path, query) = target.split_at(memchr::memchr(b'?', target).unwrap_or(target.len()));
    // Without an early exit the compiler takes many bytes at once.
    let encoded = |part: &[u8], quote| {
        !part.iter().fold(false, |bad, byte| bad | matches!(*byte, b'<' | b'>') | (*byte == quote))
    };
    encoded(path, b'`')
        && encoded(query, b'"')
        && (target.is_ascii() || std::str::from_utf8(target).is_ok())
}

fn is_http_1_0(version: &[u8]) -> Result<bool, Rule> {
    match version {
        b"HTTP/1.1" => Ok(false),
        b"HTTP/1.0" => Ok(true),
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => Err(Rule::Version),
        _ => Err(Rule::StartLine),
    }
}

fn is_token(name: &[u8]) -> bool {
    !name.is_empty() && token_length(name) == name.len()
}

/// How many bytes at the beginning may be those of a token.
///
/// Source: RFC 9110, section 5.6.2.
fn token_length(bytes: &[u8]) -> usize {
    const TOKEN: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 128 {
            table[byte] = (byte as u8).is_ascii_alphanumeric();
            byte += 1;
        }
        let others = b"!#$%&'*+-.^_`|~";
        let mut at = 0;
        while at < others.len() {
            table[others[at] as usize] = true;
            at += 1;
        }
        table
    };
    bytes.iter().position(|byte| !TOKEN[usize::from(*byte)]).unwrap_or(bytes.len())
}

/// Whether no byte is a control character other than a tab.
///
/// Source: RFC 9110, section 5.5.
fn is_text(value: &[u8]) -> bool {
    // Without an early exit the compiler takes many bytes at once.
    !value.iter().fold(false, |bad, byte| bad | ((*byte < 32) & (*byte != b'\t')) | (*byte == 127))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    #[test]
    fn a_length_is_digits_alone() {
        for (value, one, list) in [
            ("2", Some(2), Some(2)),
            ("007", Some(7), Some(7)),
            ("9223372036854775807", Some(LENGTH_MAX), Some(LENGTH_MAX)),
            ("9223372036854775808", None, None),
            ("2, 2", None, Some(2)),
            ("2,3", None, None),
            ("2,", None, None),
            ("", None, None),
            ("+2", None, None),
            ("-2", None, None),
            ("2 2", None, None),
            ("0x2", None, None),
        ] {
            assert_eq!(length(value.as_bytes(), false), one, "{value}");
            assert_eq!(length(value.as_bytes(), true), list, "{value}");
        }
    }

    #[test]
    fn a_fields_name_ends_at_its_colon() {
        assert_eq!(field(b"Host: a:1\t").unwrap(), (&b"Host"[..], &b"a:1"[..]));
        assert_eq!(field(b"X:").unwrap(), (&b"X"[..], &b""[..]));
        for (line, rule) in [
            (&b"Host : a"[..], Rule::FieldName),
            (b": a", Rule::FieldName),
            (b"Host", Rule::FieldName),
            (b"H(st: a", Rule::FieldName),
            (b" Host: a", Rule::Folding),
            (b"X: a\0b", Rule::FieldValue),
            (b"X: a\rb", Rule::FieldValue),
            (b"X: a\x7f", Rule::FieldValue),
        ] {
            assert_eq!(field(line), Err(rule), "{line:?}");
        }
        let longest = "a".repeat(NAME_MAX);
        assert!(field(format!("{longest}: a").as_bytes()).is_ok());
        assert!(HeaderName::try_from(&longest).is_ok());
        assert_eq!(field(format!("{longest}a: a").as_bytes()), Err(Rule::Bytes));
    }

    #[test]
    fn a_request_line_has_three_words() {
        let read = |line: &str| Head::default().request_line(line.as_bytes());
        assert_eq!(read("GET /a?b HTTP/1.1"), Ok(()));
        assert_eq!(read("OPTIONS * HTTP/1.0"), Ok(()));
        for line in
            ["GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET /", "G(T / HTTP/1.1", "GET /\t HTTP/1.1"]
        {
            assert_eq!(read(line), Err(Rule::StartLine), "{line}");
        }
        assert_eq!(read("GET / HTTP/2.0"), Err(Rule::Version));
        assert_eq!(read("GET / http/1.1"), Err(Rule::StartLine));
        assert_eq!(read("GET /a#b HTTP/1.1"), Err(Rule::Fragment));
    }

    #[test]
    fn a_target_is_sound_if_the_library_can_read_it() {
        let agrees = |target: &[u8]| {
            let own = check_target(target);
            assert_eq!(own.is_ok(), Uri::try_from(target).is_ok(), "{target:?}: {own:?}");
        };
        for byte in (0x21..=0xff).filter(|byte| !matches!(byte, b'#' | 0x7f)) {
            for place in ["/a?b", "/?a", "/a", "a", "http://a/b", "http://a/?b", "http://a"] {
                for at in 0..=place.len() {
                    agrees(&[&place.as_bytes()[..at], &[byte], &place.as_bytes()[at..]].concat());
                }
            }
        }
        for text in ["/\u{e4}?\u{20ac}", "/a?\"{}|^", "/\"{}[]\\", "*", "?a"] {
            agrees(text.as_bytes());
        }
        let longest = format!("/{}", "a".repeat(TARGET_MAX - 1));
        agrees(longest.as_bytes());
        assert_eq!(check_target(format!("{longest}a").as_bytes()), Err(Rule::TargetLength));
        agrees(format!("{longest}a").as_bytes());
    }
}
