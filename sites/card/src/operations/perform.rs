//! Requests that may be repeated: each is carried out once for its idempotency key, and every
//! repetition has the answer of the first.
//!
//! Source: draft-ietf-httpapi-idempotency-key-header-07.

use std::time::Duration;

use super::authorise::after;
use super::change::Change;
use super::moves::{Step, capture, refund};
use super::request::Request;
use crate::app::{App, new_id};
use crate::resource::Form;
use crate::state::State;
use crate::store::payments::{self, Stored};
use tidegate_sitekit::Problem;
use tidegate_sitekit::once::key::{self as keys, Kept};
use tidegate_sitekit::{Error, Result};

/// An answer to a merchant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The answer of this key.
    OfKey {
        /// Status of HTTP.
        status: u16,
        /// JSON.
        body: String,
        /// It is a repetition.
        replayed: bool,
    },
    /// An answer that says nothing about the key.
    Refused(Problem),
}

/// Carries out a request, unless one with this key was carried out before. `fingerprint` is
/// the same for the same request only.
///
/// # Errors
/// An error of the database; then nothing was changed.
pub async fn perform(
    app: &App,
    merchant: &str,
    key: &str,
    fingerprint: &str,
    request: Request,
) -> Result<Answer> {
    let mut change = Change::begin(app, merchant).await?;
    let before = keys::find(&mut change.transaction, merchant, key).await?;
    if let Some(answer) = known(app, &change, before, fingerprint) {
        change.rollback().await?;
        return Ok(answer);
    }
    let (status, step) = match request {
        Request::Create(new) => (201, create(&mut change, *new).await?),
        Request::Capture { id, asked, last } => {
            (200, capture(&mut change, &id, &asked, last).await?)
        }
        Request::Refund { id, asked } => (200, refund(&mut change, &id, &asked).await?),
    };
    let (status, body) = match step {
        Ok(payment) => {
            let body = serde_json::to_string(&payment)
                .map_err(|error| Error::Internal(format!("a payment: {error}")))?;
            (status, body)
        }
        Err(problem) => (problem.status, problem.json()),
    };
    let kept = Kept { fingerprint: fingerprint.to_owned(), status: status.into(), body };
    keys::insert(&mut change.transaction, merchant, key, &kept, change.now).await?;
    change.counters.keys += 1;
    change.commit().await?;
    Ok(Answer::OfKey { status, body: kept.body, replayed: false })
}

/// The answer to a request whose key is known, or for which there is no room.
fn known(
    app: &App,
    change: &Change<'_>,
    before: Option<Kept>,
    fingerprint: &str,
) -> Option<Answer> {
    let refused = match before {
        None if change.counters.keys >= app.limits.most_keys => Problem::coded(
            503,
            "too_many_keys",
            "No more idempotency keys can be kept: wait until older ones are forgotten, a day after their use.",
        )
        .retry_after(Duration::from_secs(60)),
        None => return None,
        Some(kept) if kept.fingerprint != fingerprint => Problem::coded(
            422,
            "idempotency_key_reused",
            "This idempotency key was used for another request: use a new key for a new request.",
        )
        .at("Idempotency-Key"),
        Some(Kept { status, body, .. }) => {
            let status = u16::try_from(status).unwrap_or(500);
            return Some(Answer::OfKey { status, body, replayed: true });
        }
    };
    Some(Answer::Refused(refused))
}

async fn create(change: &mut Change<'_>, new: Form) -> Result<Step> {
    let (merchant, now) = (change.merchant(), change.now);
    let transaction = &mut change.transaction;
    if payments::by_reference_in(transaction, merchant, &new.reference).await?.is_some() {
        let problem = Problem::coded(
            409,
            "reference_exists",
            "There is a payment with this reference already: retrieve it with GET /v1/payments?reference=, and use another reference for another payment.",
        );
        return Ok(Err(problem.at("reference")));
    }
    let payment = Stored {
        id: new_id("pay")?,
        merchant: merchant.to_owned(),
        reference: new.reference,
        checkout: new_id("chk")?,
        state: State::new(new.amount),
        currency: new.currency,
        description: new.description,
        return_url: new.return_url,
        card: None,
        decline_code: None,
        cancellation: None,
        attempts: 0,
        due: after(now, change.app().limits.checkout_lasts),
        version: 1,
        created: now,
    };
    change.create(&payment).await?;
    change.view(&payment).await.map(Ok)
}
