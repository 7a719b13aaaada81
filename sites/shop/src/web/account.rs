//! Accounts: signing in and out, registration, and a customer's orders.

use std::time::Instant;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use super::app::{App, REGISTER};
use super::checkout::Recipient;
use super::failure::Failure;
use super::layout;
use super::order::became;
use super::shelf::Around;
use super::visitor::Visitor;
use crate::store::customers::{self, Customer};
use crate::store::orders::{self, Order};
use crate::store::sessions;
use tidegate_sitekit::login_limit::too_many;
use tidegate_sitekit::password::PasswordCheck;
use tidegate_sitekit::session::SessionToken;
use tidegate_sitekit::web::cookie;
use tidegate_sitekit::web::field::{Filled, hidden, input, summary};
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when::{self, Moment};
use tidegate_sitekit::{Mistake, Problem};

/// GET /account
pub async fn view(State(app): State<App>, visitor: Visitor) -> Result<Page, Failure> {
    let around = app.around(visitor.zone).await?;
    let body = match customers::by_id(&app.database, visitor.customer()).await? {
        Some(customer) => {
            let orders = orders::of_customer(&app.database, customer.id).await?;
            own(&customer, &orders)
        }
        None => html! {
            h1 { "Your account" }
            div.two {
                form.panel method="post" action="/account/sign-in" {
                    (input(Filled::default(), "Mail address", "email", "email", "username", "", ""))
                    (input(Filled::default(), "Password", "password", "password", "current-password", "", ""))
                    button type="submit" { "Sign in" }
                }
                div.aside {
                    h2 { "No account yet?" }
                    p { "With an account you see all your orders, and need not type your address again. You can also order without one." }
                    p.actions { a.button.quiet href="/account/register" { "Open an account" } }
                }
            }
        },
    };
    Ok(layout::page(&around, "Your account", &[], &body))
}

fn own(customer: &Customer, orders: &[Order]) -> Markup {
    let address = &customer.address;
    html! {
        h1 { "Hello, " (address.name) }
        h2 { "Your orders" }
        @if orders.is_empty() {
            p.notice { "You have ordered nothing yet." }
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Your orders" {
                table {
                    thead { tr { th scope="col" { "Order" } th scope="col" { "Placed" } th.num scope="col" { "Total" } th scope="col" { "What became of it" } } }
                    tbody {
                        @for order in orders {
                            tr {
                                th scope="row" { a href={ "/orders/" (order.number) } { "No. " (order.number) } }
                                td { (Moment(order.created)) }
                                td.num { (order.sum().total()) }
                                td { (became(order)) }
                            }
                        }
                    }
                }
            }
        }
        h2 { "Where they go" }
        p { (address.street) br; (address.city) " " (address.postcode) br; (customer.email) }
        form method="post" action="/account/sign-out" { button.quiet type="submit" { "Sign out" } }
    }
}

/// POST /account/sign-in
pub async fn sign_in(
    State(app): State<App>,
    visitor: Visitor,
    posted: Posted,
) -> Result<Response, Failure> {
    let mut form = posted.check();
    let email = form.text("email", "Mail address", 1..=80);
    let password = form.secret("password", "Password", 1..=128);
    form.done()?;
    let customer = checked(&app, &posted, email, password).await?;
    welcome(&app, &visitor, customer, "/account").await
}

/// The customer with this mail address and password.
///
/// # Errors
/// They do not match; the message does not say which one is wrong. Too many logins have failed
/// from this address or for this account.
async fn checked(
    app: &App,
    posted: &Posted,
    email: &str,
    password: &str,
) -> tidegate_sitekit::Result<i64> {
    let login = app.login_limit.login(posted.client(), email);
    let limited = |wait| too_many(wait, "go back and try again");
    app.login_limit.check(login, Instant::now()).map_err(limited)?;
    let account = customers::account(&app.database, email).await?;
    let stored = account.as_ref().map(|(_, hash)| hash.clone());
    let turn = app.hasher.turn().await;
    let guess = app.login_limit.guess(login).await.map_err(limited)?;
    let verdict = turn.verify(password.to_owned(), stored).await?;
    match (account, verdict) {
        (Some((id, _)), PasswordCheck::Right) => {
            guess.right();
            Ok(id)
        }
        (Some((id, old)), PasswordCheck::RightRenew(new)) => {
            guess.right();
            customers::renew_password(&app.database, id, &old, &new).await?;
            Ok(id)
        }
        (None, _) | (_, PasswordCheck::Wrong) => {
            guess.wrong();
            let why = "Mail address and password do not belong together.";
            let remedy = "Go back and try again; mind capital letters. If you have no account yet, open one.";
            Err(Problem::new(403, "You could not be signed in", why, remedy).into())
        }
    }
}

/// Gives a browser the session of a customer, in place of the one that it had.
async fn welcome(
    app: &App,
    visitor: &Visitor,
    customer: i64,
    to: &str,
) -> Result<Response, Failure> {
    let token = SessionToken::random()?;
    let before = visitor.session.as_ref().map(|session| &session.key);
    sessions::sign_in(&app.database, before, &token.key(), customer, when::now()).await?;
    let cookie = cookie::set(&token, visitor.secure);
    Ok(([(SET_COOKIE, cookie)], Redirect::to(to)).into_response())
}

/// POST /account/sign-out
pub async fn sign_out(State(app): State<App>, visitor: Visitor) -> Result<Response, Failure> {
    if let Some(session) = &visitor.session {
        sessions::end(&app.database, &session.key).await?;
    }
    let cookie = cookie::unset(visitor.secure);
    Ok(([(SET_COOKIE, cookie)], Redirect::to("/account")).into_response())
}

/// GET /account/register
pub async fn register_form(State(app): State<App>, visitor: Visitor) -> Result<Page, Failure> {
    let around = app.around(visitor.zone).await?;
    let auth = app.token(REGISTER);
    Ok(registration(&around, &auth, &Recipient::default(), None))
}

fn registration(
    around: &Around,
    auth: &str,
    recipient: &Recipient,
    problem: Option<&Problem>,
) -> Page {
    let mistakes: &[Mistake] = problem.map_or(&[], |problem| &problem.mistakes);
    let filled = Filled { mistakes };
    let title = problem.map_or("Open an account", |problem| &problem.what);
    let body = html! {
        h1 { (title) }
        @if let Some(problem) = problem { (summary(problem)) }
        form.panel method="post" action="/account/register" {
            (hidden("auth", auth))
            (recipient.inputs(filled))
            (input(filled, "Password", "password", "password", "new-password", "", "8 characters or more"))
            button type="submit" { "Open the account" }
        }
    };
    layout::page(around, title, &[("/account", "Account")], &body)
}

/// POST /account/register: opens the account once, and signs in.
pub async fn register(
    State(app): State<App>,
    visitor: Visitor,
    posted: Posted,
) -> Result<Response, Failure> {
    let (sent, _) = app.issued(REGISTER, &posted)?;
    let mut form = posted.check();
    let recipient = Recipient::read(&mut form);
    let password = form.secret("password", "Password", 8..=128);
    let mistakes = form.marked();
    if !mistakes.is_empty() {
        let problem = Problem::of_form("Please correct the form", "Correct them.", mistakes);
        let around = app.around(visitor.zone).await?;
        let auth = posted.get("auth").unwrap_or_default();
        let page = registration(&around, auth, &Recipient::of(&posted), Some(&problem));
        return Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).into_response());
    }
    let hash = app.hasher.hash(password.to_owned()).await?;
    let Recipient { email, address } = &recipient;
    let opened =
        customers::register(&app.database, sent, email, address, &hash, when::now()).await?;
    if opened.differs {
        let why = "This form had been sent before, with other values: it has opened one account.";
        let remedy = "Sign in with what you sent first, or open the form again.";
        return Err(Problem::new(409, "Your account is open already", why, remedy).into());
    }
    welcome(&app, &visitor, opened.answer.id, "/account").await
}
