//! The pages.

mod app;
mod assets;
mod failure;
mod field;
mod form;
mod home;
mod item;
mod layout;
mod picture;
mod search;

use axum::Router;
use axum::routing::get;

pub use app::App;

/// The whole site.
pub fn router(app: App) -> Router {
    Router::new()
        .route("/", get(home::home))
        .route("/browse", get(home::browse))
        .route("/categories", get(search::categories))
        .route("/categories/{category}", get(search::in_category))
        .route("/regions", get(search::regions))
        .route("/regions/{region}", get(search::categories_in_region))
        .route("/regions/{region}/categories/{category}", get(search::in_region))
        .route("/items/{item}", get(item::view))
        .route("/items/{item}/bids", get(item::history))
        .route("/static/{file}", get(assets::file))
        .route("/static/pictures/{name}", get(assets::picture))
        .route("/healthz", get(health))
        .fallback(failure::not_found)
        .method_not_allowed_fallback(failure::not_allowed)
        .with_state(app)
}

/// GET /healthz: the site answers and so does its database.
async fn health(
    axum::extract::State(app): axum::extract::State<App>,
) -> Result<&'static str, failure::Failure> {
    app.database.first::<i64>("SELECT id FROM regions WHERE id = 1", &[]).await?;
    Ok("ok\n")
}
