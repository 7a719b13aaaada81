//! The files that browsers cache: the style sheet, the logo, the pictures.

use axum::extract::Path;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};

use super::assets::{LOGO, STYLE};
use super::failure::{Failure, missing};
use super::picture;

fn headers(kind: &'static str) -> [(HeaderName, HeaderValue); 4] {
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
