//! The pages.

mod account;
mod app;
mod assets;
mod basket;
mod browse;
mod checkout;
mod failure;
mod layout;
mod order;
mod product;
mod search;
mod shelf;
mod site_map;
mod visitor;
mod zone;

use axum::Router;
use axum::routing::{get, post};

pub use app::{App, State};
pub use shelf::Shelf;

use tidegate_sitekit::web::origin;

/// The whole shop.
pub fn router(app: App) -> Router {
    let pages = Router::new()
        .route("/", get(browse::home))
        .route("/departments/{department}", get(browse::department))
        .route("/sets/{set}", get(browse::set))
        .route("/sets/{set}/{page}", get(browse::set_page))
        .route("/products/{product}", get(product::view))
        .route("/zone", get(zone::form).post(zone::choose))
        .route("/search", get(search::results))
        .route("/basket", get(basket::view).post(basket::add))
        .route("/basket/lines", post(basket::change))
        .route("/checkout", get(checkout::form).post(checkout::review))
        .route("/orders", post(checkout::order))
        .route("/orders/returned", get(order::returned))
        .route("/orders/{order}", get(order::view))
        .route("/account", get(account::view))
        .route("/account/sign-in", post(account::sign_in))
        .route("/account/sign-out", post(account::sign_out))
        .route("/account/register", get(account::register_form).post(account::register))
        .route("/robots.txt", get(site_map::robots))
        .route("/sitemap.xml", get(site_map::map))
        .route("/sitemaps/{part}", get(site_map::part))
        .route("/static/{file}", get(assets::file))
        .route("/static/pictures/{name}", get(assets::picture))
        .route("/healthz", get(health))
        .fallback(failure::not_found)
        .method_not_allowed_fallback(failure::not_allowed)
        .with_state(app);
    origin::guard(pages, failure::Failure::from)
}

/// GET /healthz: the shop answers and so does its database.
async fn health(
    axum::extract::State(app): axum::extract::State<App>,
) -> Result<&'static str, failure::Failure> {
    app.database.first::<i64>("SELECT id FROM catalogue", &[]).await?;
    Ok("ok\n")
}
