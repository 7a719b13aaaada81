//! The interface for merchants: JSON over HTTP.

mod auth;
mod id;
mod payments;
mod posted;
mod reply;
mod requests;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};

use self::reply::Reply;
use super::app::App;
use tidegate_sitekit::Problem;

/// The interface's paths, with answers to all others.
pub fn router() -> Router<App> {
    Router::new()
        .route("/v1/payments", get(payments::find).post(payments::create))
        .route("/v1/payments/{id}", get(payments::retrieve))
        .route("/v1/payments/{id}/capture", post(payments::capture))
        .route("/v1/payments/{id}/refunds", post(payments::refund))
        .route("/healthz", get(health))
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
}

async fn not_found() -> Reply {
    Problem::coded(404, "not_found", "Nothing is at this address; docs/card.md lists all of them.")
        .into()
}

async fn not_allowed() -> Reply {
    Problem::coded(405, "method_not_allowed", "This address does not take this method.").into()
}

/// GET /healthz: the processor answers and so does its database.
async fn health(State(app): State<App>) -> Result<&'static str, Reply> {
    app.database().first::<i64>("SELECT events FROM merchants LIMIT 1", &[]).await?;
    Ok("ok\n")
}
