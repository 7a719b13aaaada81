//! The main options page, and signing out.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::SET_COOKIE;
use http::{HeaderName, HeaderValue};
use maud::html;

use crate::error::Error;
use crate::protocol::Overview;
use crate::protocol::front::{GetOverview, SignOut};
use crate::web::failure::{self, Failure};
use crate::web::layout::{framed, public, separated};
use crate::web::session::Signed;
use crate::web::site::Site;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::web::cookie;
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;

/// What the browser may have kept of the customer's pages goes with the session.
const CLEAR: (HeaderName, HeaderValue) = (
    HeaderName::from_static("clear-site-data"),
    HeaderValue::from_static("\"cache\", \"storage\""),
);

/// GET /main
pub async fn main(State(site): State<Site>, signed: Signed) -> Result<Page, Failure> {
    let overview = site.call(&GetOverview { session: signed.key() }).await?;
    Ok(page(&overview, &signed.form()))
}

/// What a customer can do.
pub fn page(overview: &Overview, form: &str) -> Page {
    let total = [overview.reserved, overview.shares_worth]
        .into_iter()
        .try_fold(overview.available, Cents::plus);
    let body = html! {
        dl.figures {
            @if let Some(total) = total { div.main { dt { "In all" } dd { (total) } } }
            div { dt { "Shares" } dd { (overview.shares_worth) } }
            div { dt { "Cash to spend" } dd { (overview.available) } }
            div { dt { "Reserved for orders" } dd { (overview.reserved) } }
        }
        ul.tiles {
            li { a href="/portfolio" { strong { "Portfolio" } "Your shares and what they are worth" } }
            li { a href="/orders" { strong { "Open orders" } (separated(overview.open_orders)) " wait for their price" } }
            li { a href="/history" { strong { "History" } "Orders that were carried out or ended" } }
            li { a href="/orders/new" { strong { "New order" } "Buy or sell one of 250 securities" } }
            li { a href="/deposits" { strong { "Deposit" } "Pay in by card" } }
        }
        p.fine { "You are signed in as " (overview.user) ". " a href="/password" { "Change your password" } }
    };
    framed(&format!("Welcome, {}", overview.name), Some(form), body)
}

/// POST /logout
pub async fn sign_out(
    State(site): State<Site>,
    signed: Signed,
    posted: Posted,
) -> Result<Response, Failure> {
    signed.check(&posted)?;
    let ended = site.call(&SignOut { session: signed.key() }).await;
    let gone = cookie::unset(signed.secure);
    let body = match ended {
        Ok(_) => html! {
            p.notice.good role="status" { "You are signed out." }
            p.actions { a.button href="/login" { "Sign in again" } " " a href="/" { "To the front page" } }
        },
        // The browser forgets the session in any case.
        Err(Error::Outage(outage)) => {
            failure::log(&outage);
            html! {
                section.notice.bad role="alert" {
                    p { "This browser has forgotten your session, but the brokerage could not be told: it ends there after half an hour." }
                }
                p.actions { a.button href="/login" { "Sign in again" } }
            }
        }
        Err(refused) => return Err(refused.into()),
    };
    let page = public("Signed out", body).header(SET_COOKIE, gone);
    Ok(page.header(CLEAR.0, CLEAR.1).into_response())
}
