//! Signing in.

use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::account;
use crate::error::Error;
use crate::protocol::front::{SignIn, SignedIn};
use crate::protocol::{Mistake, Problem};
use crate::web::failure::Failure;
use crate::web::layout::Page;
use crate::web::session::{self, Arrival};
use crate::web::sign_in_form;
use crate::web::site::Site;
use tidegate_sitekit::web::form::{Check, Posted};

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
    let mut mistakes = Vec::new();
    let user =
        read(&posted, "user", &mut mistakes, |check| check.text("user", "User name", 1..=32));
    let password = read(&posted, "password", &mut mistakes, |check| {
        check.secret("password", "Password", 1..=128)
    });
    let signed_in = if mistakes.is_empty() {
        let (user, client, replaces) = (user.clone(), posted.client(), arrival.before);
        site.call(&SignIn { user, password, client, replaces }).await
    } else {
        let why = "Some of its fields are not filled in as they must be.";
        let remedy = "Correct the fields that are marked.";
        let problem = Problem::new(422, "Please correct the form", why, remedy);
        Err(Problem { mistakes, ..problem }.into())
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

/// Reads a field, and adds what is wrong with it to the mistakes.
fn read<'a>(
    posted: &'a Posted,
    name: &str,
    mistakes: &mut Vec<Mistake>,
    read: impl FnOnce(&mut Check<'a>) -> &'a str,
) -> String {
    let mut check = posted.check();
    let value = read(&mut check).to_owned();
    let wrong = check.done().err().into_iter().flat_map(|refusal| refusal.why);
    mistakes.extend(wrong.map(|text| Mistake { field: name.into(), text }));
    value
}
