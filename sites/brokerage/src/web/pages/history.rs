//! Completed orders.

use axum::extract::{RawQuery, State};
use maud::html;

use super::older::{before, links};
use super::orders::side;
use crate::protocol::front::GetHistory;
use crate::protocol::{Order, Reason, State as OrderState};
use crate::web::failure::Failure;
use crate::web::layout::{self, separated};
use crate::web::session::Signed;
use crate::web::site::Site;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when::Moment;

/// GET /history?before=N: transaction 4
pub async fn history(
    State(site): State<Site>,
    signed: Signed,
    RawQuery(query): RawQuery,
) -> Result<Page, Failure> {
    let before = before(query.as_deref().unwrap_or_default(), "the history", "an order", "orders")?;
    let found = site.call(&GetHistory { session: signed.key(), before }).await?;
    let older = found.orders.last().filter(|_| found.more).map(|order| order.number);
    let body = html! {
        @if found.orders.is_empty() {
            p.notice { "No order has ended yet" @if before.is_some() { " before that one" } "." }
        } @else {
            table.stack.past {
                caption { "Orders that were carried out or ended, newest first" }
                thead { tr {
                    th scope="col" { "Given" } th scope="col" { "Order" } th.num scope="col" { "Shares" }
                    th.num scope="col" { "Price" } th.num scope="col" { "In all" } th scope="col" { "Result" }
                } }
                tbody { @for order in &found.orders { tr {
                    td { (Moment(order.created)) }
                    th scope="row" { (side(order.side)) " " (order.symbol) }
                    td.num { (separated(order.quantity)) }
                    @match order.price {
                        Some(price) => {
                            td.num { (price) }
                            td.num { @if let Some(cash) = price.times(order.quantity) { (cash) } }
                        },
                        None => { td.num { "–" } td.num { "–" } },
                    }
                    td { (result(order)) }
                } } }
            }
        }
        (links("/history", before.is_some(), older, "Older orders"))
    };
    Ok(layout::page("History", &signed, body))
}

/// What became of an order, in a few words.
fn result(order: &Order) -> &'static str {
    match (order.state, order.reason) {
        (OrderState::Open, _) => "Open",
        (OrderState::Filled, _) => "Filled",
        (OrderState::Cancelled, Reason::Expired) => "Its day was over",
        (OrderState::Cancelled, _) => "Cancelled",
        (OrderState::Rejected, Reason::Shares) => "Rejected: too few shares",
        (OrderState::Rejected, _) => "Rejected: too little cash",
    }
}
