//! The style sheet and the logo. Their URLs carry a hash of their content, so
//! that a browser can cache them for a year.

use std::sync::LazyLock;

/// A file that is part of the program.
pub struct Asset {
    /// Its name below `/static/`.
    pub path: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// Its content.
    pub text: &'static str,
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
    /// Its URL, which changes with its content.
    pub fn url(&self) -> &str {
        &self.url
    }
}

fn versioned(path: &str, text: &str) -> String {
    // FNV-1a: a hash that tells contents apart is enough.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("/static/{path}?v={hash:016x}")
}
