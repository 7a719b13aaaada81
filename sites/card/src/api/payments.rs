//! Payments over HTTP.

use axum::extract::{RawQuery, State};

use super::auth::Caller;
use super::id::Id;
use super::posted::Posted;
use super::reply::Reply;
use super::requests::{Capture, Create, Refund};
use crate::app::App;
use crate::merchants::Merchant;
use crate::operations::Request;
use crate::resource::{Payment, is_reference};
use crate::store::payments::{self, Stored};
use crate::view;
use tidegate_sitekit::Problem;
use tidegate_sitekit::{Error, Result};

/// POST /v1/payments
pub async fn create(State(app): State<App>, posted: Posted) -> Result<Reply, Reply> {
    let none = Merchant::default();
    let merchant = app.merchants.get(posted.merchant()).unwrap_or(&none);
    let new = posted.parse::<Create>()?.check(merchant)?;
    posted.perform(&app, Request::Create(Box::new(new))).await
}

/// POST /v1/payments/{id}/capture
pub async fn capture(State(app): State<App>, Id(id): Id, posted: Posted) -> Result<Reply, Reply> {
    let (asked, last) = posted.parse::<Capture>()?.check()?;
    posted.perform(&app, Request::Capture { id, asked, last }).await
}

/// POST /v1/payments/{id}/refunds
pub async fn refund(State(app): State<App>, Id(id): Id, posted: Posted) -> Result<Reply, Reply> {
    let asked = posted.parse::<Refund>()?.check()?;
    posted.perform(&app, Request::Refund { id, asked }).await
}

/// GET /v1/payments/{id}
pub async fn retrieve(State(app): State<App>, caller: Caller, Id(id): Id) -> Result<Reply, Reply> {
    let found = payments::by_id(app.database(), &id).await?;
    match found.filter(|payment| payment.merchant == caller.merchant) {
        Some(stored) => Ok(Reply::json(written(&view_of(&app, stored).await?)?)),
        None => Err(Problem::coded(
            404,
            "payment_not_found",
            "There is no such payment of this merchant.",
        )
        .into()),
    }
}

/// GET /v1/payments?reference=R: at most one, in a list.
pub async fn find(
    State(app): State<App>,
    RawQuery(query): RawQuery,
    caller: Caller,
) -> Result<Reply, Reply> {
    let query = query.unwrap_or_default();
    let fields: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).take(2).collect();
    let [(name, reference)] = &fields[..] else { return Err(no_reference().into()) };
    if name != "reference" {
        return Err(no_reference().into());
    }
    // No payment has another one, and not every database can be asked for any text.
    let found = match is_reference(reference) {
        true => payments::by_reference(app.database(), &caller.merchant, reference).await?,
        false => None,
    };
    let list = match found {
        Some(stored) => written(&view_of(&app, stored).await?)?,
        None => String::new(),
    };
    Ok(Reply::json(format!("{{\"payments\":[{list}]}}")))
}

fn no_reference() -> Problem {
    let text = "Name one reference: GET /v1/payments?reference=R.";
    Problem::coded(400, "reference_missing", text).at("reference")
}

/// A payment with the movements of the same moment.
async fn view_of(app: &App, stored: Stored) -> Result<Payment> {
    let mut stored = stored;
    loop {
        let movements = payments::movements(app.database(), &stored.id).await?;
        let again = payments::by_id(app.database(), &stored.id).await?;
        match again {
            Some(again) if again.version != stored.version => stored = again,
            _ => return Ok(view::payment(app, &stored, movements)),
        }
    }
}

fn written(payment: &Payment) -> Result<String> {
    serde_json::to_string(payment).map_err(|error| Error::Internal(format!("a payment: {error}")))
}
