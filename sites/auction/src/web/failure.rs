//! Error pages: what failed, why, and what the user can do.

use axum::response::{IntoResponse, Response};
use maud::html;

use super::layout::{self, Crumb};
use tidegate_sitekit::{Error, Problem};

/// An error as a response.
#[derive(Debug)]
pub struct Failure(Error);

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

/// The refusal of an address whose subject does not exist.
pub fn missing(what: &str, why: &str) -> Problem {
    let remedy = "Check the address, or begin again at the home page.";
    Problem::new(404, &format!("There is no such {what}"), why, remedy)
}

/// The answer to an unknown address.
pub async fn not_found() -> Failure {
    missing("page", "Nothing is at this address.").into()
}

/// The answer to a method that an address does not support.
pub async fn not_allowed() -> Failure {
    let why = "This address does not take requests of this method.";
    Problem::new(405, "That is not possible here", why, "Begin again at the home page.").into()
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let problem = self.0.into_problem();
        let body = html! {
            section.notice.bad role="alert" {
                (problem.explained())
                p.actions { a.button href="/" { "To the home page" } " " a href="/browse" { "Browse the auctions" } }
            }
        };
        problem.answer(layout::page(&problem.what, &[Crumb::Here("Not possible")], body))
    }
}
