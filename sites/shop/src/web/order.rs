//! An order: how far it has come, and what the customer can do. The page looks again by itself
//! while something may change, by the header field `Refresh` and without a script.

use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderValue;
use axum::http::header::REFRESH;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use url::form_urlencoded;

use super::app::{App, id};
use super::basket::sum;
use super::failure::{Failure, missing};
use super::layout;
use super::visitor::Visitor;
use crate::store::orders::{self, Line, Order, Reason, State as Stage};
use tidegate_card::client::{self as card, Waiting};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::web::picture::image;
use tidegate_sitekit::when::Moment;

async fn own(app: &App, visitor: &Visitor, number: i64) -> Result<Order, Failure> {
    let order = match &visitor.session {
        Some(session) => orders::own(&app.database, number, &session.key, session.customer).await?,
        None => None,
    };
    Ok(order.ok_or_else(|| {
        missing("order", "You have none of this number. Sign in, if you were when you ordered.")
    })?)
}

/// GET /orders/{order}?pay&look=N
pub async fn view(
    State(app): State<App>,
    visitor: Visitor,
    Path(text): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let order = own(&app, &visitor, id(&text, "order")?).await?;
    let around = app.around(visitor.zone).await?;
    let lines = orders::lines(&app.database, order.number).await?;
    let query = query.unwrap_or_default();
    let again = again(&order, Waiting::read(&query));
    let is_again = form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "again");
    let title = title(&order);
    let body = html! {
        h1 { (title) }
        @if is_again { p.notice { "This form had been sent before, with another address. Each form is accepted once: below is what it ordered then." } }
        (status(&order))
        @if order.state.is_open() && again.is_none() {
            p.aside { "This page does not look again by itself any more. " a href={ "/orders/" (order.number) } { "Look again" } "." }
        }
        (details(&order, &lines))
    };
    let mut response =
        layout::page(&around, title, &[("/account", "Account")], &body).into_response();
    if let Some(again) = again.and_then(|again| HeaderValue::try_from(again).ok()) {
        response.headers_mut().insert(REFRESH, again);
    }
    Ok(response)
}

/// GET /orders/returned?order=N: the customer comes back from the card form. What the rest of the
/// address says anybody could have written, so the processor is asked.
pub async fn returned(
    State(app): State<App>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Redirect, Failure> {
    let query = query.unwrap_or_default();
    let order = own(&app, &visitor, id(&card::returned(&query, "order"), "order")?).await?;
    if let (Some(payments), true) = (&app.payments, order.state.is_open()) {
        // What it cannot do now the queue does later.
        let _ = payments.work_quickly(order.number).await;
    }
    Ok(Redirect::to(&format!("/orders/{}", order.number)))
}

/// Where the page goes by itself, and after how long.
fn again(order: &Order, waiting: Waiting) -> Option<String> {
    let form = order.form.as_deref().filter(|_| order.state == Stage::Form);
    waiting.refresh(&format!("/orders/{}", order.number), form, order.state.is_open())
}

fn title(order: &Order) -> &'static str {
    match order.state {
        Stage::Asked => "Your order is placed",
        Stage::Form => "Your order waits for your card",
        Stage::Authorised => "Your card is authorised",
        Stage::Paid => "Thank you, your order is paid",
        Stage::Cancelled => "Your order is cancelled",
    }
}

/// What has become of an order, in a sentence.
pub fn became(order: &Order) -> &'static str {
    match (order.state, order.reason) {
        (Stage::Asked, _) => "The card processor is asked for its card form. Nothing was charged.",
        (Stage::Form, _) => "It waits for your card. Nothing was charged.",
        (Stage::Authorised, _) => "The card is authorised, and the amount is being taken.",
        (Stage::Paid, _) => "It is paid, and will be sent.",
        (Stage::Cancelled, Some(Reason::Declined)) => "The card was declined. Nothing was charged.",
        (Stage::Cancelled, Some(Reason::Customer)) => {
            "It was cancelled at the card form. Nothing was charged."
        }
        (Stage::Cancelled, Some(Reason::NoCard)) => {
            "No card was typed in time. Nothing was charged."
        }
        (Stage::Cancelled, Some(Reason::NoAnswer)) => {
            "The card processor did not answer for a long time. Nothing was charged."
        }
        (Stage::Cancelled, _) => {
            "The card processor does not take this payment. Nothing was charged, or it was given back."
        }
    }
}

fn status(order: &Order) -> Markup {
    let (class, advice) = match order.state {
        Stage::Asked => ("notice", "Wait a moment; you need not do anything."),
        Stage::Form => ("notice", "Type your card at the card processor."),
        Stage::Authorised => ("notice", "Wait a moment. Do not pay again."),
        Stage::Paid => ("notice good", "You find it among the orders of your account."),
        Stage::Cancelled => {
            ("notice bad", "Its goods are for sale again; order them anew if you like.")
        }
    };
    html! {
        section class=(class) role="status" { p { (became(order)) } p { strong { (advice) } } }
        @if let (Some(form), Stage::Form) = (&order.form, order.state) {
            p.actions { a.button href=(form) rel="noreferrer" { "Type your card" } }
        }
    }
}

fn details(order: &Order, lines: &[Line]) -> Markup {
    let address = &order.address;
    html! {
        div.two {
            div {
                h2 { "Order " (order.number) }
                ul.lines {
                    @for line in lines {
                        li {
                            (image(line.department, line.product, 96))
                            div { a href={ "/products/" (line.product) } { (line.name) } p.each { (line.quantity) " × " (line.price) } }
                            strong.price { (Cents(line.price.0 * line.quantity)) }
                        }
                    }
                }
                (sum(order.sum()))
            }
            div {
                h2 { "It goes to" }
                p { (address.name) br; (address.street) br; (address.city) " " (address.postcode) br; (order.email) }
                dl {
                    dt { "Placed" } dd { (Moment(order.created)) }
                    dt { "Zone" } dd { (order.zone) }
                    @if let Some(card) = &order.card { dt { "Card" } dd { (card) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::customers::Address;

    fn order(state: Stage) -> Order {
        Order {
            number: 7,
            state,
            reason: None,
            form: Some("https://card.example/1".into()),
            card: None,
            created: 0,
            zone: 1,
            goods: Cents(100),
            shipping: Cents(0),
            tax: Cents(0),
            email: String::new(),
            address: Address::default(),
        }
    }

    #[test]
    fn a_page_leads_to_the_form_only_while_the_order_waits_for_it() {
        let of = |state| again(&order(state), Waiting::read("pay"));
        assert_eq!(of(Stage::Form), Some("0; url=https://card.example/1".into()));
        assert_eq!(of(Stage::Authorised), Some("2; url=/orders/7?pay&look=1".into()));
        assert_eq!(of(Stage::Paid), None);
    }

    #[test]
    fn whoever_was_not_charged_is_told_so() {
        for number in 0..5 {
            let state = Stage::from_number(number).unwrap();
            for reason in Reason::ALL.iter().copied().map(Some).chain([None]) {
                let text = became(&Order { reason, ..order(state) });
                let charged = matches!(state, Stage::Authorised | Stage::Paid);
                assert_eq!(text.contains("othing was charged"), !charged, "{text}");
            }
        }
    }
}
