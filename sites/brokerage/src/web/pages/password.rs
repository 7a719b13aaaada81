//! Changing the password.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::SET_COOKIE;
use maud::{Markup, html};

use crate::error::Error;
use crate::protocol::front::{ChangePassword, GetOverview};
use crate::protocol::{Problem, SessionToken};
use crate::web::failure::Failure;
use crate::web::layout::{self, framed};
use crate::web::session::Signed;
use crate::web::site::Site;
use tidegate_sitekit::web::cookie;
use tidegate_sitekit::web::field::{Filled, hidden, input, summary};
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;

/// GET /password
pub async fn form(State(site): State<Site>, signed: Signed) -> Result<Page, Failure> {
    // The form is for customers who are signed in.
    site.call(&GetOverview { session: signed.key() }).await?;
    Ok(layout::page("Change password", &signed, fields(&signed, Filled::default())))
}

/// POST /password
pub async fn change(
    State(site): State<Site>,
    signed: Signed,
    posted: Posted,
) -> Result<Response, Failure> {
    signed.check(&posted)?;
    // As it was typed: a space at its end is a part of a password.
    let text = |name: &str| posted.get(name).unwrap_or_default().to_owned();
    // Made here and not by the application server: whatever server the call is repeated on, the
    // same session tells that the change was made.
    let next = SessionToken::random()?;
    let change = ChangePassword {
        session: signed.key(),
        next: next.key(),
        password: text("password"),
        new: text("new"),
        client: posted.client(),
    };
    match site.call(&change).await {
        Ok(_) => {
            let body = html! {
                p.notice.good role="status" {
                    "Your password was changed. You are signed out everywhere else."
                }
                p.actions { a.button href="/main" { "To your main page" } }
            };
            let page = framed("Password changed", Some(&next.form()), body);
            Ok(page.header(SET_COOKIE, cookie::set(&next, signed.secure)).into_response())
        }
        Err(Error::Refused(problem)) if problem.status != 401 => Ok(refused(&problem, &signed)),
        Err(error) => Err(error.into()),
    }
}

fn refused(problem: &Problem, signed: &Signed) -> Response {
    let filled = Filled { mistakes: &problem.mistakes };
    let body = html! {
        (summary(problem))
        (fields(signed, filled))
    };
    problem.answer(layout::page(&problem.what, signed, body))
}

fn fields(signed: &Signed, filled: Filled<'_>) -> Markup {
    let hint =
        "At least 8 characters of any kind; a few words that do not belong together are best.";
    html! {
        form.panel method="post" action="/password" {
            (hidden("form", signed.form()))
            (input(filled, "Password", "password", "password", "current-password", "", ""))
            (input(filled, "New password", "new", "password", "new-password", "", hint))
            button type="submit" { "Change password" }
        }
    }
}
