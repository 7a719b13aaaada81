//! The frame of every page, and small elements that pages share.

use std::sync::LazyLock;

use maud::{Markup, Render, html};

use super::assets;
use crate::store::PAGE;
use tidegate_sitekit::web::page::{Frame, Look, Page};

/// Name of the site.
pub const BRAND: &str = "Slipway";

static LOOK: LazyLock<Look> = LazyLock::new(|| Look {
    brand: BRAND,
    style: assets::STYLE.url(),
    logo: Some(assets::LOGO.url()),
    // No script at all, styles and pictures from here, forms to here, no frames.
    policy: "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
             base-uri 'none'; frame-ancestors 'none'",
    cache: "private, no-cache",
});

/// A page with a heading below its breadcrumbs.
pub fn page(title: &str, crumbs: &[Crumb<'_>], body: Markup) -> Page {
    bare(title, crumbs, html! { h1 { (title) } (body) })
}

/// A page with a heading of its own.
pub fn bare(title: &str, crumbs: &[Crumb<'_>], body: Markup) -> Page {
    let header = html! {
        form.find method="get" action="/search" role="search" aria-label="Search" {
            input type="search" name="q" maxlength="100" aria-label="Search the auctions" placeholder="Search the auctions";
            button type="submit" { "Search" }
        }
        nav aria-label="Main" {
            a href="/browse" { "Browse" }
            a href="/categories" { "Categories" }
            a href="/regions" { "Regions" }
            a href="/sell" { "Sell" }
            a href="/me" { "My auctions" }
            a.cta href="/register" { "Register" }
        }
    };
    let content = html! {
        @if !crumbs.is_empty() {
            nav.crumbs aria-label="You are here" {
                a href="/" { "Home" }
                @for crumb in crumbs { (crumb) }
            }
        }
        (body)
    };
    let footer = html! {
        p {
            strong { (BRAND) } " is a small auction house by the water: things with a past, "
            "offered by people for people, in 62 harbours and cities."
        }
        p {
            a href="/categories" { "All categories" } " · "
            a href="/regions" { "By region" } " · "
            a href="/sell" { "Sell an item" } " · "
            a href="/register" { "Open an account" }
        }
        p.fine { "Bids are binding. Prices are in US dollars, times in UTC." }
    };
    LOOK.page(title, Frame { home: "/", script: None, header, footer }, &content)
}

/// A step of the way from the home page; the last one is where the reader is.
pub enum Crumb<'a> {
    /// A page above: its address and name.
    Above(&'a str, &'a str),
    /// This page.
    Here(&'a str),
}

impl Render for Crumb<'_> {
    fn render(&self) -> Markup {
        match self {
            Self::Above(href, name) => html! { a href=(href) { (name) } },
            Self::Here(name) => html! { span aria-current="page" { (name) } },
        }
    }
}

/// The bar below a list: previous, "Page x of y", next. `path` is the address
/// of the list without the page.
pub fn pager(path: &str, page: i64, pages: i64) -> Markup {
    let to = if path.contains('?') { "&page=" } else { "?page=" };
    html! {
        nav.pager aria-label="Pages" {
            @if page > 1 {
                a rel="prev" href={ (path) (to) (page - 1) } { "← Previous" }
            } @else {
                span aria-hidden="true" { "← Previous" }
            }
            strong { "Page " (page) " of " (pages) }
            @if page < pages {
                a rel="next" href={ (path) (to) (page + 1) } { "Next →" }
            } @else {
                span aria-hidden="true" { "Next →" }
            }
        }
    }
}

/// "21 to 40 of 57" of a list, for the line above it.
pub fn range(page: i64, shown: usize, entries: i64) -> String {
    let from = (page - 1) * PAGE;
    let to = from + i64::try_from(shown).unwrap_or(0);
    format!("{} to {to} of {}", from + 1, entries.max(to))
}

/// A number with its noun in the right form.
pub fn count(number: i64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A person's rating as a small badge.
pub fn rating(rating: i64) -> Markup {
    let class = match rating {
        ..0 => "rating bad",
        0 => "rating",
        1.. => "rating good",
    };
    let shown = if rating == 0 { "0".into() } else { format!("{rating:+}") };
    html! { span class=(class) title="Sum of all ratings" { (shown) } }
}

/// The line above the answer to a form that was sent before with other values.
pub fn sent_before(differs: bool) -> Markup {
    html! {
        @if differs {
            p.notice {
                "This form had been sent before, with other values. Each form is accepted once: "
                "below is what it stored then. To send other values, open the form again."
            }
        }
    }
}

/// Text written by a user, with its line breaks.
pub fn prose(text: &str) -> Markup {
    html! { div.prose { (text) } }
}
