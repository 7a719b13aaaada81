//! Header fields that every response has, whatever made it: a page, a program, a stream.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{self, HeaderName, HeaderValue};

use super::session::is_secure;
use super::site::Site;

/// What a response has unless it says otherwise: nothing is loaded, framed, sniffed or kept.
const DEFAULTS: [(HeaderName, HeaderValue); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; base-uri 'none'; frame-ancestors 'none'"),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];
/// For a year no browser asks this host but over TLS (RFC 6797). Subdomains may be somebody
/// else's.
const TLS_ALONE: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Adds them.
pub async fn add(State(site): State<Site>, request: Request, next: Next) -> Response {
    let secure = is_secure(request.headers(), request.extensions(), &site);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in DEFAULTS {
        headers.entry(name).or_insert(value);
    }
    // Over plain HTTP anybody could have written it, and browsers ignore it.
    if secure {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, TLS_ALONE);
    }
    response
}
