//! The files that browsers cache: the style sheet, the script of the prices, the logo.

use std::sync::LazyLock;

use axum::extract::Path;

use super::failure::{Failure, not_found};
use tidegate_sitekit::web::asset::Asset;

/// The style sheet.
pub const STYLE: Asset =
    Asset { path: "style.css", kind: "text/css; charset=utf-8", text: include_str!("style.css") };

/// The script that keeps prices up to date.
const PRICES: Asset = Asset {
    path: "prices.js",
    kind: "text/javascript; charset=utf-8",
    text: include_str!("prices.js"),
};

/// The logo, also the icon of the site.
pub const LOGO: Asset =
    Asset { path: "logo.svg", kind: "image/svg+xml", text: include_str!("logo.svg") };

/// The URL of the script.
pub static PRICES_URL: LazyLock<String> = LazyLock::new(|| PRICES.url());

/// GET /static/{file}
pub async fn file(Path(file): Path<String>) -> Result<Asset, Failure> {
    match [STYLE, PRICES, LOGO].into_iter().find(|asset| asset.path == file) {
        Some(asset) => Ok(asset),
        None => Err(not_found().await),
    }
}
