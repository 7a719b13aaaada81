//! Paying in: the form of a deposit, what it sends, and the customer's deposits.

use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use maud::{Markup, html};

use super::deposit::{became, form_of_another_amount};
use super::older::{before, links};
use crate::error::Error;
use crate::protocol::deposits::front::{CreateDeposit, Deposits, GetDeposits};
use crate::protocol::{DepositId, Outage, Problem};
use crate::web::failure::{self, Failure};
use crate::web::layout;
use crate::web::session::Signed;
use crate::web::site::Site;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::problem::set_retry_after;
use tidegate_sitekit::web::field::{Filled, hidden, input, summary};
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when::Moment;

/// GET /deposits?before=N
pub async fn list(
    State(site): State<Site>,
    signed: Signed,
    RawQuery(query): RawQuery,
) -> Result<Page, Failure> {
    let before = before(query.as_deref().unwrap_or_default(), "deposits", "a deposit", "deposits")?;
    let found = site.call(&GetDeposits { session: signed.key(), before }).await?;
    let id = DepositId::random();
    let body = html! {
        @if before.is_none() { (form(&found, &signed, id.as_str(), "", Filled::default())) }
        (table(&found, before.is_some()))
    };
    Ok(layout::page("Deposit", &signed, body))
}

/// POST /deposits
pub async fn create(
    State(site): State<Site>,
    signed: Signed,
    posted: Posted,
) -> Result<Response, Failure> {
    signed.check(&posted)?;
    let value = |name: &str| posted.get(name).unwrap_or_default().trim();
    let id = DepositId::try_from(value("deposit").to_owned()).map_err(|_| {
        let why = "It carries no name for the deposit.";
        Problem::new(400, "This form cannot be used", why, "Open the form again and send it anew.")
    })?;
    // What is no amount is out of range, and the application tier says which amounts are not.
    let amount = Cents::parse(value("amount")).unwrap_or_default();
    match site.call(&CreateDeposit { session: signed.key(), id, amount }).await {
        Ok(created) if created.differs => {
            Ok(form_of_another_amount(&created.deposit, &signed).into_response())
        }
        Ok(created) => {
            let page = format!("/deposits/{}?pay", created.deposit.number);
            Ok(Redirect::to(&page).into_response())
        }
        Err(Error::Refused(problem)) if !problem.mistakes.is_empty() => {
            let found = site.call(&GetDeposits { session: signed.key(), before: None }).await?;
            let filled = Filled { mistakes: &problem.mistakes };
            let body = html! {
                (summary(&problem))
                (form(&found, &signed, value("deposit"), value("amount"), filled))
                (table(&found, false))
            };
            let page = layout::page(&problem.what, &signed, body);
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).into_response())
        }
        Err(Error::Outage(outage)) => Ok(unanswered(&outage, &posted, &signed)),
        Err(refused) => Err(refused.into()),
    }
}

fn form(found: &Deposits, signed: &Signed, id: &str, amount: &str, filled: Filled<'_>) -> Markup {
    html! {
        @if found.set_up {
            form.panel method="post" action="/deposits" {
                (hidden("form", signed.form()))
                (hidden("deposit", id))
                (input(filled, "Amount in dollars", "amount", "text", "transaction-amount", amount, "Such as 250.00"))
                button type="submit" { "Pay by card" }
            }
            p.fine { "You type your card at the card processor; the brokerage never sees its number. You have " strong { (found.available) } " to spend." }
        } @else {
            section.notice {
                p { "Deposits by card are not set up: this brokerage has no card processor. " strong { "Ask the brokerage how else you can pay in." } }
            }
        }
    }
}

fn table(found: &Deposits, older: bool) -> Markup {
    let next = found.deposits.last().filter(|_| found.more).map(|deposit| deposit.number);
    html! {
        @if found.deposits.is_empty() {
            @if found.set_up || older { p.fine { "You have made no deposit yet" @if older { " before that one" } "." } }
        } @else {
            table.stack.deposits {
                caption { "Your deposits, newest first." }
                thead { tr {
                    th scope="col" { "Made" } th scope="col" { "Deposit" }
                    th.num scope="col" { "Amount" } th scope="col" { "What became of it" }
                } }
                tbody { @for deposit in &found.deposits { tr {
                    td { (Moment(deposit.created)) }
                    th scope="row" { a href={ "/deposits/" (deposit.number) } { "No. " (deposit.number) } }
                    td.num { (deposit.amount) }
                    td { (became(deposit)) }
                } } }
            }
        }
        (links("/deposits", older, next, "Older deposits"))
    }
}

/// The page after a deposit whose fate is not known: it can be sent again, and is accepted once.
fn unanswered(outage: &Outage, posted: &Posted, signed: &Signed) -> Response {
    failure::log(outage);
    let body = html! {
        section.notice.bad role="alert" {
            p { "A part of the brokerage cannot be reached or does not answer. Nothing was charged." }
            p {
                @if outage.may_be_done { "It is not certain whether your deposit was accepted. " } @else { "Your deposit was not accepted. " }
                strong { "Send it again in a moment: whatever happened, it is accepted once." }
            }
        }
        form.panel method="post" action="/deposits" {
            (hidden("form", signed.form()))
            @for name in ["deposit", "amount"] { (hidden(name, posted.get(name).unwrap_or_default())) }
            button type="submit" { "Send the same deposit again" }
        }
        p.actions { a href="/deposits" { "Your deposits" } }
    };
    let page = layout::page("Your deposit is not confirmed", signed, body);
    let mut response = page.status(StatusCode::SERVICE_UNAVAILABLE).into_response();
    set_retry_after(&mut response, Some(5));
    response
}
