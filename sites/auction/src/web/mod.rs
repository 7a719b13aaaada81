//! The pages.

mod app;
mod assets;
mod bid;
mod buy;
mod failure;
mod field;
mod home;
mod item;
mod keywords;
mod layout;
mod me;
mod picture;
mod register;
mod search;
mod sell;
mod static_files;
mod user;

use axum::Router;
use axum::routing::{get, post};

pub use app::{App, State};

use tidegate_sitekit::web::origin;

/// The whole site.
pub fn router(app: App) -> Router {
    let pages = Router::new()
        .route("/", get(home::home))
        .route("/browse", get(home::browse))
        .route("/categories", get(search::categories))
        .route("/categories/{category}", get(search::in_category))
        .route("/regions", get(search::regions))
        .route("/regions/{region}", get(search::categories_in_region))
        .route("/regions/{region}/categories/{category}", get(search::in_region))
        .route("/search", get(keywords::results))
        .route("/items/{item}", get(item::view))
        .route("/items/{item}/bids", get(item::history).post(bid::store))
        .route("/items/{item}/bid", get(bid::sign_in).post(bid::form))
        .route("/items/{item}/buy", get(buy::sign_in).post(buy::form))
        .route("/items/{item}/purchases", post(buy::store))
        .route("/items", post(sell::register))
        .route("/users/{user}", get(user::view))
        .route("/users/{user}/comment", get(user::comment_sign_in).post(user::comment_form))
        .route("/users/{user}/comments", post(user::store_comment))
        .route("/register", get(register::form).post(register::register))
        .route("/sell", get(sell::sign_in).post(sell::categories))
        .route("/sell/form", post(sell::form))
        .route("/me", get(me::sign_in).post(me::view))
        .route("/static/{file}", get(static_files::file))
        .route("/static/pictures/{name}", get(static_files::picture))
        .route("/healthz", get(health))
        .fallback(failure::not_found)
        .method_not_allowed_fallback(failure::not_allowed)
        .with_state(app);
    origin::guard(pages, failure::Failure::from)
}

/// GET /healthz: the site answers and so does its database.
async fn health(
    axum::extract::State(app): axum::extract::State<App>,
) -> Result<&'static str, failure::Failure> {
    app.database.first::<i64>("SELECT id FROM regions WHERE id = 1", &[]).await?;
    Ok("ok\n")
}
