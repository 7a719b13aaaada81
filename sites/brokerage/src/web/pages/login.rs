//! Signing in.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::SET_COOKIE;

use super::account;
use crate::error::Error;
use crate::protocol::Problem;
use crate::protocol::front::{SignIn, SignedIn};
use crate::web::failure::Failure;
use crate::web::session::Arrival;
use crate::web::sign_in_form;
use crate::web::site::Site;
use tidegate_sitekit::web::cookie;
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;

/// GET /login
pub async fn form() -> Page {
    sign_in_form::page(None, "")
}

/// POST /login: transaction 2
pub async fn sign_in(
    State(site): State<Site>,
    arrival: Arrival,
    posted: Posted,
) -> Result<Response, Failure> {
    let mut check = posted.check();
    let user = check.text("user", "User name", 1..=32).to_owned();
    let password = check.secret("password", "Password", 1..=128).to_owned();
    let mistakes = check.marked();
    let signed_in = if mistakes.is_empty() {
        let (user, client, replaces) = (user.clone(), posted.client(), arrival.before);
        site.call(&SignIn { user, password, client, replaces }).await
    } else {
        let remedy = "Correct the fields that are marked.";
        Err(Problem::of_form("Please correct the form", remedy, mistakes).into())
    };
    match signed_in {
        Ok(SignedIn { session, overview }) => {
            let page = account::page(&overview, &session.form());
            Ok(page.header(SET_COOKIE, cookie::set(&session, arrival.secure)).into_response())
        }
        Err(Error::Refused(problem)) => Ok(sign_in_form::after(&problem, &user)),
        Err(outage) => Err(outage.into()),
    }
}
