//! Buying at the fixed price: sign in, confirm, have it stored.

use axum::extract::{Path, State};
use maud::html;

use super::app::{App, Purpose};
use super::bid::{find_active, own_item};
use super::failure::Failure;
use super::field;
use super::item::summary;
use super::layout::{self, Crumb, sent_before};
use super::search::id;
use crate::store::items::Item;
use crate::store::purchases::{self, NewPurchase, no_fixed_price};
use tidegate_sitekit::Result;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::once::form::Accepted;
use tidegate_sitekit::web::field::hidden;
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when;

async fn offer(app: &App, text: &str) -> Result<(Item, Cents)> {
    let item = find_active(app, text).await?;
    let price = item.buy_now.some().ok_or_else(no_fixed_price)?;
    Ok((item, price))
}

fn crumbs<'a>(above: &'a str, item: &'a Item) -> [Crumb<'a>; 3] {
    [Crumb::Above("/categories", "Categories"), Crumb::Above(above, &item.name), Crumb::Here("Buy")]
}

/// GET /items/{item}/buy: BuyNowAuth
pub async fn sign_in(State(app): State<App>, Path(text): Path<String>) -> Result<Page, Failure> {
    let (item, price) = offer(&app, &text).await?;
    let above = format!("/items/{}", item.id);
    let body = html! {
        (summary(&item))
        form.panel method="post" action={ (above) "/buy" } {
            (field::sign_in())
            button type="submit" { "Sign in and buy for " (price) }
        }
        p.aside { "No account yet? " a href="/register" { "Open one" } ": it takes a minute." }
    };
    Ok(layout::page("Sign in to buy", &crumbs(&above, &item), body))
}

/// POST /items/{item}/buy: BuyNow
pub async fn form(
    State(app): State<App>,
    Path(text): Path<String>,
    posted: Posted,
) -> Result<Page, Failure> {
    let buyer = app.sign_in(&posted).await?;
    let (item, price) = offer(&app, &text).await?;
    if buyer.id == item.seller {
        return Err(own_item().into());
    }
    let above = format!("/items/{}", item.id);
    let body = html! {
        (summary(&item))
        form.panel method="post" action={ (above) "/purchases" } {
            (hidden("auth", app.token(buyer.id, Purpose::Buy { item: item.id })))
            p { "One costs " strong { (price) } "; " (item.quantity) " left." }
            (field::number("Quantity", "quantity", 1, item.quantity, 1))
            button type="submit" { "Buy now" }
        }
        p.aside { "You buy as " strong { (buyer.nickname) } ". The purchase is binding and takes effect at once." }
    };
    Ok(layout::page("Confirm your purchase", &crumbs(&above, &item), body))
}

/// POST /items/{item}/purchases: StoreBuyNow
pub async fn store(
    State(app): State<App>,
    Path(text): Path<String>,
    posted: Posted,
) -> Result<Page, Failure> {
    let item = id(&text, "item")?;
    let (user, sent) = app.issued_for(Purpose::Buy { item }, &posted)?;
    let mut form = posted.check();
    let quantity = form.number("quantity", "Quantity", 1..=1_000_000);
    form.done()?;
    let new = NewPurchase { user, item, quantity, date: when::now() };
    let Accepted { answer: bought, differs } = purchases::buy(&app.database, sent, new).await?;
    let above = format!("/items/{item}");
    let body = html! {
        (sent_before(differs))
        p.notice.good role="status" { "It is yours. The seller has been told and will write to you." }
        dl {
            dt { "Price" } dd { (bought.price) " each" }
            dt { "Quantity" } dd { (bought.quantity) }
            dt { "To pay" } dd { strong { (Cents(bought.price.0.saturating_mul(bought.quantity))) } }
            dt { "Left" } dd { (bought.left) }
        }
        p.actions {
            a.button href="/browse" { "Browse on" } " "
            a.button.quiet href=(above) { "Back to the item" } " "
            a href="/me" { "My auctions" }
        }
    };
    let crumbs =
        [Crumb::Above("/browse", "Browse"), Crumb::Above(&above, "Item"), Crumb::Here("Bought")];
    Ok(layout::page("Thank you for your purchase", &crumbs, body))
}
