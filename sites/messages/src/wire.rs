//! A message as HTTP carries it, and what of its surroundings a protection may cover.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName};

use crate::refused::Refused;

/// Most bytes of a body in every format but XML: the largest payload with a character of two
/// bytes in JSON for each, twice in base64.
pub const MOST_BODY: usize = 4 * 1024 * 1024;

/// A body with the header fields that belong to it.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Content-Type, and the fields of the format.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// Where a message is sent or received.
#[derive(Clone, Copy, Debug)]
pub enum Scene<'a> {
    /// A request.
    Request {
        /// The method.
        method: &'a str,
        /// Host and port, as in the Host field.
        authority: &'a str,
        /// The path, and the query if there is one.
        path: &'a str,
    },
    /// An answer.
    Answer {
        /// The status.
        status: u16,
        /// The header fields of the request.
        request: &'a HeaderMap,
    },
}

/// The value of a field that occurs once.
///
/// # Errors
/// It occurs more than once ([`Refused::RepeatedHeader`]) or has other characters than
/// ASCII; `missing` if it does not occur.
pub(super) fn only<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    missing: Refused,
) -> Result<&'a str, Refused> {
    let mut values = headers.get_all(name).into_iter();
    let value = values.next().ok_or(missing)?;
    if values.next().is_some() {
        return Err(Refused::RepeatedHeader);
    }
    value.to_str().map_err(|_| Refused::Malformed)
}

/// Whether the Content-Type occurs once and is this one.
pub(super) fn check_media_type(headers: &HeaderMap, expected: &str) -> Result<(), Refused> {
    match only(headers, &CONTENT_TYPE, Refused::MediaType)? {
        found if found == expected => Ok(()),
        _ => Err(Refused::MediaType),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_is_the_expected_one_and_occurs_once() {
        let mut headers = HeaderMap::new();
        let check = |headers: &HeaderMap| check_media_type(headers, "application/cose");
        assert_eq!(check(&headers), Err(Refused::MediaType));
        headers.append(CONTENT_TYPE, "application/cose".parse().unwrap());
        assert_eq!(check(&headers), Ok(()));
        headers.append(CONTENT_TYPE, "application/cose".parse().unwrap());
        assert_eq!(check(&headers), Err(Refused::RepeatedHeader));
        headers.insert(CONTENT_TYPE, "application/json".parse().unwrap());
        assert_eq!(check(&headers), Err(Refused::MediaType));
    }
}
