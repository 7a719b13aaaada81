//! The style sheet and the logo.

use tidegate_sitekit::web::asset::Asset;

/// The style sheet.
pub const STYLE: Asset =
    Asset { path: "style.css", kind: "text/css; charset=utf-8", text: include_str!("style.css") };

/// The logo, also the icon of the site.
pub const LOGO: Asset =
    Asset { path: "logo.svg", kind: "image/svg+xml", text: include_str!("logo.svg") };
