//! Placing a bid: sign in, fill in the form, have it stored.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use maud::{Markup, html};

use super::app::{App, Issued, Purpose};
use super::failure::Failure;
use super::field;
use super::item::{find, summary};
use super::layout::{self, Crumb, count, sent_before};
use super::search::id;
use crate::store::bids::{self, NewBid, Outcome, ended};
use crate::store::items::Item;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::once::form::Accepted;
use tidegate_sitekit::once::form::refused;
use tidegate_sitekit::web::field::hidden;
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when::{self, Moment};
use tidegate_sitekit::{Problem, Result};

fn crumbs<'a>(above: &'a str, item: &'a Item) -> [Crumb<'a>; 3] {
    [Crumb::Above("/categories", "Categories"), Crumb::Above(above, &item.name), Crumb::Here("Bid")]
}

/// The item, if it can still be bid on or bought.
///
/// # Errors
/// There is none, or its auction has ended.
pub async fn find_active(app: &App, text: &str) -> Result<Item> {
    let item = find(app, text).await?;
    if item.ended {
        let why = format!("It ended on {}.", Moment(item.end_date));
        return Err(ended(&why).into());
    }
    Ok(item)
}

/// The refusal of a seller who bids on or buys their own item.
pub fn own_item() -> Problem {
    let why = "Sellers neither bid on their own items nor buy them.";
    Problem::new(403, "This is your own item", why, "Look for something that others offer.")
}

/// GET /items/{item}/bid: PutBidAuth
pub async fn sign_in(State(app): State<App>, Path(text): Path<String>) -> Result<Page, Failure> {
    let item = find_active(&app, &text).await?;
    let above = format!("/items/{}", item.id);
    let body = html! {
        (summary(&item))
        form.panel method="post" action={ (above) "/bid" } {
            (field::sign_in())
            button type="submit" { "Sign in and bid" }
        }
        p.aside { "No account yet? " a href="/register" { "Open one" } ": it takes a minute." }
    };
    Ok(layout::page("Sign in to bid", &crumbs(&above, &item), body))
}

/// POST /items/{item}/bid: PutBid
pub async fn form(
    State(app): State<App>,
    Path(text): Path<String>,
    posted: Posted,
) -> Result<Page, Failure> {
    let bidder = app.sign_in(&posted).await?;
    let item = find_active(&app, &text).await?;
    if bidder.id == item.seller {
        return Err(own_item().into());
    }
    let above = format!("/items/{}", item.id);
    let least = item.minimum_bid();
    let body = html! {
        (summary(&item))
        (fields(&app, bidder.id, &item, least, least, 1))
        p.aside {
            "You bid as " strong { (bidder.nickname) } ". A bid is binding. Before you decide, look at "
            a href={ (above) "/bids" } { "the bids so far" } ", "
            a href={ "/users/" (item.seller) } { "the seller" } " or "
            a href={ "/users/" (item.seller) "/comment?item=" (item.id) } { "comment on the seller" } "."
        }
    };
    Ok(layout::page("Place your bid", &crumbs(&above, &item), body))
}

/// The form of a bid, filled with these values as far as the item allows them.
fn fields(app: &App, bidder: i64, item: &Item, bid: Cents, limit: Cents, quantity: i64) -> Markup {
    let least = item.minimum_bid();
    let token = app.token(bidder, Purpose::Bid { item: item.id, minimum: least.0 });
    let (bid, limit) = (bid.max(least), limit.max(least));
    html! {
        form.panel method="post" action={ "/items/" (item.id) "/bids" } {
            (hidden("auth", token))
            (field::money_of("Your bid", "bid", least, bid, &format!("At least {least}")))
            (field::money_of("Your limit", "max_bid", least, limit, "Noted with the bid; at least as much"))
            (field::number("Quantity", "quantity", 1, item.quantity, quantity.min(item.quantity)))
            button type="submit" { "Place the bid" }
        }
    }
}

/// The answer to a bid that is no longer high enough: the price now, and the form
/// as it was filled in, from the minimum up.
async fn outbid(app: &App, text: &str, new: NewBid) -> Result<Page> {
    let item = find_active(app, text).await?;
    let above = format!("/items/{}", item.id);
    let body = html! {
        p.notice.bad role="alert" {
            "Your bid of " (new.bid) " was not placed: the highest bid is now "
            strong { (item.price()) } ". A new bid must be at least " (item.minimum_bid()) "."
        }
        (summary(&item))
        (fields(app, new.user, &item, new.bid, new.max_bid, new.quantity))
    };
    Ok(layout::page("You have been outbid", &crumbs(&above, &item), body)
        .status(StatusCode::CONFLICT))
}

/// POST /items/{item}/bids: StoreBid
pub async fn store(
    State(app): State<App>,
    Path(text): Path<String>,
    posted: Posted,
) -> Result<Page, Failure> {
    let item = id(&text, "item")?;
    let Issued { user, purpose, form: sent } = app.issued(&posted)?;
    let Purpose::Bid { item: signed, minimum } = purpose else {
        return Err(refused("It was handed out for something else.").into());
    };
    if signed != item {
        return Err(refused("It was handed out for another item.").into());
    }
    let mut form = posted.check();
    // A bid below the minimum that the form showed is a mistake in the form; one
    // that another user has exceeded meanwhile is answered with the new minimum.
    let bid = form.money("bid", "Your bid", Cents(minimum));
    let max_bid = form.money("max_bid", "Your limit", Cents(minimum));
    form.require("max_bid", max_bid >= bid, || "Your limit: must not be below your bid.".into());
    let quantity = form.number("quantity", "Quantity", 1..=1_000_000);
    form.done()?;
    let date = when::now();
    let new = NewBid { user, item, quantity, bid, max_bid, date };
    let Accepted { answer, differs } = bids::place(&app.database, sent, new).await?;
    let Outcome::Leads(placed) = answer else {
        return Ok(outbid(&app, &text, new).await?);
    };
    let above = format!("/items/{item}");
    let body = html! {
        (sent_before(differs))
        p.notice.good role="status" { "Your bid of " (placed.bid) " is stored, and it is the highest." }
        dl {
            dt { "Your bid" } dd { (placed.bid) " for " (placed.quantity) }
            dt { "Your limit" } dd { (placed.max_bid) }
            dt { "Highest bid" } dd { (placed.bid) }
            dt { "In all" } dd { a href={ (above) "/bids" } { (count(placed.nb_of_bids, "bid", "bids")) } }
        }
        p.actions {
            a.button href=(above) { "Back to the item" } " "
            a.button.quiet href="/browse" { "Browse on" } " "
            a href="/me" { "My auctions" }
        }
    };
    Ok(layout::page(
        "You lead",
        &[
            Crumb::Above("/browse", "Browse"),
            Crumb::Above(&above, "Item"),
            Crumb::Here("Bid stored"),
        ],
        body,
    ))
}
