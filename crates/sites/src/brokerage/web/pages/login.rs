//! Signing in.

use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::account;
use crate::brokerage::error::Error;
use crate::brokerage::protocol::front::{SignIn, SignedIn};
use crate::brokerage::web::failure::Failure;
use crate::brokerage::web::layout::Page;
use crate::brokerage::web::session::{self, Arrival};
use crate::brokerage::web::sign_in_form;
use crate::brokerage::web::site::Site;
use crate::web::form::Posted;

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
    let signed_in = match check.done() {
        Ok(()) => {
            let client = posted.client();
            let replaces = arrival.before;
            site.call(&SignIn { user: user.clone(), password, client, replaces }).await
        }
        Err(refusal) => Err(refusal.into()),
    };
    match signed_in {
        Ok(SignedIn { session, overview }) => {
            let page = account::page(&overview, &session.form());
            Ok(page.cookie(session::set(&session, arrival.secure)).into_response())
        }
        Err(Error::Refused(problem)) => Ok(sign_in_form::after(&problem, &user)),
        Err(outage) => Err(outage.into()),
    }
}
