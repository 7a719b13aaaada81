//! One deposit: how far it has come, and what the customer can do. The page looks again by
//! itself while something may change, by the header field `Refresh` and without a script.

use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::HeaderValue;
use http::header::REFRESH;
use maud::{Markup, html};

use crate::protocol::deposits::front::GetDeposit;
use crate::protocol::{Deposit, DepositReason, DepositState, Problem};
use crate::web::failure::Failure;
use crate::web::layout;
use crate::web::session::Signed;
use crate::web::site::Site;
use tidegate_card::client::{self as card, Waiting};
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when::Moment;

/// GET /deposits/{number}?pay&look=N. With `pay` the customer is on the way to the card form.
pub async fn show(
    State(site): State<Site>,
    signed: Signed,
    Path(number): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let number = read_number(&number)?;
    let deposit = site.call(&GetDeposit { session: signed.key(), number, look: false }).await?;
    let query = Waiting::read(query.as_deref().unwrap_or_default());
    let path = format!("/deposits/{number}");
    let again = query.refresh(&path, deposit.form.as_deref(), deposit.state.is_open());
    let page = layout::page(title(&deposit), &signed, body(&deposit, query, again.is_some()));
    let mut response = page.into_response();
    if let Some(again) = again.and_then(|again| HeaderValue::try_from(again).ok()) {
        response.headers_mut().insert(REFRESH, again);
    }
    Ok(response)
}

/// GET /deposits/returned?deposit=N: the customer comes back from the card form. What the rest
/// of the address says anybody could have written, so the processor is asked.
pub async fn returned(
    State(site): State<Site>,
    signed: Signed,
    RawQuery(query): RawQuery,
) -> Result<Redirect, Failure> {
    let query = query.unwrap_or_default();
    let number = read_number(&card::returned(&query, "deposit"))?;
    site.call(&GetDeposit { session: signed.key(), number, look: true }).await?;
    Ok(Redirect::to(&format!("/deposits/{number}")))
}

/// The page for a form that was sent again with another amount.
pub fn form_of_another_amount(deposit: &Deposit, signed: &Signed) -> Page {
    let body = html! {
        p.notice { "This form had been sent before, with another amount. Each form is accepted once: below is the deposit that it gave then. For another deposit, open the form again." }
        (details(deposit))
        p.actions { a.button href={ "/deposits/" (deposit.number) } { "This deposit" } " " a href="/deposits" { "Another deposit" } }
    };
    layout::page("Your deposit was accepted before", signed, body)
}

fn read_number(text: &str) -> Result<i64, Problem> {
    text.parse().ok().filter(|number: &i64| *number > 0).ok_or_else(|| {
        let remedy = "Look at your deposits.";
        Problem::new(404, "There is no such deposit", "This is no number of a deposit.", remedy)
    })
}

fn title(deposit: &Deposit) -> &'static str {
    match deposit.state {
        DepositState::Asked | DepositState::Authorised if deposit.unanswered > 0 => {
            "The card processor does not answer"
        }
        DepositState::Asked => "Your deposit is being prepared",
        DepositState::Form => "Your deposit waits for your card",
        DepositState::Authorised => "Your card is authorised",
        DepositState::Paid => "Your deposit is paid in",
        DepositState::Declined => "Your card was declined",
        DepositState::Abandoned => "Your deposit was given up",
        DepositState::Failed => "Your deposit could not be made",
    }
}

fn body(deposit: &Deposit, query: Waiting, looks_again: bool) -> Markup {
    let class = match deposit.state {
        DepositState::Paid => "notice good",
        DepositState::Declined | DepositState::Abandoned | DepositState::Failed => "notice bad",
        _ if deposit.unanswered > 0 => "notice bad",
        _ => "notice",
    };
    html! {
        section class=(class) role="status" {
            p { (became(deposit)) }
            p { strong { (advice(deposit)) } }
        }
        @if let Some(form) = &deposit.form {
            p.actions { a.button href=(form) rel="noreferrer" { "Type your card" } }
            @if query.pay { p.fine { "You are taken to the card processor. If nothing happens, use the button." } }
        }
        (details(deposit))
        @if deposit.state.is_open() && !(query.pay && deposit.form.is_some()) {
            p.fine {
                @if looks_again { "This page looks again by itself." }
                @else { "This page does not look again by itself any more. " a href={ "/deposits/" (deposit.number) } { "Look again" } "." }
            }
        }
        p.actions { a.button href="/deposits" { "Your deposits" } " " a href="/main" { "Main page" } }
    }
}

fn details(deposit: &Deposit) -> Markup {
    html! {
        dl {
            dt { "Deposit" } dd { (deposit.number) ", " (Moment(deposit.created)) }
            dt { "Amount" } dd { (deposit.amount) }
            @if let Some((brand, digits)) = deposit.card.as_deref().and_then(|card| card.rsplit_once(' ')) {
                dt { "Card" } dd { (brand) ", ending in " (digits) }
            }
            @if let Some(closed) = deposit.closed { dt { "Ended" } dd { (Moment(closed)) } }
        }
    }
}

/// What has become of a deposit, in a sentence.
pub fn became(deposit: &Deposit) -> &'static str {
    use DepositReason as Why;
    match (deposit.state, deposit.reason) {
        (DepositState::Asked, _) if deposit.unanswered > 0 => {
            "It is stored. The card processor does not answer at the moment, and nothing was charged."
        }
        (DepositState::Asked, _) => {
            "It is stored, and the card processor is asked for its card form. Nothing was charged."
        }
        (DepositState::Form, _) => "It waits for your card. Nothing was charged.",
        (DepositState::Authorised, _) if deposit.unanswered > 0 => {
            "The card is authorised, but the card processor does not answer at the moment."
        }
        (DepositState::Authorised, _) => "The card is authorised, and the amount is being taken.",
        (DepositState::Paid, _) => "It was paid, and is yours to spend.",
        (DepositState::Declined, Why::Funds) => {
            "The card was declined: its account does not hold the amount. Nothing was charged."
        }
        (DepositState::Declined, Why::CardExpired) => {
            "The card was declined: it has expired. Nothing was charged."
        }
        (DepositState::Declined, Why::SecurityCode) => {
            "The card was declined: the security code is not that of the card. Nothing was charged."
        }
        (DepositState::Declined, _) => "The card was declined by its issuer. Nothing was charged.",
        (DepositState::Abandoned, Why::Customer) => {
            "It was cancelled at the card form. Nothing was charged."
        }
        (DepositState::Abandoned, Why::NoCard) => {
            "No card was typed within a day. Nothing was charged."
        }
        (DepositState::Abandoned, Why::Lapsed) => {
            "The card was authorised, but the amount could not be taken in time. Nothing was charged."
        }
        (DepositState::Abandoned, _) => {
            "It was cancelled by the brokerage. Nothing was charged, or it was given back to the card."
        }
        (DepositState::Failed, Why::NoAnswer) => {
            "The card processor did not answer for a long time. Nothing was charged."
        }
        (DepositState::Failed, _) => {
            "The card processor does not take this deposit. Nothing was charged."
        }
    }
}

/// What the customer can do.
fn advice(deposit: &Deposit) -> &'static str {
    match deposit.state {
        DepositState::Asked if deposit.unanswered > 0 => {
            "You need not do anything: the brokerage tries again by itself, and your deposit is among your deposits when you come back."
        }
        DepositState::Asked => "Wait a moment.",
        DepositState::Form => {
            "Type your card at the card processor. If you have paid just now, wait a moment."
        }
        DepositState::Authorised if deposit.unanswered > 0 => {
            "You need not do anything: the brokerage tries again by itself, and takes the amount once. Do not pay again."
        }
        DepositState::Authorised => "Wait a moment; you need not do anything.",
        DepositState::Paid => "Give an order whenever you like.",
        DepositState::Declined => "Make a new deposit with another card.",
        DepositState::Abandoned => "Make a new deposit if you still want to pay in.",
        DepositState::Failed => "Try again later. If it stays so, tell the brokerage.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_sitekit::money::Cents;

    fn deposit(state: DepositState) -> Deposit {
        Deposit {
            number: 7,
            amount: Cents(5000),
            state,
            reason: DepositReason::None,
            form: (state == DepositState::Form).then(|| "https://card.example/1".into()),
            card: None,
            unanswered: 0,
            created: 0,
            closed: None,
        }
    }

    #[test]
    fn whoever_was_not_charged_is_told_so() {
        for number in 0..7 {
            let state = DepositState::from_number(number).unwrap();
            for number in 0..11 {
                let reason = DepositReason::from_number(number).unwrap();
                for unanswered in [0, 1] {
                    let text = became(&Deposit { reason, unanswered, ..deposit(state) });
                    let charged = matches!(state, DepositState::Paid | DepositState::Authorised);
                    assert_eq!(text.contains("othing was charged"), !charged, "{text}");
                }
            }
        }
    }
}
