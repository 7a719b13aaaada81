//! The frame of every page.

use std::sync::LazyLock;

use maud::{Markup, html};

use super::assets::{LOGO, STYLE};
use super::shelf::Around;
use crate::price::in_zone;
use crate::store::products::{Listed, Rating};
use crate::zones::Zone;
use tidegate_sitekit::web::page::{Frame, Look, Page};
use tidegate_sitekit::web::picture::image;

static LOOK: LazyLock<Look> = LazyLock::new(|| Look {
    brand: "Fernhill",
    style: STYLE.url(),
    logo: Some(LOGO.url()),
    // No script at all, styles and pictures from here, forms to here, no frames.
    policy: "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
             base-uri 'none'; frame-ancestors 'none'",
    cache: "private, no-cache",
});

/// A page with a heading below its breadcrumbs: addresses and names of the pages above it.
pub fn page(around: &Around, title: &str, above: &[(&str, &str)], body: &Markup) -> Page {
    let content = html! {
        nav.crumbs aria-label="You are here" {
            a href="/" { "Home" }
            @for (href, name) in above { a href=(href) { (name) } }
            span aria-current="page" { (title) }
        }
        (body)
    };
    wide(around, title, &content)
}

/// A page without breadcrumbs.
pub fn wide(around: &Around, title: &str, content: &Markup) -> Page {
    let header = html! {
        (tools())
        a.zone href="/zone" { "Prices for " strong { (around.zone.name) } }
        nav.departments aria-label="Departments" {
            @for department in &around.departments {
                a href={ "/departments/" (department.slug) } { (department.name) }
            }
        }
    };
    framed(title, header, content)
}

/// A page that needs no database.
pub fn bare(title: &str, body: &Markup) -> Page {
    framed(title, tools(), &html! { h1 { (title) } (body) })
}

fn tools() -> Markup {
    html! {
        form.find method="get" action="/search" role="search" aria-label="Search" {
            input type="search" name="q" maxlength="100" aria-label="Search the shop" placeholder="Search the shop";
            button type="submit" { "Search" }
        }
        nav aria-label="Yours" {
            a href="/basket" { "Basket" }
            a href="/account" { "Account" }
        }
    }
}

fn framed(title: &str, header: Markup, content: &Markup) -> Page {
    let footer = html! {
        p { strong { "Fernhill" } " sells things for the house, the garden and the road, all over the country." }
        p {
            a href="/" { "All departments" } " · " a href="/basket" { "Basket" } " · "
            a href="/account" { "Account and orders" } " · " a href="/zone" { "Your postcode" }
        }
        p.fine { "A reference site for load tests: nothing is delivered, and only test cards are taken. Prices are in US dollars, without tax and shipping." }
    };
    LOOK.page(title, Frame { home: "/", script: None, header, footer }, content)
}

/// Products as cards, with their prices in a zone.
pub fn cards(zone: &Zone, products: &[Listed]) -> Markup {
    html! {
        ul.cards {
            @for product in products {
                li { a href={ "/products/" (product.id) } {
                    (image(product.department, product.id, 240))
                    strong.name { (product.name) }
                    (stars(product.rating))
                    span.price { (in_zone(zone, product.price)) }
                } }
            }
        }
    }
}

/// What customers say of a product, in stars.
pub fn stars(Rating { stars, reviews }: Rating) -> Markup {
    if reviews == 0 {
        return html! { small.stars { "no reviews yet" } };
    }
    // In tenths, halves rounded up.
    let tenths = (20 * stars + reviews) / (2 * reviews);
    let full = usize::try_from((tenths + 5) / 10).unwrap_or(0).min(5);
    html! {
        span.stars {
            span aria-hidden="true" { ("★".repeat(full)) ("☆".repeat(5 - full)) }
            small { (tenths / 10) "." (tenths % 10) " of 5, " (count(reviews, "review", "reviews")) }
        }
    }
}

/// A number with its noun in the right form.
pub fn count(number: i64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// The bar below a list: `address` gives that of a page.
pub fn pager(page: i64, pages: i64, address: impl Fn(i64) -> String) -> Markup {
    html! {
        @if pages > 1 {
            nav.pager aria-label="Pages" {
                @if page > 1 {
                    a rel="prev" href=(address(page - 1)) { "← Previous" }
                } @else {
                    span aria-hidden="true" { "← Previous" }
                }
                strong { "Page " (page) " of " (pages) }
                @if page < pages {
                    a rel="next" href=(address(page + 1)) { "Next →" }
                } @else {
                    span aria-hidden="true" { "Next →" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_are_shown_in_tenths() {
        let shown = |stars, reviews| stars_text(Rating { stars, reviews });
        assert!(shown(13, 3).contains("★★★★☆") && shown(13, 3).contains("4.3 of 5, 3 reviews"));
        assert!(shown(9, 2).contains("4.5 of 5") && shown(9, 2).contains("★★★★★"));
        assert!(shown(1, 1).contains("1.0 of 5, 1 review"));
        assert!(shown(0, 0).contains("no reviews"));
    }

    fn stars_text(rating: Rating) -> String {
        stars(rating).into_string()
    }
}
