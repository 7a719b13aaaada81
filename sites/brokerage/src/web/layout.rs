//! The frame of every page, and small elements that pages share.

use std::sync::LazyLock;

use maud::{Markup, html};

use super::assets;
use super::session::Signed;
use crate::protocol::front::Feed;
use tidegate_sitekit::money::{self, Cents};
use tidegate_sitekit::web::field::hidden;
use tidegate_sitekit::web::page::{Frame, Look, Page};
use tidegate_sitekit::when::Moment;

/// Name of the site.
pub const BRAND: &str = "Breakwater";

/// Pages of customers, by address and title.
const NAVIGATION: [(&str, &str); 5] = [
    ("/portfolio", "Portfolio"),
    ("/orders", "Open orders"),
    ("/history", "History"),
    ("/orders/new", "New order"),
    ("/deposits", "Deposit"),
];

static LOOK: LazyLock<Look> = LazyLock::new(|| Look {
    brand: BRAND,
    style: assets::STYLE.url(),
    logo: Some(assets::LOGO.url()),
    // Scripts, styles and pictures from here alone, none within a page; forms to here; no
    // frames.
    policy: "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; \
             img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    // What a customer has is kept by no cache, not even by the browser after signing out.
    cache: "no-store",
});

/// A page for anybody.
pub fn public(title: &str, body: Markup) -> Page {
    framed(title, None, body)
}

/// A page of a customer who is signed in.
pub fn page(title: &str, signed: &Signed, body: Markup) -> Page {
    framed(title, Some(&signed.form()), body)
}

/// The same, for a session that has just begun; `form` is what its forms carry.
pub fn framed(title: &str, form: Option<&str>, body: Markup) -> Page {
    let header = html! {
        nav aria-label="Main" {
            @if let Some(form) = form {
                @for (address, name) in NAVIGATION {
                    a href=(address) aria-current=[(name == title).then_some("page")] { (name) }
                }
                form method="post" action="/logout" {
                    (hidden("form", form))
                    button.plain type="submit" { "Sign out" }
                }
            } @else {
                a href="/login" aria-current=[(title == "Sign in").then_some("page")] { "Sign in" }
            }
        }
    };
    let footer = html! {
        p { (BRAND) " is a brokerage to test with: its companies, customers and money do not exist. Times are in UTC." }
    };
    let home = if form.is_some() { "/main" } else { "/" };
    let script = form.map(|_| assets::PRICES_URL.as_str());
    LOOK.page(title, Frame { home, script, header, footer }, &html! { h1 { (title) } (body) })
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
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", money::separated(number.unsigned_abs()))
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
