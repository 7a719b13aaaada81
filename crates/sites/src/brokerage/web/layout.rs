//! The frame of every page, and small elements that pages share.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{self, HeaderName, HeaderValue};
use maud::{DOCTYPE, Markup, html};

use super::assets;
use super::session::Signed;
use crate::brokerage::protocol::front::Feed;
use crate::web::page::headers;
use crate::when::Moment;

/// Name of the site.
pub const BRAND: &str = "Breakwater";

/// Scripts, styles and pictures from here alone, none within a page; forms to here; no
/// frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; \
                      style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// Headers of every page.
// What a customer has is kept by no cache, not even by the browser after signing out.
const HEADERS: [(HeaderName, HeaderValue); 5] = headers("same-origin", "no-store");

/// A page as a response.
#[derive(Clone)]
pub struct Page {
    status: StatusCode,
    text: String,
    cookie: Option<HeaderValue>,
}

impl Page {
    /// A page for anybody.
    pub fn public(title: &str, body: Markup) -> Self {
        Self::framed(title, None, body)
    }

    /// A page of a customer who is signed in.
    pub fn new(title: &str, signed: &Signed, body: Markup) -> Self {
        Self::framed(title, Some(&signed.form()), body)
    }

    /// The same, for a session that has just begun; `form` is what its forms carry.
    pub fn framed(title: &str, form: Option<&str>, body: Markup) -> Self {
        let markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " – " (BRAND) }
                    link rel="stylesheet" href=(*assets::STYLE_URL);
                    link rel="icon" type="image/svg+xml" href=(*assets::LOGO_URL);
                    @if form.is_some() { script src=(*assets::PRICES_URL) defer {} }
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    header.top {
                        a.brand href={ @if form.is_some() { "/main" } @else { "/" } } {
                            img src=(*assets::LOGO_URL) width="32" height="32" alt="";
                            (BRAND)
                        }
                        nav aria-label="Main" {
                            @if let Some(form) = form {
                                a href="/portfolio" { "Portfolio" }
                                a href="/orders" { "Open orders" }
                                a href="/history" { "History" }
                                a href="/orders/new" { "New order" }
                                a href="/deposits" { "Deposit" }
                                form method="post" action="/logout" {
                                    input type="hidden" name="form" value=(form);
                                    button.plain type="submit" { "Sign out" }
                                }
                            } @else {
                                a href="/login" { "Sign in" }
                            }
                        }
                    }
                    main #main { h1 { (title) } (body) }
                    footer.bottom {
                        p { (BRAND) " is a brokerage to test with: its companies, customers and money do not exist. Times are in UTC." }
                    }
                }
            }
        };
        Self { status: StatusCode::OK, text: markup.into_string(), cookie: None }
    }

    /// The same page with another status.
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// The same page, which sets or takes the session's cookie.
    pub fn cookie(mut self, cookie: HeaderValue) -> Self {
        self.cookie = Some(cookie);
        self
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let policy = (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        let mut response = (self.status, HEADERS, [policy], self.text).into_response();
        if let Some(cookie) = self.cookie {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        response
    }
}

/// How fresh the prices of a page are. A script keeps the line up to date.
pub fn freshness(feed: Feed) -> Markup {
    let at = i64::try_from(feed.as_of_ms / 1000).unwrap_or(0);
    html! {
        p.fine #feed data-stopped=[feed.stopped.then_some("")] role="status" {
            @if feed.as_of_ms == 0 {
                "The price feed has not begun: these are the prices of the first day. Orders wait for it."
            } @else if feed.stopped {
                strong { "Prices as of " (Moment(at)) ": the price feed has stopped." }
                " Orders wait until it goes on."
            } @else {
                "Prices as of " (Moment(at)) "."
            }
        }
    }
}

/// A number with separators: `12,345`.
pub fn separated(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators() {
        let shown = [0, 7, 999, 1000, 123_456, -1_000_000].map(separated);
        assert_eq!(shown, ["0", "7", "999", "1,000", "123,456", "-1,000,000"]);
    }

    #[test]
    fn a_feed_that_has_stopped_is_shown() {
        let shown = |as_of_ms, stopped| freshness(Feed { as_of_ms, stopped }).into_string();
        assert!(shown(60_000, false).contains("Prices as of 1 Jan 1970, 00:01 UTC."));
        assert!(shown(60_000, true).contains("the price feed has stopped"));
        assert!(shown(0, true).contains("has not begun"));
    }
}
