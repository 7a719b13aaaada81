//! A product, with its price in the reader's zone.

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};

use super::app::{App, id};
use super::failure::{Failure, missing};
use super::layout::{self, cards, stars};
use super::visitor::ZoneCookie;
use crate::options::Build;
use crate::price::in_zone;
use crate::store::basket::PIECES;
use crate::store::places;
use crate::store::products::{self, Product, Rating, Review};
use tidegate_sitekit::web::field::hidden;
use tidegate_sitekit::web::picture::image;

/// GET /products/{product}
pub async fn view(
    State(app): State<App>,
    Path(text): Path<String>,
    ZoneCookie(zone): ZoneCookie,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let number = id(&text, "product")?;
    let of = (zone, format!("/products/{number}"), Some(format!("products/{number}.html")));
    app.browse(&headers, of, async |around| {
        let none = || missing("product", "The shop has nothing of this number.");
        let product = products::product(&app.database, number).await?.ok_or_else(none)?;
        let set = places::set_by_id(&app.database, product.set).await?.ok_or_else(none)?;
        let reviews = products::reviews(&app.database, number).await?;
        let one_by_one = app.build == Build::Baseline;
        let near = products::neighbours(&app.database, set.id, number, one_by_one).await?;
        let total = reviews.iter().map(|review| review.stars).sum();
        let rating =
            Rating { stars: total, reviews: i64::try_from(reviews.len()).unwrap_or(i64::MAX) };
        let body = html! {
            div.product {
                div.shot { (image(product.department, product.id, 480)) }
                div.facts {
                    h1 { (product.name) }
                    (stars(rating))
                    p.price { (in_zone(&around.zone, product.price)) small { " in " (around.zone.name) } }
                    (buy(&product))
                    (elsewhere(number))
                }
            }
            section { h2 { "About it" } p.prose { (product.description) } p.aside { "Weight with its box: " (product.weight / 1000) "." (product.weight % 1000 / 100) " kg." } }
            section { h2 { "What customers say" } (said(&reviews)) }
            @if !near.is_empty() { section { h2 { "More " (set.name.to_lowercase()) } (cards(&around.zone, &near)) } }
        };
        let mut departments = around.departments.iter();
        let department = departments.find(|department| department.id == set.department);
        let (department, name) = department.map_or_else(Default::default, |department| {
            (format!("/departments/{}", department.slug), department.name.as_str())
        });
        let above = [(&*department, name), (&*format!("/sets/{}", set.slug), &set.name)];
        Ok(layout::page(&around, &product.name, &above, &body))
    })
    .await
}

fn buy(product: &Product) -> Markup {
    html! {
        form.buy method="post" action="/basket" {
            (hidden("product", product.id))
            label for="quantity" { "Pieces" }
            input #quantity name="quantity" type="number" min="1" max=(PIECES) value="1" inputmode="numeric" required;
            button type="submit" { "Put into the basket" }
        }
    }
}

fn elsewhere(product: i64) -> Markup {
    html! {
        form.elsewhere method="post" action="/zone" {
            (hidden("back", format!("/products/{product}")))
            label for="postcode" { "What it costs elsewhere: postcode" }
            input #postcode name="postcode" inputmode="numeric" pattern="[0-9]{5}" minlength="5" maxlength="5" autocomplete="postal-code" required;
            button.quiet type="submit" { "Show" }
        }
    }
}

fn said(reviews: &[Review]) -> Markup {
    html! {
        @if reviews.is_empty() { p.notice { "Nobody has reviewed it yet." } }
        ul.reviews {
            @for review in reviews {
                li {
                    strong { (review.name) } " " (stars_of(review.stars))
                    p { (review.remark) }
                }
            }
        }
    }
}

fn stars_of(number: i64) -> Markup {
    let full = usize::try_from(number).unwrap_or(0).min(5);
    html! {
        span.stars aria-hidden="true" { ("★".repeat(full)) ("☆".repeat(5 - full)) }
        span.unseen { (number) " of 5 stars" }
    }
}
