//! Files that are part of the program. Their URLs carry a hash of their content, so that
//! a browser can cache them for a year.

use axum::http::header::{self, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};

/// A file that is part of the program, served below `/static/`.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Its name below `/static/`.
    pub path: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// Its content.
    pub text: &'static str,
}

impl Asset {
    /// Its URL, which changes with its content.
    pub fn url(&self) -> String {
        format!("/static/{}?v={:016x}", self.path, fingerprint(self.text))
    }
}

/// A hash that tells contents apart: FNV-1a.
pub(super) fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl IntoResponse for Asset {
    fn into_response(self) -> Response {
        (headers(self.kind), self.text).into_response()
    }
}

/// Headers of a file that never changes at its URL.
pub fn headers(kind: &'static str) -> [(HeaderName, HeaderValue); 4] {
    [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        // An SVG that is opened by itself is a document; it gets no rights either.
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
    ]
}
