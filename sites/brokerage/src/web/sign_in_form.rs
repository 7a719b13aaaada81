//! The form to sign in with: where one signs in, and where a session is missing.

use axum::response::Response;
use maud::{Markup, html};

use super::layout::public;
use crate::protocol::Problem;
use tidegate_sitekit::web::field::{Filled, input, summary};
use tidegate_sitekit::web::page::Page;

/// The form, filled with a user name, and what went wrong before.
pub fn page(problem: Option<&Problem>, user: &str) -> Page {
    let filled = Filled { mistakes: problem.map_or(&[], |problem| &problem.mistakes) };
    let body = html! {
        @match problem {
            Some(problem) if problem.mistakes.is_empty() => (notice(problem)),
            Some(problem) => (summary(problem)),
            None => {},
        }
        form.panel method="post" action="/login" {
            (input(filled, "User name", "user", "text", "username", user, ""))
            (input(filled, "Password", "password", "password", "current-password", "", ""))
            button type="submit" { "Sign in" }
        }
        p.fine { "The customers of this brokerage are synthetic: customer1 with the password password1, and so on." }
    };
    public("Sign in", body)
}

/// The form after a request that was refused.
pub fn after(problem: &Problem, user: &str) -> Response {
    problem.answer(page(Some(problem), user))
}

fn notice(problem: &Problem) -> Markup {
    html! {
        section.notice.bad role="alert" tabindex="-1" autofocus {
            p { strong { (problem.what) ". " } @for why in &problem.why { (why) " " } (problem.remedy) }
        }
    }
}
