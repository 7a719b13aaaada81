//! The portfolio.

use axum::extract::State;
use maud::{Markup, html};

use crate::protocol::front::{GetPortfolio, Portfolio, Valued};
use crate::web::chart::chart;
use crate::web::failure::Failure;
use crate::web::layout::{self, direction, freshness, percent, separated, signed};
use crate::web::session::Signed;
use crate::web::site::Site;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when::Moment;

/// GET /portfolio
pub async fn portfolio(State(site): State<Site>, signed: Signed) -> Result<Page, Failure> {
    let found = site.call(&GetPortfolio { session: signed.key() }).await?;
    let since = Moment(i64::try_from(found.history_since_ms / 1000).unwrap_or(0));
    let body = html! {
        (freshness(found.feed))
        (figures(&found))
        @if found.holdings.is_empty() {
            p.notice { "You hold no shares. " a href="/orders/new" { "Buy some" } "." }
        } @else {
            table.stack.holdings {
                caption {
                    (separated(i64::try_from(found.holdings.len()).unwrap_or(0))) " holdings. Charts begin at " (since) "; dashed is the price then."
                }
                thead { tr {
                    th scope="col" { "Security" } th scope="col" { "Chart" }
                    th.num scope="col" { "Shares" } th.num scope="col" { "Price" }
                    th.num scope="col" { "Worth" } th.num scope="col" { "Gain" }
                    th scope="col" { "Trade" }
                } }
                tbody { @for holding in &found.holdings { (row(holding, since)) } }
            }
        }
        p.actions { a.button href="/orders/new" { "New order" } }
    };
    Ok(layout::page("Portfolio", &signed, body))
}

/// What the customer has in all.
fn figures(found: &Portfolio) -> Markup {
    let overview = &found.overview;
    let cash = overview.available.plus(overview.reserved);
    let total = cash.and_then(|cash| cash.plus(overview.shares_worth));
    let cost = found.holdings.iter().try_fold(Cents(0), |sum, holding| sum.plus(holding.cost));
    html! {
        dl.figures {
            @if let (Some(cash), Some(total)) = (cash, total) {
                div.main { dt { "In all" } dd #total data-cash=(cash.0) { (total) } }
            }
            div { dt { "Shares" } dd #worth { (overview.shares_worth) } }
            @if let Some((cost, gain)) = cost.and_then(|cost| Some((cost, overview.shares_worth.minus(cost)?))) {
                div { dt { "Gain on shares" } dd.(direction(gain)) #gain data-cost=(cost.0) { (gained(gain, cost)) } }
            }
            div { dt { "Cash to spend" } dd { (overview.available) } }
            div { dt { "Reserved for orders" } dd { (overview.reserved) } }
        }
    }
}

/// A gain as an amount, and in percent of the cost.
fn gained(gain: Cents, cost: Cents) -> Markup {
    html! { span { (signed(gain)) } " " small { @if let Some(percent) = percent(gain, cost) { (percent) } } }
}

fn row(holding: &Valued, since: Moment) -> Markup {
    let Valued { security, shares, reserved, cost, worth, history } = holding;
    let gain = Cents(worth.0.saturating_sub(cost.0));
    let symbol = &security.symbol;
    html! {
        tr data-symbol=(symbol) data-shares=(shares) data-cost=(cost.0) {
            th scope="row" { (symbol) small { (security.name) } }
            td { (chart(symbol, history, security.price, since)) }
            td.num { (separated(*shares)) @if *reserved > 0 { small { (separated(*reserved)) " reserved" } } }
            td.num data-price=(symbol) { (security.price) }
            td.num.worth { (worth) }
            td.num.gain.(direction(gain)) { (gained(gain, *cost)) }
            td { a href={ "/orders/new?side=sell&symbol=" (symbol) } aria-label={ "Sell " (symbol) } { "Sell" } }
        }
    }
}
