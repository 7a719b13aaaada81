//! What browsers keep: the style sheet, the logo, the pictures. Their addresses
//! carry a hash of their content, so that they can be kept for a year.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};

use super::failure::{Failure, missing};
use super::picture;

/// A file that is part of the program.
pub struct Asset {
    path: &'static str,
    kind: &'static str,
    text: &'static str,
    url: LazyLock<String>,
}

/// The style sheet.
pub static STYLE: Asset = Asset {
    path: "style.css",
    kind: "text/css; charset=utf-8",
    text: include_str!("style.css"),
    url: LazyLock::new(|| versioned("style.css", include_str!("style.css"))),
};

/// The logo, also the icon of the site.
pub static LOGO: Asset = Asset {
    path: "logo.svg",
    kind: "image/svg+xml",
    text: include_str!("logo.svg"),
    url: LazyLock::new(|| versioned("logo.svg", include_str!("logo.svg"))),
};

impl Asset {
    /// Its address, which changes with its content.
    pub fn url(&self) -> &str {
        &self.url
    }
}

fn versioned(path: &str, text: &str) -> String {
    // FNV-1a: tells contents apart, nothing more is needed.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("/static/{path}?v={hash:016x}")
}

fn headers(kind: &'static str) -> [(HeaderName, HeaderValue); 4] {
    [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        // An SVG opened by itself is a document: it may do nothing either.
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
    ]
}

/// GET /static/{file}
pub async fn file(Path(file): Path<String>) -> Result<Response, Failure> {
    let asset = [&STYLE, &LOGO].into_iter().find(|asset| asset.path == file);
    let asset = asset.ok_or_else(|| missing("file", "There is no such file here."))?;
    Ok((headers(asset.kind), asset.text).into_response())
}

/// GET /static/pictures/{name}: `CATEGORY-VARIANT.svg`
pub async fn picture(Path(name): Path<String>) -> Result<Response, Failure> {
    let picture = picture::by_name(&name);
    let picture = picture.ok_or_else(|| missing("picture", "There is no such picture here."))?;
    Ok((headers("image/svg+xml"), picture).into_response())
}
