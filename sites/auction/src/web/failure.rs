//! Error pages: what failed, why, and what the user can do.

use std::time::Instant;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::html;

use super::layout::{Crumb, Page};
use tidegate_sitekit::throttle::Causes;
use tidegate_sitekit::{Error, Refusal};

/// Causes that were logged: an outage causes one with each request.
static FAILURES: Causes = Causes::new();

/// An error as a response.
#[derive(Debug)]
pub struct Failure(Error);

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

/// The refusal of an address whose subject does not exist.
pub fn missing(what: &str, why: &str) -> Refusal {
    let remedy = "Check the address, or begin again at the home page.";
    Refusal::new(404, &format!("There is no such {what}"), why, remedy)
}

/// The answer to an unknown address.
pub async fn not_found() -> Failure {
    missing("page", "Nothing is at this address.").into()
}

/// The answer to a method that an address does not support.
pub async fn not_allowed() -> Failure {
    let why = "This address does not take requests of this method.";
    Refusal::new(405, "That is not possible here", why, "Begin again at the home page.").into()
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let ours = |status| Refusal {
            status,
            what: "Something went wrong on our side".into(),
            why: vec!["Your request was fine; the site could not carry it out just now.".into()],
            remedy: "Nothing was changed. Wait a moment, then try again.".into(),
            retry_after: None,
        };
        let refusal = match self.0 {
            Error::Client(refusal) => refusal,
            Error::Database(error) => {
                if let Some(left_out) = FAILURES.allows(&error.to_string(), Instant::now()) {
                    tracing::error!(%error, left_out, "the database failed");
                }
                ours(503)
            }
            Error::Operator(error) | Error::Internal(error) => {
                if let Some(left_out) = FAILURES.allows(&error, Instant::now()) {
                    tracing::error!(error, left_out, "a request failed");
                }
                ours(500)
            }
        };
        let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
        let body = html! {
            section.notice.bad role="alert" {
                @if let [why] = &refusal.why[..] {
                    p { (why) }
                } @else {
                    ul { @for why in &refusal.why { li { (why) } } }
                }
                p { strong { (refusal.remedy) } }
                p.actions { a.button href="/" { "To the home page" } " " a href="/browse" { "Browse the auctions" } }
            }
        };
        let page = Page::new(&refusal.what, &[Crumb::Here("Not possible")], body);
        let mut response = page.status(status).into_response();
        if let Some(wait) = refusal.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, wait.as_secs().into());
        }
        response
    }
}
