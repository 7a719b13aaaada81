//! Header fields on their way through the gate.
//!
//! Source: RFC 9110, sections 7.6.1 (hop-by-hop) and 7.6.3 (Via); RFC 9112,
//! section 3.2 (Host and the forms of a request's target).

use crate::config::Forwarded;
use crate::http::pages::ErrorPage;
use crate::socket::Scheme;
use http::header::{
    CONNECTION, CONTENT_LENGTH, Entry, HOST, HeaderMap, HeaderName, HeaderValue, TE,
    TRANSFER_ENCODING, UPGRADE, VIA,
};
use http::request::Parts;
use http::uri::{PathAndQuery, Uri};
use http::{Method, Version};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const OUR_VIA: HeaderValue = HeaderValue::from_static("1.1 tidegate");
const HTTPS: HeaderValue = HeaderValue::from_static("https");
const HTTP: HeaderValue = HeaderValue::from_static("http");

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
        let trailers = te.as_bytes().eq_ignore_ascii_case(b"trailers");
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

/// What the upstream learns about the customer.
#[derive(Debug)]
pub struct Forwarding {
    /// How to treat `X-Forwarded-*`.
    pub mode: Forwarded,
    /// The customer's address.
    pub address: HeaderValue,
    /// The protocol that the customer uses.
    pub scheme: Scheme,
    /// What to put in place of the customer's `Host`, if anything.
    pub host: Option<HeaderValue>,
}

/// Turns a customer's request into the one to the upstream.
///
/// # Errors
/// The error page for a request that cannot be forwarded.
pub fn to_upstream(
    parts: &mut Parts,
    forwarding: &Forwarding,
    chunked: bool,
) -> Result<(), ErrorPage> {
    if parts.method == Method::CONNECT {
        return Err(ErrorPage::Connect);
    }
    if chunked && !is_only_chunked(&parts.headers) {
        return Err(ErrorPage::Coding);
    }
    if requests_websocket(&parts.headers) {
        return Err(ErrorPage::Upgrade);
    }
    normalize_target(parts)?;
    remove_hop_by_hop(&mut parts.headers);
    parts.headers.remove(http::header::EXPECT);
    if chunked {
        parts.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    set_forwarded(&mut parts.headers, forwarding);
    if let Some(host) = &forwarding.host {
        parts.headers.insert(HOST, host.clone());
    }
    parts.headers.append(VIA, OUR_VIA);
    parts.version = Version::HTTP_11;
    parts.extensions.clear();
    Ok(())
}

/// Whether the body's only transfer coding is `chunked`. No other is decoded, and a
/// coding belongs to this hop (RFC 9112, section 6.1).
fn is_only_chunked(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let one =
        codings.next().is_some_and(|v| v.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"));
    one && codings.next().is_none()
}

fn requests_websocket(headers: &HeaderMap) -> bool {
    // A recipient may ignore other upgrades.
    headers.get(UPGRADE).is_some_and(|value| {
        let mut protocols = value.as_bytes().split(|byte| *byte == b',');
        protocols.any(|protocol| protocol.trim_ascii().eq_ignore_ascii_case(b"websocket"))
    })
}

/// Normalizes the target to origin-form (or `*`), and the host to one Host field.
fn normalize_target(parts: &mut Parts) -> Result<(), ErrorPage> {
    if let Some(authority) = parts.uri.authority() {
        // Absolute-form: its authority replaces any Host. Without a scheme
        // it is authority-form, which is for CONNECT alone.
        if parts.uri.scheme().is_none() || authority.as_str().contains('@') {
            return Err(ErrorPage::BadTarget);
        }
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| ErrorPage::BadHost)?;
        parts.headers.insert(HOST, host);
        let path = parts.uri.path_and_query().cloned();
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        parts.uri = Uri::from(path);
        return Ok(());
    }
    let path = parts.uri.path();
    if !(path.starts_with('/') || (path == "*" && parts.method == Method::OPTIONS)) {
        return Err(ErrorPage::BadTarget);
    }
    let mut hosts = parts.headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) if is_host(host.as_bytes()) => Ok(()),
        (None, _) if parts.version < Version::HTTP_11 => Ok(()),
        _ => Err(ErrorPage::BadHost),
    }
}

/// Whether it may be host and port: no byte that ends an authority.
fn is_host(value: &[u8]) -> bool {
    !value
        .iter()
        .any(|byte| matches!(byte, b'/' | b'?' | b'#' | b'@' | b',' | b' ' | b'\t' | b'\\'))
}

/// Removes the fields that claim an origin, in every spelling that an upstream could
/// trust: CGI and WSGI make `X_Forwarded_For` and
/// `X-Forwarded-For` the same variable.
fn remove_claims_of_origin(headers: &mut HeaderMap) {
    let claims = |name: &&HeaderName| {
        let name = name.as_str();
        CLAIMS_OF_ORIGIN.contains(&name)
            || name.contains('_') && {
                let dashed = name.replace('_', "-");
                dashed.starts_with("x-forwarded-") || CLAIMS_OF_ORIGIN.contains(&dashed.as_str())
            }
    };
    let claims: Vec<_> = headers.keys().filter(claims).cloned().collect();
    for name in claims {
        headers.remove(name);
    }
}

const CLAIMS_OF_ORIGIN: [&str; 7] = [
    "forwarded",
    "x-real-ip",
    "x-client-ip",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-scheme",
    "x-forwarded-server",
];

fn set_forwarded(headers: &mut HeaderMap, forwarding: &Forwarding) {
    match forwarding.mode {
        Forwarded::Off => return,
        Forwarded::Replace => {
            remove_claims_of_origin(headers);
            headers.insert(X_FORWARDED_FOR, forwarding.address.clone());
        }
        Forwarded::Append => {
            headers.append(X_FORWARDED_FOR, forwarding.address.clone());
            if headers.contains_key(X_FORWARDED_PROTO) {
                return;
            }
        }
    }
    let scheme = match forwarding.scheme {
        Scheme::Https => HTTPS,
        Scheme::Http => HTTP,
    };
    headers.insert(X_FORWARDED_PROTO, scheme);
    let host = headers.get(HOST).cloned();
    match (headers.entry(X_FORWARDED_HOST), host) {
        (Entry::Occupied(mut entry), Some(host)) => drop(entry.insert(host)),
        (Entry::Vacant(entry), Some(host)) => drop(entry.insert(host)),
        (Entry::Occupied(entry), None) => drop(entry.remove()),
        (Entry::Vacant(_), None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn passed(request: http::request::Builder, forwarded: Forwarded) -> Result<Parts, ErrorPage> {
        passed_over(Scheme::Https, request, forwarded)
    }

    fn passed_over(
        scheme: Scheme,
        request: http::request::Builder,
        forwarded: Forwarded,
    ) -> Result<Parts, ErrorPage> {
        let mut parts = request.body(()).unwrap().into_parts().0;
        let address = HeaderValue::from_static("192.0.2.7");
        let forwarding = Forwarding { mode: forwarded, address, scheme, host: None };
        to_upstream(&mut parts, &forwarding, false).map(|()| parts)
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
        let parts = passed(request, Forwarded::Replace).unwrap();
        let mut names: Vec<_> = parts.headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        let kept = ["host", "via", "x-end-to-end", "x-forwarded-for", "x-forwarded-host"];
        assert_eq!(names, [&kept[..], &["x-forwarded-proto"]].concat());
    }

    #[test]
    fn a_customer_cannot_choose_the_address_that_the_upstream_trusts() {
        let request = || {
            let request = Request::get("/").header("host", "shop");
            let request =
                request.header("x-forwarded-for", "10.0.0.1").header("forwarded", "for=x");
            request.header("x-forwarded-host", "evil").header("x-forwarded-proto", "http")
        };
        let replaced = passed(request(), Forwarded::Replace).unwrap().headers;
        assert_eq!(get(&replaced, "x-forwarded-for"), "192.0.2.7");
        assert_eq!(get(&replaced, "x-forwarded-host"), "shop");
        assert_eq!(get(&replaced, "x-forwarded-proto"), "https");
        assert_eq!(get(&replaced, "forwarded"), "");
        for spelling in ["x-real-ip", "x-forwarded-port", "x_forwarded_for", "x_real-ip"] {
            let spoofed = passed(request().header(spelling, "10.0.0.1"), Forwarded::Replace);
            assert_eq!(get(&spoofed.unwrap().headers, spelling), "", "{spelling}");
        }
        let kept = passed(request().header("x_basket", "7"), Forwarded::Replace).unwrap().headers;
        assert_eq!(get(&kept, "x_basket"), "7");
        let appended = passed(request(), Forwarded::Append).unwrap().headers;
        assert_eq!(get(&appended, "x-forwarded-for"), "10.0.0.1|192.0.2.7");
        assert_eq!(get(&appended, "x-forwarded-host"), "evil");
    }

    #[test]
    fn the_upstream_learns_the_scheme_unless_a_trusted_proxy_has_set_it() {
        let proto = |scheme, forwarded, given: Option<&str>| {
            let mut request = Request::get("/").header("host", "shop");
            if let Some(given) = given {
                request = request.header("x-forwarded-proto", given);
            }
            get(&passed_over(scheme, request, forwarded).unwrap().headers, "x-forwarded-proto")
        };
        assert_eq!(proto(Scheme::Https, Forwarded::Replace, Some("http")), "https");
        assert_eq!(proto(Scheme::Http, Forwarded::Replace, Some("https")), "http");
        assert_eq!(proto(Scheme::Http, Forwarded::Append, Some("https")), "https");
        assert_eq!(proto(Scheme::Http, Forwarded::Append, None), "http");
    }

    #[test]
    fn an_absolute_target_sets_the_host() {
        let request = Request::get("http://shop.example:81/a?b").header("host", "other");
        let parts = passed(request, Forwarded::Off).unwrap();
        assert_eq!(parts.uri, "/a?b");
        assert_eq!(get(&parts.headers, "host"), "shop.example:81");
    }

    #[test]
    fn requests_that_cannot_be_forwarded_get_an_error_page() {
        let host = |request: http::request::Builder| request.header("host", "shop");
        let answer = |request| passed(request, Forwarded::Replace).unwrap_err();
        assert_eq!(answer(Request::get("/")), ErrorPage::BadHost);
        assert_eq!(answer(host(host(Request::get("/")))), ErrorPage::BadHost);
        assert_eq!(answer(Request::get("/").header("host", "a/b")), ErrorPage::BadHost);
        assert_eq!(answer(Request::connect("shop:443")), ErrorPage::Connect);
        assert_eq!(answer(Request::get("shop:443").header("host", "a")), ErrorPage::BadTarget);
        assert_eq!(
            answer(host(Request::get("/")).header("upgrade", "websocket")),
            ErrorPage::Upgrade
        );
        assert!(passed(host(Request::options("*")), Forwarded::Off).is_ok());
        assert!(passed(host(Request::get("/")).header("upgrade", "h2c"), Forwarded::Off).is_ok());
    }
}
