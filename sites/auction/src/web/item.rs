//! An item and the history of its bids.

use axum::extract::{Path, Query, State};
use maud::{Markup, html};

use super::app::App;
use super::failure::{Failure, missing};
use super::layout::{self, Crumb, count, pager, prose, range, rating};
use super::picture;
use super::search::{PageQuery, id};
use crate::catalogue::{category_name, region_name};
use crate::store::items::{self, Item};
use crate::store::{PAGE, bids, pages};
use tidegate_sitekit::Result;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when::{self, Left, Moment};

/// The item that an address names.
///
/// # Errors
/// There is none.
pub async fn find(app: &App, text: &str) -> Result<Item> {
    let item = items::item(&app.database, id(text, "item")?).await?;
    Ok(item.ok_or_else(|| missing("item", "Nothing was ever offered under this number."))?)
}

/// GET /items/{item}: ViewItem
pub async fn view(State(app): State<App>, Path(text): Path<String>) -> Result<Page, Failure> {
    let item = find(&app, &text).await?;
    let now = when::now();
    let category = category_name(item.category).unwrap_or("Everything Else");
    let above = format!("/categories/{}", item.category);
    let body = html! {
        div.item {
            div.shot { (picture::of_item(item.category, item.id, 480)) }
            div.facts {
                h1 { (item.name) }
                @if item.ended { p.notice { "This auction has ended." } }
                p.price { (item.price()) " "
                    small { (item.price_is()) } }
                dl {
                    dt { "Time left" } dd.left { (Left(item.end_date - now)) }
                    dt { "Ends" } dd { (Moment(item.end_date)) }
                    dt { "Began" } dd { (Moment(item.start_date)) " at " (item.initial_price) }
                    dt { "Bids" } dd { a href={ "/items/" (item.id) "/bids" } { (count(item.nb_of_bids, "bid", "bids")) } }
                    dt { "Quantity" } dd { (item.quantity) }
                    @if item.reserve_price.0 > 0 {
                        dt { "Reserve" } dd { @if item.max_bid >= item.reserve_price { "met" } @else { "not met yet" } }
                    }
                    dt { "Seller" } dd { a href={ "/users/" (item.seller) } { (item.seller_nickname) } " " (rating(item.seller_rating)) }
                    dt { "Location" } dd { (region_name(item.region).unwrap_or("unknown")) }
                }
                (actions(&item))
            }
        }
        section { h2 { "What the seller says" } (prose(&item.description)) }
    };
    let crumbs = [
        Crumb::Above("/categories", "Categories"),
        Crumb::Above(&above, category),
        Crumb::Here(&item.name),
    ];
    Ok(layout::bare(&item.name, &crumbs, body))
}

fn actions(item: &Item) -> Markup {
    html! {
        p.actions {
            @if !item.ended {
                a.button href={ "/items/" (item.id) "/bid" } { "Place a bid" } " "
                @if let Some(price) = item.buy_now.some() {
                    a.button.quiet href={ "/items/" (item.id) "/buy" } { "Buy now for " (price) } " "
                }
            }
            a href={ "/users/" (item.seller) "/comment?item=" (item.id) } { "Leave a comment on the seller" }
        }
    }
}

/// GET /items/{item}/bids: ViewBidHistory
pub async fn history(
    State(app): State<App>,
    Path(text): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Page, Failure> {
    let item = find(&app, &text).await?;
    let pages = pages(item.nb_of_bids, PAGE);
    let page = query.of(pages)?;
    let bids = bids::history(&app.database, item.id, (page - 1) * PAGE).await?;
    let above = format!("/items/{}", item.id);
    let body = html! {
        (summary(&item))
        @if bids.is_empty() {
            p.notice { "Nobody has bid on it yet." @if !item.ended { " Yours could be the first." } }
        } @else {
            p.lead { "Bids " (range(page, bids.len(), item.nb_of_bids)) ", the latest first." }
            div.scroll { table {
                thead { tr { th scope="col" { "Bidder" } th.num scope="col" { "Bid" } th.num scope="col" { "Quantity" } th scope="col" { "When" } } }
                tbody {
                    @for bid in &bids {
                        tr {
                            td { a href={ "/users/" (bid.user) } { (bid.nickname) } }
                            td.num { (bid.bid) @if bid.bid == item.max_bid { " " span.badge { "highest" } } }
                            td.num { (bid.quantity) }
                            td { (Moment(bid.date)) }
                        }
                    }
                }
            } }
        }
        (pager(&format!("{above}/bids"), page, pages))
        (actions(&item))
    };
    let crumbs = [
        Crumb::Above("/categories", "Categories"),
        Crumb::Above(&above, &item.name),
        Crumb::Here("Bids"),
    ];
    Ok(layout::page(&format!("Bids on {}", item.name), &crumbs, body))
}

/// An item in one line, for pages with another subject.
pub fn summary(item: &Item) -> Markup {
    html! {
        a.summary href={ "/items/" (item.id) } {
            (picture::of_item(item.category, item.id, 120))
            span {
                strong { (item.name) }
                span.price { (item.price()) }
                small {
                    (count(item.nb_of_bids, "bid", "bids")) " · "
                    @if item.ended { "ended" } @else { (Left(item.end_date - when::now())) " left" }
                    " · offered by " (item.seller_nickname)
                }
            }
        }
    }
}
