//! The frame of every page.

use axum::http::StatusCode;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use tidegate_sitekit::web::page::headers;

/// Headers of every page. No address of a form leaves the site as a referrer: who knows it may
/// pay. Without any referrer browsers would not say where a form comes from either.
const HEADERS: [(HeaderName, HeaderValue); 5] = headers("same-origin", "no-store");

/// A page as a response.
pub struct Page {
    status: StatusCode,
    policy: String,
    text: String,
}

impl Page {
    /// A page. `returns_to` is the origin to which a form may lead, beside here.
    pub fn new(title: &str, returns_to: Option<&str>, body: &Markup) -> Self {
        let markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " – Card payment" }
                    link rel="stylesheet" href="/static/card.css";
                }
                body {
                    header { p.brand { "Card payment" } p.test { "Test" } }
                    main { (body) }
                    footer {
                        p {
                            "This is a simulated card processor. Type test cards only, never a "
                            "real one. The merchant does not see the card."
                        }
                    }
                }
            }
        };
        // Browsers apply form-action to where a form redirects as well.
        let policy = format!(
            "default-src 'none'; style-src 'self'; form-action 'self'{}{}; base-uri 'none'; frame-ancestors 'none'",
            if returns_to.is_some() { " " } else { "" },
            returns_to.unwrap_or_default()
        );
        Self { status: StatusCode::OK, policy, text: markup.into_string() }
    }

    /// The same page with another status.
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let policy = HeaderValue::try_from(self.policy)
            .unwrap_or(HeaderValue::from_static("default-src 'none'"));
        let mut response = (self.status, HEADERS, self.text).into_response();
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        response
    }
}
