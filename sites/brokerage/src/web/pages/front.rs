//! The front page: the same for everybody, and made once.

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, HeaderValue};
use maud::html;

use crate::securities;
use crate::web::layout::public;
use tidegate_sitekit::web::page::Page;

/// GET / and /index.html: transaction 1
pub async fn front() -> Response {
    static PAGE: LazyLock<Page> = LazyLock::new(page);
    let mut response = PAGE.clone().into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
    response
}

fn page() -> Page {
    let body = html! {
        p.lead { "Buy and sell shares of " (securities::COUNT) " companies at live prices." }
        p.actions { a.button href="/login" { "Sign in" } }
        h2 { "What you can do here" }
        ul.tiles {
            li { h3 { "Watch" } "See what your shares are worth, at prices that move while you look." }
            li { h3 { "Trade" } "Give limit orders, which wait for your price, and market orders, which take the next one." }
            li { h3 { "Keep track" } "Cancel an order as long as it waits, and look up what became of all others." }
        }
        h2 { "How orders work" }
        p.text { "An order reserves the cash or the shares that it may need, so that nothing is spent twice. It is carried out at a price that is your limit or better, and what it does not use is yours again. An order that you send twice by accident is accepted once." }
    };
    public("A safe place for your shares", body)
}
