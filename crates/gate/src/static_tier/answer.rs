//! What a request says of versions and ranges, applied to a form of a file.
//!
//! Source: RFC 9110, sections 13.2.2 (the order of the conditions) and 14.2 (ranges).
//! Deviation: a request for several ranges gets the whole, as a server may (section 14.2): few
//! clients ask for them, and they multiply what is sent.

use crate::static_tier::file::{Form, StaticFile};
use http::Method;
use http::header::{
    HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
    IF_UNMODIFIED_SINCE, RANGE,
};
use std::ops::Range;
use std::time::UNIX_EPOCH;

/// What a client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All of it (200).
    Whole,
    /// These bytes (206).
    Part(Range<u64>),
    /// It has it already (304).
    NotModified,
    /// It wanted another version (412).
    OtherVersion,
    /// No such bytes (416).
    NoSuchRange,
}

impl Answer {
    /// The answer to a GET or HEAD with these fields at this time, in seconds since 1970.
    pub fn to(
        method: &Method,
        headers: &HeaderMap,
        file: &StaticFile,
        form: &Form,
        now: u64,
    ) -> Self {
        let modified = file.modified;
        let has = |name: &HeaderName| headers.contains_key(name);
        if has(&IF_MATCH) {
            if !names(headers, IF_MATCH, |tag| tag == form.etag.as_bytes()) {
                return Self::OtherVersion;
            }
        } else if date(headers, IF_UNMODIFIED_SINCE).is_some_and(|since| modified > since) {
            return Self::OtherVersion;
        }
        if has(&IF_NONE_MATCH) {
            let weak = |tag: &[u8]| tag.strip_prefix(b"W/").unwrap_or(tag) == form.etag.as_bytes();
            if names(headers, IF_NONE_MATCH, weak) {
                return Self::NotModified;
            }
        } else if date(headers, IF_MODIFIED_SINCE).is_some_and(|since| modified <= since) {
            return Self::NotModified;
        }
        match headers.get(RANGE) {
            Some(range) if method == Method::GET && is_current(headers, file, form, now) => {
                Self::range(range.as_bytes(), form.length)
            }
            _ => Self::Whole,
        }
    }

    fn range(range: &[u8], length: u64) -> Self {
        let Some((from, to)) = bounds(range) else { return Self::Whole };
        let range = match (from, to) {
            (Some(from), Some(to)) if to < from => return Self::Whole,
            (Some(from), to) => from..to.map_or(length, |to| to.saturating_add(1).min(length)),
            (None, Some(last)) => length.saturating_sub(last)..length,
            (None, None) => return Self::Whole,
        };
        if range.is_empty() { Self::NoSuchRange } else { Self::Part(range) }
    }
}

/// The two numbers of a single range of bytes; none of any other.
fn bounds(range: &[u8]) -> Option<(Option<u64>, Option<u64>)> {
    let (unit, range) = range.split_at_checked(6)?;
    if !unit.eq_ignore_ascii_case(b"bytes=") {
        return None;
    }
    let dash = memchr::memchr(b'-', range)?;
    let number = |digits: &[u8]| match digits {
        [] => Some(None),
        // More digits than a file can have bytes.
        digits if digits.iter().all(u8::is_ascii_digit) => {
            let number = std::str::from_utf8(digits).ok()?.parse().unwrap_or(u64::MAX);
            Some(Some(number))
        }
        _ => None,
    };
    let (from, to) = (range[..dash].trim_ascii_start(), range[dash + 1..].trim_ascii_end());
    Some((number(from)?, number(to)?))
}

/// Whether the client's part is of this version, so that another part fits.
fn is_current(headers: &HeaderMap, file: &StaticFile, form: &Form, now: u64) -> bool {
    let Some(of) = headers.get(IF_RANGE) else { return true };
    // By its date a version is known if it cannot have changed twice in its second.
    of == form.etag || (*of == file.last_modified && file.modified < now)
}

/// Whether a list of validators is `*` or has one that fits. Our validators have no comma.
fn names(headers: &HeaderMap, name: HeaderName, fits: impl Fn(&[u8]) -> bool) -> bool {
    let members = |value: &'_ HeaderValue| {
        let mut members = value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        members.any(|member| member == b"*" || fits(member))
    };
    headers.get_all(name).iter().any(members)
}

/// A date in seconds since 1970; none where it is malformed, as then it does not count.
fn date(headers: &HeaderMap, name: HeaderName) -> Option<u64> {
    let date = httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()?;
    Some(date.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::static_tier::file::Content;
    use bytes::Bytes;

    const MODIFIED: u64 = 1_000_000;
    const DATE: &str = "Mon, 12 Jan 1970 13:46:40 GMT";
    const BEFORE: &str = "Mon, 12 Jan 1970 13:46:39 GMT";

    fn answer_at(now: u64, method: Method, fields: &[(&str, &str)]) -> Answer {
        let file = StaticFile {
            content_type: HeaderValue::from_static("text/plain"),
            modified: MODIFIED,
            last_modified: HeaderValue::from_static(DATE),
            forms: [None, None, None],
            stamps: [None; 3],
        };
        let content = Content::Memory(Bytes::new());
        let form = Form { length: 100, etag: HeaderValue::from_static("\"e\""), content };
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, value.parse().unwrap());
        }
        Answer::to(&method, &headers, &file, &form, now)
    }

    fn answer(fields: &[(&str, &str)]) -> Answer {
        answer_at(MODIFIED + 60, Method::GET, fields)
    }

    #[test]
    fn a_client_that_has_the_version_does_not_get_it_again() {
        for value in ["\"e\"", "W/\"e\"", "*", "\"x\", \"e\"", " \"e\" ,\"x\""] {
            assert_eq!(answer(&[("if-none-match", value)]), Answer::NotModified, "{value}");
        }
        for value in ["\"x\"", "e", "\"e-br\"", ""] {
            assert_eq!(answer(&[("if-none-match", value)]), Answer::Whole, "{value}");
        }
        assert_eq!(answer(&[("if-modified-since", DATE)]), Answer::NotModified);
        assert_eq!(answer(&[("if-modified-since", BEFORE)]), Answer::Whole);
        assert_eq!(answer(&[("if-modified-since", "yesterday")]), Answer::Whole);
        // The validator counts before the date.
        let both = [("if-none-match", "\"x\""), ("if-modified-since", DATE)];
        assert_eq!(answer(&both), Answer::Whole);
    }

    #[test]
    fn a_client_that_wants_another_version_gets_none() {
        assert_eq!(answer(&[("if-match", "\"e\"")]), Answer::Whole);
        assert_eq!(answer(&[("if-match", "*")]), Answer::Whole);
        assert_eq!(answer(&[("if-match", "W/\"e\"")]), Answer::OtherVersion);
        assert_eq!(answer(&[("if-match", "\"x\"")]), Answer::OtherVersion);
        assert_eq!(answer(&[("if-unmodified-since", DATE)]), Answer::Whole);
        assert_eq!(answer(&[("if-unmodified-since", BEFORE)]), Answer::OtherVersion);
    }

    #[test]
    fn a_range_is_clamped_and_one_beyond_the_end_is_refused() {
        for (range, part) in [
            ("bytes=0-9", 0..10),
            ("bytes=10-", 10..100),
            ("bytes=99-99", 99..100),
            ("bytes=90-1000", 90..100),
            ("bytes=-10", 90..100),
            ("bytes=-1000", 0..100),
            ("Bytes=0-0", 0..1),
            ("bytes= 0-9 ", 0..10),
            ("bytes=0-99999999999999999999999", 0..100),
        ] {
            assert_eq!(answer(&[("range", range)]), Answer::Part(part), "{range}");
        }
        for range in ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=99999999999999999999-"] {
            assert_eq!(answer(&[("range", range)]), Answer::NoSuchRange, "{range}");
        }
    }

    #[test]
    fn a_range_that_is_malformed_or_of_several_parts_gets_the_whole() {
        for range in
            ["bytes=9-0", "bytes=-", "bytes=", "bytes=a-b", "bytes=0-9,20-29", "items=0-9", "", "x"]
        {
            assert_eq!(answer(&[("range", range)]), Answer::Whole, "{range}");
        }
        assert_eq!(answer_at(MODIFIED, Method::HEAD, &[("range", "bytes=0-9")]), Answer::Whole);
    }

    #[test]
    fn a_part_of_another_version_gets_the_whole() {
        let with = |of| answer(&[("range", "bytes=0-9"), ("if-range", of)]);
        assert_eq!(with("\"e\""), Answer::Part(0..10));
        assert_eq!(with(DATE), Answer::Part(0..10));
        for other in ["W/\"e\"", "\"x\"", BEFORE, "x"] {
            assert_eq!(with(other), Answer::Whole, "{other}");
        }
        // It may change again within this second.
        let fields = [("range", "bytes=0-9"), ("if-range", DATE)];
        assert_eq!(answer_at(MODIFIED, Method::GET, &fields), Answer::Whole);
    }
}
