//! The card form: customers type their card here, so that no merchant sees it.

mod layout;
mod pages;
mod typed;

use std::time::Duration;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use tokio::time::{Instant, timeout_at};

use self::typed::{Mistakes, Typed};
use super::app::{App, is_id};
use super::operations::{Submitted, cancel_by_customer, submit};
use super::state::Phase;
use super::store::payments::{self, Stored};
use tidegate_sitekit::web::origin;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::{Error, Result};

/// How long a page waits for an issuer before it says that it is waiting.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a waiting page looks, beside being told.
const LOOK: Duration = Duration::from_secs(1);

/// The id in an address, if there is one.
type Address = std::result::Result<Path<String>, PathRejection>;

/// The pages of the form.
pub fn router() -> Router<App> {
    let pages = Router::new()
        .route("/checkout/{id}", get(form).post(pay))
        .route("/checkout/{id}/cancel", post(cancel));
    origin::guard(pages, |problem| pages::failure(&problem.into()))
        .route("/static/card.css", get(style))
}

/// GET /checkout/{id}
async fn form(State(app): State<App>, id: Address) -> Page {
    page_or_failure(async {
        let payment = wait_while_processing(&app, find(&app, id).await?).await?;
        Ok(pages::of(&app, &payment))
    })
    .await
}

/// POST /checkout/{id}
async fn pay(State(app): State<App>, id: Address, typed: Typed) -> Response {
    let paid = async {
        let payment = find(&app, id).await?;
        if payment.state.phase != Phase::RequiresCard {
            return Ok(ended(&app, &wait_while_processing(&app, payment).await?));
        }
        let refused = |typed: &Typed, mistakes: Mistakes| {
            pages::form(&app, &payment, &typed.expiry, &mistakes)
                .status(StatusCode::UNPROCESSABLE_ENTITY)
                .into_response()
        };
        let card = match typed.card() {
            Ok(card) => card,
            Err(mistakes) => return Ok(refused(&typed, mistakes)),
        };
        match submit(&app, &payment, &card).await? {
            Submitted::Over => {
                let payment = payments::by_checkout(app.database(), &payment.checkout).await?;
                let payment = payment.ok_or_else(|| Error::Internal("it was there".into()))?;
                Ok(ended(&app, &wait_while_processing(&app, payment).await?))
            }
            Submitted::Declined(code) => Ok(refused(&typed, Mistakes::declined(code))),
            Submitted::Failed => Ok(refused(&typed, Mistakes::failed())),
            Submitted::NoTestCard => Ok(refused(&typed, Mistakes::no_test_card())),
        }
    };
    paid.await.unwrap_or_else(|error: Error| pages::failure(&error).into_response())
}

/// POST /checkout/{id}/cancel
async fn cancel(State(app): State<App>, id: Address) -> Response {
    let cancelled = async {
        let payment = find(&app, id).await?;
        cancel_by_customer(&app, &payment).await?;
        let payment = payments::by_checkout(app.database(), &payment.checkout).await?;
        let payment = payment.ok_or_else(|| Error::Internal("it was there".into()))?;
        Ok(ended(&app, &payment))
    };
    cancelled.await.unwrap_or_else(|error: Error| pages::failure(&error).into_response())
}

/// GET /static/card.css
async fn style() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/css; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "public, max-age=300"),
    ];
    (headers, include_str!("style.css"))
}

async fn page_or_failure(page: impl Future<Output = Result<Page>>) -> Page {
    page.await.unwrap_or_else(|error| pages::failure(&error))
}

async fn find(app: &App, id: Address) -> Result<Stored> {
    let found = match id {
        Ok(Path(id)) if is_id(&id) => payments::by_checkout(app.database(), &id).await?,
        // Not every database can be asked for any text.
        _ => None,
    };
    found.ok_or_else(|| pages::no_such_payment().into())
}

/// Waits until an issuer has answered, for some time.
async fn wait_while_processing(app: &App, payment: Stored) -> Result<Stored> {
    let until = Instant::now() + PATIENCE;
    let mut payment = payment;
    while payment.state.phase == Phase::Processing && Instant::now() < until {
        let told = app.changed.notified();
        let _ = timeout_at(until.min(Instant::now() + LOOK), told).await;
        match payments::by_checkout(app.database(), &payment.checkout).await? {
            Some(again) => payment = again,
            None => break,
        }
    }
    Ok(payment)
}

/// The customer goes back to the merchant if the payment has come to an end that needs no
/// words; otherwise they read what has become of it.
fn ended(app: &App, payment: &Stored) -> Response {
    let over = matches!(payment.state.phase, Phase::Open | Phase::Closed | Phase::Cancelled);
    match pages::way_back(app, payment) {
        Some(url) if over => {
            let headers =
                [(header::CACHE_CONTROL, "no-store"), (header::REFERRER_POLICY, "no-referrer")];
            (headers, Redirect::to(&url)).into_response()
        }
        _ => pages::of(app, payment).into_response(),
    }
}
