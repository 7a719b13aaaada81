//! Pages: a document with the header fields that every page of a site has.

use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

/// What the pages of a site have in common.
#[derive(Clone, Debug)]
pub struct Look {
    /// Name of the site, at the end of each title.
    pub brand: &'static str,
    /// URL of the style sheet.
    pub style: String,
    /// URL of the logo, also the icon of the site.
    pub logo: Option<String>,
    /// The content security policy.
    pub policy: &'static str,
    /// Which caches may keep the page.
    pub cache: &'static str,
}

/// What stands around the content of a page.
#[derive(Clone, Debug, Default)]
pub struct Frame<'a> {
    /// Address of the page that the name of the site leads to.
    pub home: &'a str,
    /// URL of the script, if the page has one.
    pub script: Option<&'a str>,
    /// After the name of the site: navigation, a search.
    pub header: Markup,
    /// At the end of the page.
    pub footer: Markup,
}

/// A page as a response.
#[derive(Clone, Debug)]
pub struct Page {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Look {
    /// A page in the frame of the site. A reader of the screen may skip the frame.
    pub fn page(&self, title: &str, frame: Frame<'_>, content: &Markup) -> Page {
        let body = html! {
            a.skip href="#main" { "Skip to the content" }
            header.top {
                a.brand href=(frame.home) {
                    @if let Some(logo) = &self.logo { img src=(logo) width="32" height="32" alt=""; }
                    (self.brand)
                }
                (frame.header)
            }
            main #main { (content) }
            footer.bottom { (frame.footer) }
        };
        self.document(title, frame.script, &body)
    }

    /// A page with a frame of its own.
    pub fn document(&self, title: &str, script: Option<&str>, body: &Markup) -> Page {
        let markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " – " (self.brand) }
                    link rel="stylesheet" href=(self.style);
                    @if let Some(logo) = &self.logo { link rel="icon" type="image/svg+xml" href=(logo); }
                    @if let Some(script) = script { script src=(script) defer {} }
                }
                body { (body) }
            }
        };
        let fields = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
            (header::REFERRER_POLICY, "same-origin"),
            (header::CACHE_CONTROL, self.cache),
            (header::CONTENT_SECURITY_POLICY, self.policy),
        ];
        let fields = fields.map(|(name, value)| (name, HeaderValue::from_static(value)));
        let (headers, text) = (fields.into_iter().collect(), markup.into_string());
        Page { status: StatusCode::OK, headers, text }
    }
}

impl Page {
    /// The same page with another status.
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// The same page with another header field, or another value of one.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        (self.status, self.headers, self.text).into_response()
    }
}
