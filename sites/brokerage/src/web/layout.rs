//! The frame of every page, and small elements that pages share.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{self, HeaderName, HeaderValue};
use maud::{DOCTYPE, Markup, html};

use super::assets;
use super::session::Signed;
use crate::protocol::front::Feed;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::web::page::headers;
use tidegate_sitekit::when::Moment;

/// Name of the site.
pub const BRAND: &str = "Breakwater";

/// Scripts, styles and pictures from here alone, none within a page; forms to here; no
/// frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; \
                      style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// Pages of customers, by address and title.
const NAVIGATION: [(&str, &str); 5] = [
    ("/portfolio", "Portfolio"),
    ("/orders", "Open orders"),
    ("/history", "History"),
    ("/orders/new", "New order"),
    ("/deposits", "Deposit"),
];

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
                                @for (address, name) in NAVIGATION {
                                    a href=(address) aria-current=[(name == title).then_some("page")] { (name) }
                                }
                                form method="post" action="/logout" {
                                    input type="hidden" name="form" value=(form);
                                    button.plain type="submit" { "Sign out" }
                                }
                            } @else {
                                a href="/login" aria-current=[(title == "Sign in").then_some("page")] { "Sign in" }
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

/// How fresh the prices of a page are. A script keeps the line up to date: the time, of which a
/// screen reader says nothing by itself, and whether prices come at all, which it says.
pub fn freshness(feed: Feed) -> Markup {
    let at = i64::try_from(feed.as_of_ms / 1000).unwrap_or(0);
    let begun = feed.as_of_ms > 0;
    let state = if begun && feed.stopped { "stopped" } else { "loaded" };
    html! {
        p.feed #feed data-state=(state) {
            span #as-of {
                @if begun { "Prices as of " (Moment(at)) "." } @else { "Prices of the first day." }
            }
            " "
            strong #feed-state role="status" {
                @if !begun {
                    "The price feed has not begun. Orders wait for it."
                } @else if feed.stopped {
                    "The price feed has stopped. Orders wait until it goes on."
                }
            }
        }
    }
}

/// An amount with its sign: `+$12.50`, `−$3.00`, `$0.00`.
pub fn signed(amount: Cents) -> String {
    let size = Cents(amount.0.saturating_abs());
    match amount.0 {
        0 => size.to_string(),
        1.. => format!("+{size}"),
        // The minus sign, which screen readers say, no hyphen.
        _ => format!("−{size}"),
    }
}

/// The class of an amount: what rises and what falls has a colour, beside its sign.
pub fn direction(amount: Cents) -> &'static str {
    match amount.0 {
        0 => "same",
        1.. => "rises",
        _ => "falls",
    }
}

/// What a gain is of a cost, in percent: `+1.2 %`, with a space that does not break. Of nothing
/// it is none.
pub fn percent(gain: Cents, cost: Cents) -> Option<String> {
    if cost.0 <= 0 {
        return None;
    }
    let tenths =
        (i128::from(gain.0) * 2000 + i128::from(cost.0)).div_euclid(i128::from(cost.0) * 2);
    let sign = match tenths {
        0 => "",
        1.. => "+",
        _ => "−",
    };
    Some(format!("{sign}{}.{}\u{a0}%", tenths.abs() / 10, tenths.abs() % 10))
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
    fn gains_have_their_sign_and_losses_a_minus() {
        assert_eq!(
            [0, 1250, -300].map(|cents| signed(Cents(cents))),
            ["$0.00", "+$12.50", "−$3.00"]
        );
        let shown = |gain, cost| percent(Cents(gain), Cents(cost));
        assert_eq!(
            shown(125, 10_000).as_deref(),
            Some("+1.3\u{a0}%"),
            "half a tenth is rounded up"
        );
        assert_eq!(shown(-10, 1000).as_deref(), Some("−1.0\u{a0}%"));
        assert_eq!(shown(1, 100_000).as_deref(), Some("0.0\u{a0}%"));
        assert_eq!((shown(5, 0), shown(0, 5).as_deref()), (None, Some("0.0\u{a0}%")));
        assert!(shown(i64::MAX, 1).is_some());
    }

    #[test]
    fn numbers_have_separators() {
        let shown = [0, 7, 999, 1000, 123_456, -1_000_000].map(separated);
        assert_eq!(shown, ["0", "7", "999", "1,000", "123,456", "-1,000,000"]);
    }

    #[test]
    fn a_feed_that_has_stopped_is_shown() {
        let shown = |as_of_ms, stopped| freshness(Feed { as_of_ms, stopped }).into_string();
        assert!(shown(60_000, false).contains("Prices as of 1 Jan 1970, 00:01 UTC."));
        assert!(shown(60_000, true).contains("The price feed has stopped"));
        assert!(shown(0, true).contains("has not begun"));
    }
}
