//! Pages for what went wrong: what happened, why, and what to do.

use tidegate_sitekit::log_once;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use maud::html;

use super::layout::public;
use super::sign_in_form;
use crate::error::Error;
use crate::protocol::{Outage, Problem};
use tidegate_sitekit::problem::set_retry_after;

/// An error as a response.
#[derive(Debug)]
pub struct Failure(Error);

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

/// The answer to an unknown address.
pub async fn not_found() -> Failure {
    let remedy = "Check the address, or begin again at the front page.";
    Problem::new(404, "There is no such page", "Nothing is at this address.", remedy).into()
}

/// The answer to a method that an address does not support.
pub async fn not_allowed() -> Failure {
    let why = "This address does not take requests of this method.";
    Problem::new(405, "That is not possible here", why, "Begin again at the front page.").into()
}

/// Logs an outage, whose cause is for the operator alone: once while it lasts.
pub fn log(outage: &Outage) {
    log_once!(error by &outage.cause, cause = outage.cause, "a request failed");
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        match self.0 {
            Error::Refused(problem) if problem.status == 401 => sign_in_form::after(&problem, ""),
            Error::Refused(problem) => refused(&problem),
            Error::Outage(outage) => {
                log(&outage);
                unavailable(&outage)
            }
        }
    }
}

fn refused(problem: &Problem) -> Response {
    let body = html! {
        section.notice.bad role="alert" {
            (problem.explained())
        }
        p.actions { a.button href="/main" { "To your main page" } " " a href="/" { "To the front page" } }
    };
    problem.answer(public(&problem.what, body))
}

fn unavailable(outage: &Outage) -> Response {
    let body = html! {
        section.notice.bad role="alert" {
            p { "A part of the brokerage cannot be reached or does not answer. Your request was fine." }
            @if outage.may_be_done {
                p {
                    "It is not certain whether it was carried out. Nothing was lost, and nothing is done twice: "
                    strong { "look at your orders before you decide anything, or wait a moment and repeat what you did." }
                }
            } @else {
                p { strong { "Nothing was changed. Wait a moment, then try again." } }
            }
        }
        p.actions { a.button href="/main" { "To your main page" } " " a href="/orders" { "Open orders" } }
    };
    let page = public("The brokerage is not available", body);
    let mut response = page.status(StatusCode::SERVICE_UNAVAILABLE).into_response();
    set_retry_after(&mut response, Some(5));
    response
}
