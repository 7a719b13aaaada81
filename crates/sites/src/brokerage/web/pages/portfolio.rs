//! The portfolio.

use axum::extract::State;
use maud::{Markup, html};

use crate::brokerage::protocol::front::{GetPortfolio, Valued};
use crate::brokerage::web::failure::Failure;
use crate::brokerage::web::layout::{Page, freshness, separated};
use crate::brokerage::web::session::Signed;
use crate::brokerage::web::site::Site;
use crate::money::Cents;

/// GET /portfolio
pub async fn portfolio(State(site): State<Site>, signed: Signed) -> Result<Page, Failure> {
    let found = site.call(&GetPortfolio { session: signed.key() }).await?;
    let body = html! {
        (freshness(found.feed))
        @if found.holdings.is_empty() {
            p.notice { "You hold no shares. " a href="/orders/new" { "Buy some" } "." }
        } @else {
            div.scroll { table {
                caption { (separated(i64::try_from(found.holdings.len()).unwrap_or(0))) " holdings, worth " (found.overview.shares_worth) " in all" }
                thead { tr {
                    th scope="col" { "Symbol" } th scope="col" { "Company" }
                    th.num scope="col" { "Shares" } th.num scope="col" { "Price" }
                    th.num scope="col" { "Worth" } th.num scope="col" { "Gain" }
                } }
                tbody { @for holding in &found.holdings { (row(holding)) } }
            } }
        }
        dl {
            dt { "Cash to spend" } dd { (found.overview.available) }
            dt { "Reserved for orders" } dd { (found.overview.reserved) }
        }
        p.actions { a.button href="/orders/new" { "New order" } }
    };
    Ok(Page::new("Portfolio", &signed, body))
}

fn row(holding: &Valued) -> Markup {
    let Valued { security, shares, reserved, cost, worth } = holding;
    let gain = Cents(worth.0.saturating_sub(cost.0));
    let class = if gain.0 < 0 { "num falls" } else { "num rises" };
    html! {
        tr {
            td { (security.symbol) }
            td { (security.name) }
            td.num { (separated(*shares)) @if *reserved > 0 { " (" (separated(*reserved)) " reserved)" } }
            td.num data-price=(security.symbol) data-cents=(security.price.0) { (security.price) }
            td.num data-worth=(security.symbol) data-shares=(shares) data-cents=(worth.0) { (worth) }
            td class=(class) { (gain) }
        }
    }
}
