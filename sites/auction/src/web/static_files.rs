//! The files that browsers cache: the style sheet, the logo, the pictures.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};

use super::assets::{LOGO, STYLE};
use super::failure::{Failure, missing};
use super::picture;
use tidegate_sitekit::web::asset::{Asset, headers};

/// GET /static/{file}
pub async fn file(Path(file): Path<String>) -> Result<Asset, Failure> {
    let asset = [STYLE, LOGO].into_iter().find(|asset| asset.path == file);
    Ok(asset.ok_or_else(|| missing("file", "There is no such file here."))?)
}

/// GET /static/pictures/{name}: `CATEGORY-VARIANT.svg`
pub async fn picture(Path(name): Path<String>) -> Result<Response, Failure> {
    let picture = picture::by_name(&name);
    let picture = picture.ok_or_else(|| missing("picture", "There is no such picture here."))?;
    Ok((headers("image/svg+xml"), picture).into_response())
}
