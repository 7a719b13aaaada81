//! Open orders, and cancelling one.

use axum::extract::{Path, State};
use maud::{Markup, html};

use crate::protocol::front::{CancelOrder, GetOpenOrders};
use crate::protocol::{Kind, Order, Problem, Reason, Side, State as OrderState};
use crate::web::failure::Failure;
use crate::web::layout::{self, freshness, separated};
use crate::web::session::Signed;
use crate::web::site::Site;
use tidegate_sitekit::web::field::hidden;
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when::Moment;

/// GET /orders: transaction 3
pub async fn open(State(site): State<Site>, signed: Signed) -> Result<Page, Failure> {
    let found = site.call(&GetOpenOrders { session: signed.key() }).await?;
    let form = signed.form();
    let body = html! {
        (freshness(found.feed))
        @if found.orders.is_empty() {
            p.notice { "No order waits. " a href="/orders/new" { "Give one" } "." }
        } @else {
            table.stack.open {
                caption { "Orders that wait for their price, newest first" }
                thead { tr {
                    th scope="col" { "Given" } th scope="col" { "Order" } th.num scope="col" { "Shares" }
                    th.num scope="col" { "Limit" } th.num.live scope="col" hidden { "Price" }
                    th scope="col" { "Good until" } th scope="col" { "Cancel" }
                } }
                tbody { @for order in &found.orders { tr {
                    td { (Moment(order.created)) }
                    th scope="row" { (side(order.side)) " " (order.symbol) @if order.kind == Kind::Market { " at the market" } }
                    td.num { (separated(order.quantity)) }
                    td.num { (order.limit) }
                    // A script that follows the prices fills it in.
                    td.num.live data-price=(order.symbol) hidden {}
                    td { @if let Some(expires) = order.expires { (Moment(expires)) } @else { "you cancel it" } }
                    td { (cancel_form(order, &form)) }
                } } }
            }
            @if found.more { p.fine { "There are more; these are the newest." } }
        }
        p.actions { a.button href="/orders/new" { "New order" } " " a href="/history" { "History" } }
    };
    Ok(layout::page("Open orders", &signed, body))
}

/// A button that cancels an order.
pub fn cancel_form(order: &Order, form: &str) -> Markup {
    html! {
        form method="post" action={ "/orders/" (order.number) "/cancel" } {
            (hidden("form", form))
            button.plain type="submit" aria-label={ "Cancel order " (order.number) } { "Cancel" }
        }
    }
}

/// POST /orders/{number}/cancel
pub async fn cancel(
    State(site): State<Site>,
    signed: Signed,
    Path(number): Path<String>,
    posted: Posted,
) -> Result<Page, Failure> {
    signed.check(&posted)?;
    let number = number.parse().ok().filter(|number: &i64| *number > 0);
    let number = number.ok_or_else(|| {
        let remedy = "Look at your open orders.";
        Problem::new(404, "There is no such order", "This is no number of an order.", remedy)
    })?;
    let order = site.call(&CancelOrder { session: signed.key(), number }).await?.order;
    let cancelled = order.state == OrderState::Cancelled;
    let title = if cancelled { "Order cancelled" } else { "The order had ended before" };
    let class = if cancelled { "notice good" } else { "notice bad" };
    let body = html! {
        p class=(class) role="status" { (became(&order)) }
        (details(&order))
        p.actions { a.button href="/orders" { "Open orders" } " " a href="/main" { "Main page" } }
    };
    Ok(layout::page(title, &signed, body))
}

/// What an order is.
pub fn details(order: &Order) -> Markup {
    html! {
        dl {
            dt { "Order" } dd { (order.number) ", " (Moment(order.created)) }
            dt { (side(order.side)) } dd { (separated(order.quantity)) " shares of " (order.symbol) }
            @match order.kind {
                Kind::Limit => { dt { "Limit" } dd { (order.limit) } },
                Kind::Market => { dt { "At the market" } dd { @if order.side == Side::Buy { "at most " } @else { "at least " } (order.limit) } },
            }
            @if let Some(price) = order.price {
                dt { "Carried out at" }
                dd { (price) @if let Some(cash) = price.times(order.quantity) { ", " (cash) " in all" } }
            }
            dt { "Good until" } dd { @if let Some(expires) = order.expires { (Moment(expires)) } @else { "you cancel it" } }
        }
    }
}

/// Buy or sell.
pub fn side(side: Side) -> &'static str {
    match side {
        Side::Buy => "Buy",
        Side::Sell => "Sell",
    }
}

/// What became of an order, in a sentence.
pub fn became(order: &Order) -> &'static str {
    match (order.state, order.reason) {
        (OrderState::Open, _) => "It waits for its price.",
        (OrderState::Filled, _) => "It was carried out.",
        (OrderState::Cancelled, Reason::Expired) => "Its day was over.",
        (OrderState::Cancelled, _) => {
            "It was cancelled; what it had reserved is yours to use again."
        }
        (OrderState::Rejected, Reason::Shares) => {
            "It was not accepted: you do not have so many shares to sell."
        }
        (OrderState::Rejected, _) => "It was not accepted: you do not have so much cash to spend.",
    }
}
