//! The basket of a session.

use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use super::app::App;
use super::failure::Failure;
use super::layout;
use super::visitor::Visitor;
use crate::price::{Sum, in_zone};
use crate::store::basket::{self, Line, PIECES};
use crate::store::{orders, sessions};
use crate::zones::Zone;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::session::SessionToken;
use tidegate_sitekit::web::cookie;
use tidegate_sitekit::web::field::hidden;
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::web::picture::image;
use tidegate_sitekit::when;

/// GET /basket
pub async fn view(State(app): State<App>, visitor: Visitor) -> Result<Page, Failure> {
    let around = app.around(visitor.zone).await?;
    let lines = match &visitor.session {
        Some(session) => basket::lines(&app.database, &session.key).await?,
        None => Vec::new(),
    };
    let body = html! {
        h1 { "Your basket" }
        @if lines.is_empty() {
            p.notice { "There is nothing in it yet. The departments above show what there is." }
        } @else {
            ul.lines { @for line in &lines { li { (shown(&around.zone, line)) } } }
            (total(orders::cost(&around.zone, &lines).goods))
            p.actions { a.button href="/checkout" { "To the checkout" } }
        }
    };
    Ok(layout::page(&around, "Your basket", &[], &body))
}

fn shown(zone: &Zone, line: &Line) -> Markup {
    let field = format!("quantity-{}", line.product);
    let of = format!("Pieces of {}", line.name);
    let price = in_zone(zone, line.price);
    html! {
        (image(line.department, line.product, 96))
        div {
            a href={ "/products/" (line.product) } { (line.name) }
            @if line.stock < line.quantity { p.short { "There are " (line.stock) " left." } }
            p.each { (line.quantity) " × " (price) }
        }
        strong.price { (Cents(price.0 * line.quantity)) }
        form method="post" action="/basket/lines" {
            (hidden("product", line.product))
            label.unseen for=(field) { (of) }
            input id=(field) name="quantity" type="number" min="0" max=(PIECES) value=(line.quantity) inputmode="numeric" required;
            button.quiet type="submit" { "Change" span.unseen { " " (line.name) } }
        }
        form method="post" action="/basket/lines" {
            (hidden("product", line.product))
            (hidden("quantity", 0))
            button.quiet type="submit" { "Remove" span.unseen { " " (line.name) } }
        }
    }
}

fn total(goods: Cents) -> Markup {
    html! {
        p.total { "Together " strong { (goods) } " " small { "without tax and shipping, which the checkout adds" } }
    }
}

/// The sum of an order.
pub fn sum(sum: Sum) -> Markup {
    html! {
        dl.sum {
            dt { "Goods" } dd { (sum.goods) }
            dt { "Shipping" } dd { (sum.shipping) }
            dt { "Tax" } dd { (sum.tax) }
            dt { strong { "Total" } } dd { strong { (sum.total()) } }
        }
    }
}

/// POST /basket: `product`, `quantity`. A browser without a session gets one.
pub async fn add(
    State(app): State<App>,
    visitor: Visitor,
    posted: Posted,
) -> Result<Response, Failure> {
    let mut form = posted.check();
    let product = form.number("product", "Product", 1..=i64::MAX);
    let quantity = form.number("quantity", "Pieces", 1..=PIECES);
    form.done()?;
    let mut transaction = app.database.begin().await?;
    let (key, new) = match &visitor.session {
        Some(session) => (session.key.clone(), None),
        None => {
            let token = SessionToken::random()?;
            sessions::begin(&mut transaction, &token.key(), 0, when::now()).await?;
            (token.key(), Some(token))
        }
    };
    basket::add(&mut transaction, &key, product, quantity).await?;
    transaction.commit().await?;
    let mut response = Redirect::to("/basket").into_response();
    if let Some(token) = new {
        response.headers_mut().insert(SET_COOKIE, cookie::set(&token, visitor.secure));
    }
    Ok(response)
}

/// POST /basket/lines: `product`, `quantity`, of which 0 takes it out.
pub async fn change(
    State(app): State<App>,
    visitor: Visitor,
    posted: Posted,
) -> Result<Redirect, Failure> {
    let mut form = posted.check();
    let product = form.number("product", "Product", 1..=i64::MAX);
    let quantity = form.number("quantity", "Pieces", 0..=PIECES);
    form.done()?;
    if let Some(session) = &visitor.session {
        basket::set(&app.database, &session.key, product, quantity).await?;
    }
    Ok(Redirect::to("/basket"))
}
