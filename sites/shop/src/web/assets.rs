//! The files that browsers cache: the style sheet, the logo, the pictures.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};

use super::failure::{Failure, missing};
use crate::catalogue::GLYPHS;
use tidegate_sitekit::web::asset::{Asset, headers};
use tidegate_sitekit::web::picture::by_name;

/// The style sheet.
pub const STYLE: Asset =
    Asset { path: "style.css", kind: "text/css; charset=utf-8", text: include_str!("style.css") };

/// The logo, also the icon of the site.
pub const LOGO: Asset =
    Asset { path: "logo.svg", kind: "image/svg+xml", text: include_str!("logo.svg") };

/// GET /static/{file}
pub async fn file(Path(file): Path<String>) -> Result<Asset, Failure> {
    let asset = [STYLE, LOGO].into_iter().find(|asset| asset.path == file);
    Ok(asset.ok_or_else(|| missing("file", "There is no such file here."))?)
}

/// GET /static/pictures/{name}: `DEPARTMENT-VARIANT.svg`
pub async fn picture(Path(name): Path<String>) -> Result<Response, Failure> {
    let picture = by_name(&GLYPHS, &name);
    let picture = picture.ok_or_else(|| missing("picture", "There is no such picture here."))?;
    Ok((headers("image/svg+xml"), picture).into_response())
}
