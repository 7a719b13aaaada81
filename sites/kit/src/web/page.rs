//! Header fields of every page of a site.

use axum::http::header::{self, HeaderName, HeaderValue};

/// The fields of every page but its content security policy. `referrer` is the referrer policy,
/// `cache` says which caches may keep the page.
pub const fn headers(
    referrer: &'static str,
    cache: &'static str,
) -> [(HeaderName, HeaderValue); 5] {
    [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (header::REFERRER_POLICY, HeaderValue::from_static(referrer)),
        (header::CACHE_CONTROL, HeaderValue::from_static(cache)),
    ]
}
