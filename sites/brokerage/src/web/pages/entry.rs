//! The form of a new order, and what it sends.

use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use maud::{Markup, html};
use url::form_urlencoded;

use super::orders::{became, cancel_form, details};
use crate::error::Error;
use crate::protocol::front::{CreateOrder, Created, GetOrderEntry, OrderEntry};
use crate::protocol::{
    Kind, NewOrder, OrderId, Outage, Problem, Reason, Side, State as OrderState,
};
use crate::web::failure::{self, Failure};
use crate::web::layout::{self, freshness};
use crate::web::session::Signed;
use crate::web::site::Site;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::problem::set_retry_after;
use tidegate_sitekit::web::field::{Filled, hidden, summary};
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;

/// The names of the form's fields, but for its session.
const FIELDS: [&str; 7] = ["order", "symbol", "side", "kind", "quantity", "limit", "good"];

/// GET /orders/new: transaction 5. A link may choose the side and the security.
pub async fn form(
    State(site): State<Site>,
    signed: Signed,
    RawQuery(query): RawQuery,
) -> Result<Page, Failure> {
    let entry = site.call(&GetOrderEntry { session: signed.key() }).await?;
    let order = OrderId::random();
    let query = query.unwrap_or_default();
    let chosen = |name: &str| {
        let mut fields = form_urlencoded::parse(query.as_bytes());
        fields.find(|(field, _)| field == name).map(|(_, value)| value.into_owned())
    };
    let value = |name: &str| match name {
        "order" => order.as_str().to_owned(),
        "side" => chosen(name).unwrap_or_else(|| "buy".into()),
        "symbol" => chosen(name).unwrap_or_default(),
        "kind" => "limit".into(),
        "good" => "cancel".into(),
        _ => String::new(),
    };
    Ok(layout::page("New order", &signed, fields(&entry, &signed, value, Filled::default())))
}

/// POST /orders: transaction 6
pub async fn create(
    State(site): State<Site>,
    signed: Signed,
    posted: Posted,
) -> Result<Response, Failure> {
    signed.check(&posted)?;
    let created = match read(&posted) {
        Ok(order) => site.call(&CreateOrder { session: signed.key(), order }).await,
        Err(problem) => Err(problem.into()),
    };
    match created {
        Ok(created) => Ok(confirmation(&created, &signed).into_response()),
        Err(Error::Refused(problem)) if !problem.mistakes.is_empty() => {
            let entry = site.call(&GetOrderEntry { session: signed.key() }).await?;
            let value = |name: &str| posted.get(name).unwrap_or_default().to_owned();
            let filled = Filled { mistakes: &problem.mistakes };
            let body = html! {
                (summary(&problem))
                (fields(&entry, &signed, value, filled))
            };
            let page = layout::page(&problem.what, &signed, body);
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).into_response())
        }
        Err(Error::Outage(outage)) => Ok(unanswered(&outage, &posted, &signed)),
        Err(refused) => Err(refused.into()),
    }
}

/// The order that a form asks for.
fn read(posted: &Posted) -> Result<NewOrder, Problem> {
    let value = |name: &str| posted.get(name).unwrap_or_default().trim();
    let Ok(id) = OrderId::try_from(value("order").to_owned()) else {
        return Err(Problem::new(
            400,
            "This form cannot be used",
            "It carries no name for the order.",
            "Open the form again and send it anew.",
        ));
    };
    let side = match value("side") {
        "buy" => Some(Side::Buy),
        "sell" => Some(Side::Sell),
        _ => None,
    };
    let kind = match value("kind") {
        "limit" => Some(Kind::Limit),
        "market" => Some(Kind::Market),
        _ => None,
    };
    // What is no number and no amount is out of range, and the application tier says so.
    let limit = Some(value("limit")).filter(|text| !text.is_empty());
    Ok(NewOrder {
        id,
        symbol: value("symbol").into(),
        side,
        kind,
        quantity: value("quantity").parse().unwrap_or_default(),
        limit: limit.map(|text| Cents::parse(text).unwrap_or_default()),
        day: value("good") == "day",
    })
}

fn fields(
    entry: &OrderEntry,
    signed: &Signed,
    value: impl Fn(&str) -> String,
    filled: Filled<'_>,
) -> Markup {
    let symbol = value("symbol");
    let radio = |name: &str, choice: &str, text: &str| {
        let id = format!("{name}-{choice}");
        html! {
            label for=(id) {
                input #(id) type="radio" name=(name) value=(choice) checked[value(name) == choice];
                " " (text)
            }
        }
    };
    let number = |label: &str, name: &str, mode: &str, hint: &str| {
        filled.field(label, name, hint, |described, wrong| {
            html! {
                input #(name) name=(name) type="text" inputmode=(mode) autocomplete="off" value=(value(name))
                    aria-describedby=[described] aria-invalid=[wrong.then_some("true")];
            }
        })
    };
    html! {
        (freshness(entry.feed))
        form.panel #new-order method="post" action="/orders" {
            (hidden("form", signed.form()))
            (hidden("order", value("order")))
            (filled.choice("Side", "side", html! { (radio("side", "buy", "Buy")) (radio("side", "sell", "Sell")) }))
            (filled.field("Security", "symbol", "Symbol, company and latest price", |described, wrong| html! {
                select #symbol name="symbol" aria-describedby=[described] aria-invalid=[wrong.then_some("true")] {
                    option value="" { "Choose one" }
                    @for security in &entry.securities {
                        option value=(security.symbol) selected[security.symbol == symbol] {
                            (security.symbol) " – " (security.name) " – " (security.price)
                        }
                    }
                }
            }))
            (number("Shares", "quantity", "numeric", "A whole number"))
            (filled.choice("Price", "kind", html! { (radio("kind", "limit", "My limit or better")) (radio("kind", "market", "The next price") )}))
            (number("Limit", "limit", "decimal", "For a share, such as 12.50. Empty for the next price, which may be a tenth from the latest at most."))
            (filled.choice("Good until", "good", html! { (radio("good", "cancel", "I cancel it")) (radio("good", "day", "The end of the day, UTC")) }))
            // A script fills the estimate in. It changes with every price: a screen reader has it
            // with the button alone.
            div.sum #estimate data-cash=(entry.available.0) {
                p { "You have " strong { (entry.available) } " to spend." }
            }
            button type="submit" aria-describedby="estimate" { "Send the order" }
        }
    }
}

fn confirmation(created: &Created, signed: &Signed) -> Page {
    let order = &created.order;
    let rejected = order.state == OrderState::Rejected;
    let title = if rejected { "Your order was not accepted" } else { "Your order is accepted" };
    let class = if rejected { "notice bad" } else { "notice good" };
    let body = html! {
        @if created.differs {
            p.notice { "This form had been sent before, with other values. Each form is accepted once: below is the order that it gave then. For another order, open the form again." }
        }
        p class=(class) role="status" {
            (became(order))
            @if order.state == OrderState::Open && order.kind == Kind::Market { " That is the next one." }
        }
        @if order.state == OrderState::Open { (freshness(created.feed)) }
        (details(order))
        p { "You have " strong { (created.available) } " to spend." }
        @if rejected {
            p { strong { @if order.reason == Reason::Shares { "Sell fewer shares, or cancel an order that has reserved them." } @else { "Buy fewer shares, set a lower limit, or cancel an order that has reserved cash." } } }
        }
        @if order.state == OrderState::Open { (cancel_form(order, &signed.form())) }
        p.actions { a.button href="/orders/new" { "Another order" } " " a href="/orders" { "Open orders" } " " a href="/main" { "Main page" } }
    };
    let status = if rejected { StatusCode::CONFLICT } else { StatusCode::OK };
    layout::page(title, signed, body).status(status)
}

/// The page after an order whose fate is not known: it can be sent again, and is accepted
/// once.
fn unanswered(outage: &Outage, posted: &Posted, signed: &Signed) -> Response {
    failure::log(outage);
    let body = html! {
        section.notice.bad role="alert" {
            p { "A part of the brokerage cannot be reached or does not answer. Your order was fine." }
            p {
                @if outage.may_be_done { "It is not certain whether it was accepted. " } @else { "It was not accepted. " }
                strong { "Send it again in a moment: whatever happened, it is accepted once." }
            }
        }
        form.panel method="post" action="/orders" {
            (hidden("form", signed.form()))
            @for name in FIELDS { (hidden(name, posted.get(name).unwrap_or_default())) }
            button type="submit" { "Send the same order again" }
        }
        p.actions { a href="/orders" { "Open orders" } }
    };
    let page = layout::page("Your order is not confirmed", signed, body);
    let mut response = page.status(StatusCode::SERVICE_UNAVAILABLE).into_response();
    set_retry_after(&mut response, Some(5));
    response
}
