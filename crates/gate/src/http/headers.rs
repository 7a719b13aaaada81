//! Header fields on their way through the gate.
//!
//! Source: RFC 9110, sections 7.6.1 (hop-by-hop) and 7.6.3 (Via); RFC 9112,
//! section 3.2 (Host and the forms of a request's target).

use crate::framing::Rule;
use crate::http::forwarding::{self, Customer, Forwarding};
use crate::http::pages::ErrorPage;
use crate::telemetry::labels::Malformed;
use http::header::{
    CONNECTION, CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, TE,
    TRANSFER_ENCODING, UPGRADE, VIA,
};
use http::request::Parts;
use http::uri::{PathAndQuery, Uri};
use http::{Method, StatusCode, Version, response};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const OUR_VIA: HeaderValue = HeaderValue::from_static("1.1 tidegate");
const OUR_VIA_HTTP2: HeaderValue = HeaderValue::from_static("2.0 tidegate");

/// The fields that always concern one hop only.
const HOP_BY_HOP: [&str; 6] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "te"];

/// Removes the hop-by-hop fields: those that Connection names, and those that always
/// are.
pub fn remove_hop_by_hop(headers: &mut HeaderMap) {
    if !headers.keys().any(|name| HOP_BY_HOP.contains(&name.as_str())) {
        return;
    }
    if let Some(value) = headers.get(CONNECTION) {
        let plain = value.as_bytes().eq_ignore_ascii_case(b"keep-alive")
            || value.as_bytes().eq_ignore_ascii_case(b"close");
        let alone = headers.get_all(CONNECTION).iter().nth(1).is_none();
        if !(plain && alone) {
            remove_named(headers);
        }
        headers.remove(CONNECTION);
    }
    for name in [KEEP_ALIVE, PROXY_CONNECTION, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
    if let Some(te) = headers.get(TE) {
        // The one member that a gate may pass to the next hop.
        let trailers = has_member(te, b"trailers");
        headers.remove(TE);
        if trailers {
            headers.insert(TE, HeaderValue::from_static("trailers"));
            headers.insert(CONNECTION, HeaderValue::from_static("te"));
        }
    }
}

/// Removes the fields that Connection names, but never one that decides where
/// a message goes or ends: a customer must not withhold those from the upstream.
fn remove_named(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .filter_map(|token| HeaderName::from_bytes(token.trim_ascii()).ok())
        .filter(|name| *name != HOST && *name != CONTENT_LENGTH && *name != TE)
        .collect();
    for name in named {
        headers.remove(name);
    }
}

/// Checks whether a customer's request can be served, and normalizes its target to origin-form
/// (or `*`).
///
/// # Errors
/// The error page for one that cannot.
pub fn accept(parts: &mut Parts, chunked: bool) -> Result<(), ErrorPage> {
    if parts.method == Method::CONNECT || parts.method == Method::TRACE {
        return Err(ErrorPage::Method);
    }
    if chunked && parts.version < Version::HTTP_2 && !is_only_chunked(&parts.headers) {
        return Err(ErrorPage::Coding);
    }
    normalize_target(parts)
}

/// Checks what HTTP/2 demands of a request beside HTTP/1.1, and gives it the form that a request
/// of HTTP/1.1 has: one Host, one Cookie, one length. The library has refused pseudo-header fields
/// that are missing, unknown or out of place, names with upper-case letters, fields that concern
/// the connection, and data that are not as long as the length says.
///
/// Source: RFC 9113, sections 8.2 and 8.3. Deviation: data without a length are sent on in
/// chunks.
///
/// # Errors
/// The error page for a request that two readers could read differently.
pub fn accept_http2(parts: &mut Parts, max_fields: usize) -> Result<(), ErrorPage> {
    let headers = &mut parts.headers;
    if headers.len() > max_fields {
        return Err(ErrorPage::Malformed(Rule::Fields));
    }
    let padded = |value: &HeaderValue| value.as_bytes().trim_ascii().len() != value.len();
    if headers.values().any(padded) {
        return Err(ErrorPage::Malformed(Rule::FieldValue));
    }
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    if let Some(first) = lengths.next()
        && (lengths.next().is_some() || content_length(headers).is_none() || first.is_empty())
    {
        return Err(ErrorPage::Malformed(Rule::Length));
    }
    if let Some(authority) = parts.uri.authority() {
        let named = authority.as_str();
        let differs = |host: &HeaderValue| !host.as_bytes().eq_ignore_ascii_case(named.as_bytes());
        if headers.get_all(HOST).iter().any(differs) {
            return Err(ErrorPage::BadHost);
        }
        if !headers.contains_key(HOST) {
            let host = HeaderValue::from_str(named).map_err(|_| ErrorPage::BadHost)?;
            headers.insert(HOST, host);
        }
    }
    // Browsers divide it, so that its parts compress well (section 8.2.3).
    if headers.get_all(COOKIE).iter().nth(1).is_some() {
        let all: Vec<_> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
        if let Ok(cookie) = HeaderValue::from_bytes(&all.join(&b"; "[..])) {
            headers.insert(COOKIE, cookie);
        }
    }
    Ok(())
}

/// The length of the body that a head names; `None` without one, and for one that is no number.
pub fn content_length(headers: &HeaderMap) -> Option<u64> {
    let digits = headers.get(CONTENT_LENGTH)?.as_bytes();
    let text = str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_digit))?;
    text.parse().ok()
}

/// Turns a customer's request that was accepted into the one to the upstream.
pub fn to_upstream(parts: &mut Parts, forwarding: &Forwarding, customer: &Customer, chunked: bool) {
    remove_hop_by_hop(&mut parts.headers);
    if chunked {
        parts.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    forwarding::remove(&mut parts.headers, forwarding::is_harmful_variable);
    forwarding.apply(customer, &mut parts.headers);
    if let Some(host) = &forwarding.host {
        parts.headers.insert(HOST, host.clone());
    }
    // Before HTTP/1.1 a request need not have one.
    parts.headers.entry(HOST).or_insert_with(|| forwarding.default_host.clone());
    if forwarding.via {
        let via = if parts.version == Version::HTTP_2 { OUR_VIA_HTTP2 } else { OUR_VIA };
        parts.headers.append(VIA, via);
    }
    parts.version = Version::HTTP_11;
    // What the library notes of the spelling of names stays.
    parts.extensions.remove::<hyper::upgrade::OnUpgrade>();
}

/// Gives the request its identifier, in place of one that the customer wrote in any spelling.
pub fn identify(headers: &mut HeaderMap, id: u128) {
    forwarding::remove(headers, |name| {
        name.len() == REQUEST_ID.as_str().len() && forwarding::dashed(name) == REQUEST_ID.as_str()
    });
    if let Ok(id) = HeaderValue::try_from(format!("{id:032x}")) {
        headers.insert(REQUEST_ID, id);
    }
}

/// Whether the body's only transfer coding is `chunked`. No other is decoded, and a
/// coding belongs to this hop (RFC 9112, section 6.1).
fn is_only_chunked(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let one =
        codings.next().is_some_and(|v| v.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"));
    one && codings.next().is_none()
}

/// Whether a list has this member.
pub fn has_member(list: &HeaderValue, member: &[u8]) -> bool {
    let mut members = list.as_bytes().split(|byte| *byte == b',');
    members.any(|one| one.trim_ascii().eq_ignore_ascii_case(member))
}

/// Normalizes the target to origin-form (or `*`), and the host to one Host field.
fn normalize_target(parts: &mut Parts) -> Result<(), ErrorPage> {
    // Whatever the form of the target, a request of HTTP/1.1 has one Host.
    let mut hosts = parts.headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) if is_host(host.as_bytes()) => {}
        (None, _) if parts.version < Version::HTTP_11 => {}
        _ => return Err(ErrorPage::BadHost),
    }
    if let Some(authority) = parts.uri.authority() {
        // Absolute-form: its authority replaces any Host. Without a scheme
        // it is authority-form, which is for CONNECT alone.
        let scheme = parts.uri.scheme_str();
        if !matches!(scheme, Some("http" | "https")) || !is_host(authority.as_str().as_bytes()) {
            return Err(ErrorPage::BadTarget);
        }
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| ErrorPage::BadHost)?;
        parts.headers.insert(HOST, host);
        let path = parts.uri.path_and_query().cloned();
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        parts.uri = Uri::from(path);
    }
    let path = parts.uri.path();
    if path.starts_with('/') || (path == "*" && parts.method == Method::OPTIONS) {
        Ok(())
    } else {
        Err(ErrorPage::BadTarget)
    }
}

/// Whether it is a host with an optional port.
///
/// Source: RFC 3986, section 3.2.2. Deviation: no comma, since some servers take it for
/// two hosts.
pub fn is_host(value: &[u8]) -> bool {
    let (host, port) = match value {
        [b'[', rest @ ..] => match memchr::memchr(b']', rest) {
            Some(end)
                if rest[..end]
                    .iter()
                    .all(|byte| byte.is_ascii_hexdigit() || b":.".contains(byte)) =>
            {
                (&rest[..end], &rest[end + 1..])
            }
            _ => return false,
        },
        _ => {
            let (host, port) = value.split_at(memchr::memchr(b':', value).unwrap_or(value.len()));
            let fits =
                |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+;=".contains(byte);
            if !host.iter().all(fits) {
                return false;
            }
            (host, port)
        }
    };
    let is_port = match port {
        [] => true,
        [b':', digits @ ..] => digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    !host.is_empty() && is_port
}

/// Turns the upstream's response into the one to the customer; `to_head` where it answers
/// a HEAD. Returns whether the connection to the upstream may serve another request.
///
/// Source: RFC 9112, section 6.3: where a response has a transfer coding, its length does
/// not count and must not be forwarded. RFC 9110, section 8.6: a list of equal lengths is
/// one length, and a 204 has none; the framing of the bytes was checked before.
///
/// # Errors
/// Its body has a coding that the gate does not undo: forwarded without its
/// Transfer-Encoding it would be another body.
pub fn to_customer(parts: &mut response::Parts, to_head: bool) -> Result<bool, Malformed> {
    let headers = &mut parts.headers;
    let coded = headers.contains_key(TRANSFER_ENCODING);
    let bodiless =
        to_head || matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if coded && !bodiless && !is_only_chunked(headers) {
        return Err(Malformed::Coding);
    }
    let twice = coded && headers.remove(CONTENT_LENGTH).is_some();
    if parts.status == StatusCode::NO_CONTENT {
        headers.remove(CONTENT_LENGTH);
    }
    normalize_length(headers);
    remove_hop_by_hop(headers);
    parts.version = Version::HTTP_11;
    Ok(!twice)
}

/// Makes one number of equal ones.
fn normalize_length(headers: &mut HeaderMap) {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = lengths.next() else { return };
    if lengths.next().is_none() && memchr::memchr(b',', first.as_bytes()).is_none() {
        return;
    }
    let number = first.as_bytes().split(|byte| *byte == b',').next().unwrap_or_default();
    if let Ok(number) = HeaderValue::from_bytes(number.trim_ascii()) {
        headers.insert(CONTENT_LENGTH, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Forwarded;
    use crate::socket::Scheme;
    use http::{Request, Response};

    fn passed(request: http::request::Builder) -> Result<Parts, ErrorPage> {
        let mut parts = request.body(()).unwrap().into_parts().0;
        let forwarding = Forwarding {
            mode: Forwarded::Replace,
            host: None,
            default_host: HeaderValue::from_static("backend:8080"),
            via: true,
        };
        let customer =
            Customer { address: HeaderValue::from_static("192.0.2.7"), scheme: Scheme::Https };
        accept(&mut parts, false)?;
        to_upstream(&mut parts, &forwarding, &customer, false);
        Ok(parts)
    }

    fn get(headers: &HeaderMap, name: &str) -> String {
        let all: Vec<_> = headers.get_all(name).iter().map(|v| v.to_str().unwrap()).collect();
        all.join("|")
    }

    #[test]
    fn hop_by_hop_fields_are_removed() {
        let request = Request::get("/a?b")
            .header("host", "shop")
            .header("connection", "keep-alive, X-Secret")
            .header("connection", "x-other, host")
            .header("keep-alive", "timeout=5")
            .header("proxy-connection", "keep-alive")
            .header("te", "gzip")
            .header("x-secret", "1")
            .header("x-other", "2")
            .header("x-end-to-end", "3");
        let parts = passed(request).unwrap();
        let mut names: Vec<_> = parts.headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        let kept = ["host", "via", "x-end-to-end", "x-forwarded-for", "x-forwarded-host"];
        assert_eq!(names, [&kept[..], &["x-forwarded-proto"]].concat());
    }

    #[test]
    fn an_absolute_target_sets_the_host() {
        let request = Request::get("http://shop.example:81/a?b").header("host", "other");
        let parts = passed(request).unwrap();
        assert_eq!(parts.uri, "/a?b");
        assert_eq!(get(&parts.headers, "host"), "shop.example:81");
    }

    #[test]
    fn requests_that_cannot_be_forwarded_get_an_error_page() {
        let host = |request: http::request::Builder| request.header("host", "shop");
        let answer = |request| passed(request).unwrap_err();
        assert_eq!(answer(Request::get("/")), ErrorPage::BadHost);
        assert_eq!(answer(host(host(Request::get("/")))), ErrorPage::BadHost);
        assert_eq!(answer(Request::get("/").header("host", "a/b")), ErrorPage::BadHost);
        assert_eq!(answer(host(Request::connect("shop:443"))), ErrorPage::Method);
        assert_eq!(answer(host(Request::trace("/"))), ErrorPage::Method);
        assert_eq!(answer(host(Request::get("ftp://shop/"))), ErrorPage::BadTarget);
        assert_eq!(answer(host(Request::get("http://a,b/"))), ErrorPage::BadTarget);
        assert_eq!(answer(Request::get("http://shop/")), ErrorPage::BadHost);
        assert_eq!(answer(Request::get("shop:443").header("host", "a")), ErrorPage::BadTarget);
        assert!(passed(host(Request::options("*"))).is_ok());
        assert!(passed(host(Request::get("/")).header("upgrade", "h2c")).is_ok());
    }

    #[test]
    fn a_host_is_a_name_or_address_with_a_port() {
        for host in ["shop", "a_b.example:80", "192.0.2.1", "[2001:db8::1]:443", "shop:", "[::1]"] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        for host in
            ["", ":80", "a/b", "a?b", "a#b", "u@a", "a,b", "a b", "a:b", "a:1:2", "[::1", "[::1]x"]
        {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn an_old_request_without_a_host_gets_the_upstreams() {
        let request = Request::get("/").version(Version::HTTP_10);
        let headers = passed(request).unwrap().headers;
        assert_eq!(get(&headers, "host"), "backend:8080");
        assert_eq!(get(&headers, "x-forwarded-host"), "", "the customer named none");
    }

    fn answered(to_head: bool, fields: &[(&str, &str)]) -> Result<(HeaderMap, bool), Malformed> {
        let mut response = Response::builder();
        for (name, value) in fields {
            response = response.header(*name, *value);
        }
        let mut parts = response.body(()).unwrap().into_parts().0;
        let reusable = to_customer(&mut parts, to_head)?;
        Ok((parts.headers, reusable))
    }

    #[test]
    fn the_customer_learns_one_length_at_most() {
        let (length, coding) = ("content-length", "transfer-encoding");
        let both = answered(false, &[(length, "5"), (coding, "chunked")]).unwrap();
        assert_eq!((both.0.len(), both.1), (0, false));
        let list = answered(false, &[(length, "5, 5")]).unwrap();
        assert_eq!((get(&list.0, length), list.1), ("5".into(), true));
        let lines = answered(false, &[(length, "5"), (length, "5")]).unwrap();
        assert_eq!((get(&lines.0, length), lines.1), ("5".into(), true));
    }

    #[test]
    fn a_coding_that_the_gate_does_not_undo_is_not_lost() {
        for coding in ["gzip, chunked", "gzip", "identity", "chunked, chunked"] {
            let fields = [("transfer-encoding", coding)];
            assert_eq!(answered(false, &fields).unwrap_err(), Malformed::Coding, "{coding}");
            assert!(answered(true, &fields).is_ok(), "no body: {coding}");
        }
        assert!(answered(false, &[("transfer-encoding", "Chunked")]).unwrap().1);
    }

    fn by_http2(request: http::request::Builder) -> Result<Parts, ErrorPage> {
        let mut parts = request.version(Version::HTTP_2).body(()).unwrap().into_parts().0;
        accept_http2(&mut parts, 10)?;
        accept(&mut parts, false)?;
        Ok(parts)
    }

    #[test]
    fn a_request_of_http2_gets_the_form_of_http_1_1() {
        let request =
            Request::get("https://shop/a?b").header("cookie", "a=1").header("cookie", "b");
        let parts = by_http2(request).unwrap();
        assert_eq!(
            (parts.uri, get(&parts.headers, "host")),
            ("/a?b".parse().unwrap(), "shop".into())
        );
        assert_eq!(get(&parts.headers, "cookie"), "a=1; b");
        let same = Request::get("https://shop/").header("host", "SHOP");
        assert!(by_http2(same).is_ok());
    }

    #[test]
    fn a_request_of_http2_that_could_be_read_in_two_ways_is_refused() {
        let post = || Request::post("https://shop/");
        let refused = |request| by_http2(request).unwrap_err();
        assert_eq!(refused(post().header("host", "other")), ErrorPage::BadHost);
        let length = ErrorPage::Malformed(Rule::Length);
        assert_eq!(refused(post().header("content-length", "+5")), length);
        let twice = post().header("content-length", "5").header("content-length", "5");
        assert_eq!(refused(twice), length);
        let many = (0..11).fold(post(), |request, at| request.header(format!("x-{at}"), "1"));
        assert_eq!(refused(many), ErrorPage::Malformed(Rule::Fields));
        assert_eq!(refused(Request::get("/")), ErrorPage::BadHost);
    }
}
