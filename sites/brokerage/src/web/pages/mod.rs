//! The pages.

mod account;
mod deposit;
mod deposits;
mod entry;
pub mod front;
mod history;
pub mod login;
mod older;
mod orders;
mod password;
mod portfolio;

use axum::Router;
use axum::routing::{get, post};

use super::failure;
use super::site::Site;
use tidegate_sitekit::web::origin;

/// The pages that need the application tier.
pub fn router(site: Site) -> Router {
    let pages = Router::new()
        .route("/login", post(login::sign_in))
        .route("/logout", post(account::sign_out))
        .route("/password", get(password::form).post(password::change))
        .route("/main", get(account::main))
        .route("/portfolio", get(portfolio::portfolio))
        .route("/orders", get(orders::open).post(entry::create))
        .route("/orders/new", get(entry::form))
        .route("/orders/{number}/cancel", post(orders::cancel))
        .route("/history", get(history::history))
        .route("/deposits", get(deposits::list).post(deposits::create))
        .route("/deposits/returned", get(deposit::returned))
        .route("/deposits/{number}", get(deposit::show))
        .fallback(failure::not_found)
        .method_not_allowed_fallback(failure::not_allowed)
        .with_state(site);
    origin::guard(pages, failure::Failure::from)
}
