//! The fields after a body, which must not change what its head said.

use crate::http::forwarding::{is_claim, is_harmful_variable, remove};
use http::header::HeaderMap;

/// Removes the fields that a trailer must not have: those that delimit or route a
/// message, modify a request, authenticate, describe the content, or concern one hop
/// only; and those that claim where a request comes from.
///
/// Source: RFC 9110, section 6.5.1.
pub fn clean(trailers: &mut HeaderMap) {
    remove(trailers, |name| {
        FORBIDDEN.contains(&name)
            || FAMILIES.iter().any(|family| name.starts_with(family))
            || is_claim(name)
            || is_harmful_variable(name)
    });
}

/// The beginnings of such names.
const FAMILIES: [&str; 4] = ["if-", "proxy-", "access-control-", "sec-"];

const FORBIDDEN: [&str; 37] = [
    "age",
    "authorization",
    "cache-control",
    "connection",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-range",
    "content-security-policy",
    "content-type",
    "cookie",
    "date",
    "expect",
    "expires",
    "host",
    "keep-alive",
    "location",
    "max-forwards",
    "origin",
    "pragma",
    "range",
    "referer",
    "retry-after",
    "set-cookie",
    "strict-transport-security",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "x-http-method-override",
];

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    #[test]
    fn only_fields_made_for_trailers_are_kept() {
        let mut trailers = HeaderMap::new();
        let kept = ["content-digest", "etag", "server-timing", "x-checksum"];
        let dropped = ["Authorization", "Content-Length", "content_length", "If-Match", "Host"];
        let more = ["Transfer-Encoding", "X-Forwarded-For", "Cookie", "Proxy-Authorization", "TE"];
        for name in kept.into_iter().chain(dropped).chain(more) {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            trailers.append(name, HeaderValue::from_static("x"));
        }
        clean(&mut trailers);
        let mut names: Vec<_> = trailers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, kept);
    }
}
