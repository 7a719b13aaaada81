//! Requests that may be repeated: each is carried out once for its idempotency key, and every
//! repetition has the answer of the first.
//!
//! Source: draft-ietf-httpapi-idempotency-key-header-07.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::authorise::{Led, after, apply};
use super::change::Change;
use super::moves::{Step, cancel, capture, refund};
use super::request::{New, Request, Source};
use crate::app::{App, new_id};
use crate::issuer::{self, Behaviour, NoAnswer, TEST_CARDS_ONLY};
use crate::refusal::Refusal;
use crate::resource::Capturing;
use crate::schema::NEVER;
use crate::state::State;
use crate::store::idempotency::{self, Kept, KeyState};
use crate::store::payments::{self, Stored};
use tidegate_sitekit::{Error, Result};

/// How long a merchant who is never answered is kept waiting.
const SILENCE: Duration = Duration::from_secs(600);
/// How often a waiting request looks for its answer, beside being told.
const LOOK: Duration = Duration::from_secs(1);
/// When a request that is under way may be repeated.
const UNDER_WAY: Duration = Duration::from_secs(1);

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
    Refused(Refusal),
}

/// What a request has led to.
enum Done {
    /// This is its answer.
    Answered(u16, String),
    /// The issuer answers later.
    Later(Behaviour),
    /// Nothing was changed, and it may be tried again.
    Failed,
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
    let before = idempotency::find(&mut change.transaction, merchant, key).await?;
    if let Some(answer) = known(app, &change, before.as_ref(), fingerprint) {
        change.rollback().await?;
        return Ok(answer);
    }
    let attempts = before.as_ref().map_or(0, |kept| kept.attempts) + 1;
    let done = match request {
        Request::Create(new) => create(&mut change, *new, key, attempts).await?,
        Request::Capture { id, asked, last } => {
            answer(200, capture(&mut change, &id, &asked, last).await?)?
        }
        Request::Cancel { id } => answer(200, cancel(&mut change, &id).await?)?,
        Request::Refund { id, asked } => answer(200, refund(&mut change, &id, &asked).await?)?,
    };
    let (state, status, body) = match &done {
        Done::Answered(status, body) => (KeyState::Answered, *status, body.clone()),
        Done::Later(_) => (KeyState::UnderWay, 0, String::new()),
        Done::Failed => (KeyState::Failed, 0, String::new()),
    };
    let fingerprint = fingerprint.to_owned();
    let kept = Kept { fingerprint, state, attempts, status: status.into(), body };
    let transaction = &mut change.transaction;
    if before.is_some() {
        idempotency::update(transaction, merchant, key, &kept).await?;
    } else {
        idempotency::insert(transaction, merchant, key, &kept, change.now).await?;
        change.counters.keys += 1;
    }
    change.commit().await?;
    match done {
        Done::Answered(status, body) => Ok(Answer::OfKey { status, body, replayed: false }),
        Done::Failed => Ok(Answer::Refused(Refusal::new(
            500,
            "processing_error",
            "The issuer could not be asked. Nothing was changed: repeat the request with the same idempotency key.",
        ))),
        Done::Later(behaviour) => later(app, merchant, key, behaviour).await,
    }
}

/// The answer to a request whose key is known, or for which there is no room.
fn known(
    app: &App,
    change: &Change<'_>,
    before: Option<&Kept>,
    fingerprint: &str,
) -> Option<Answer> {
    let refused = match before {
        None if change.counters.keys >= app.limits.most_keys => Refusal::new(
            503,
            "too_many_keys",
            "No more idempotency keys can be kept: wait until older ones are forgotten, a day after their use.",
        )
        .retry_after(Duration::from_secs(60)),
        None => return None,
        Some(kept) if kept.fingerprint != fingerprint => Refusal::new(
            422,
            "idempotency_key_reused",
            "This idempotency key was used for another request: use a new key for a new request.",
        )
        .field("Idempotency-Key"),
        Some(Kept { state: KeyState::UnderWay, .. }) => under_way(),
        Some(Kept { state: KeyState::Failed, .. }) => return None,
        Some(kept) => return Some(replay(kept)),
    };
    Some(Answer::Refused(refused))
}

fn under_way() -> Refusal {
    Refusal::new(
        409,
        "request_under_way",
        "The first request with this idempotency key is still under way: repeat it later.",
    )
    .retry_after(UNDER_WAY)
}

fn replay(kept: &Kept) -> Answer {
    let status = u16::try_from(kept.status).unwrap_or(500);
    Answer::OfKey { status, body: kept.body.clone(), replayed: true }
}

fn answer(status: u16, step: Step) -> Result<Done> {
    Ok(match step {
        Ok(payment) => {
            let body = serde_json::to_string(&payment)
                .map_err(|error| Error::Internal(format!("a payment: {error}")))?;
            Done::Answered(status, body)
        }
        Err(refusal) => Done::Answered(refusal.status, refusal.body()),
    })
}

async fn create(change: &mut Change<'_>, new: New, key: &str, attempts: i64) -> Result<Done> {
    let (merchant, now) = (change.merchant(), change.now);
    let transaction = &mut change.transaction;
    if payments::by_reference_in(transaction, merchant, &new.reference).await?.is_some() {
        let refusal = Refusal::new(
            409,
            "reference_exists",
            "There is a payment with this reference already: retrieve it with GET /v1/payments?reference=, and use another reference for another payment.",
        );
        return answer(0, Err(refusal.field("reference")));
    }
    let checkout_lasts = change.app().limits.checkout_lasts;
    let (checkout, return_url, due) = match &new.source {
        Source::Card(_) => (String::new(), String::new(), NEVER),
        Source::Form { return_url } => {
            (new_id("chk")?, return_url.clone(), after(now, checkout_lasts))
        }
    };
    let mut payment = Stored {
        id: new_id("pay")?,
        merchant: merchant.to_owned(),
        reference: new.reference,
        checkout,
        state: State::new(new.amount),
        currency: new.currency,
        automatic: new.capture == Capturing::Automatic,
        description: new.description,
        return_url,
        card: None,
        decline_code: None,
        cancellation: None,
        attempts: 0,
        due,
        answers_key: String::new(),
        version: 1,
        created: now,
    };
    let Source::Card(card) = &new.source else {
        change.create(&payment).await?;
        return answer(201, Ok(change.view(&payment).await?));
    };
    // Before anything is written: an issuer that fails leaves no payment.
    let answered = match issuer::ask(card, attempts, now) {
        Ok(answered) => answered,
        Err(NoAnswer::Failed) => return Ok(Done::Failed),
        Err(NoAnswer::NoTestCard) => {
            let refusal = Refusal::of_field("card.number", "test_cards_only", TEST_CARDS_ONLY);
            return answer(0, Err(refusal));
        }
    };
    if matches!(answered, issuer::Answer::Later(_)) {
        payment.answers_key = key.to_owned();
    }
    change.create(&payment).await?;
    match apply(change, &mut payment, card, answered, false).await? {
        Led::Later(behaviour) => Ok(Done::Later(behaviour)),
        Led::Authorised => answer(201, Ok(change.view(&payment).await?)),
        Led::Declined(code) => {
            let view = change.view(&payment).await?;
            answer(0, Err(Refusal::declined(code, view)))
        }
    }
}

/// Waits for an issuer, and answers then or never. The payment goes on whether or not the
/// merchant still waits.
async fn later(app: &App, merchant: &str, key: &str, behaviour: Behaviour) -> Result<Answer> {
    app.due.notify_one();
    if behaviour == Behaviour::Silent {
        sleep(SILENCE).await;
        return Ok(Answer::Refused(Refusal::new(
            504,
            "no_answer",
            "The issuer has not answered in time: repeat the request with the same idempotency key, or retrieve the payment by its reference.",
        )));
    }
    loop {
        // Before looking: an answer in between is not missed.
        let told = app.changed.notified();
        let kept = idempotency::look(app.database(), merchant, key).await?;
        match kept {
            Some(Kept { state: KeyState::Answered, status, body, .. }) => {
                let status = u16::try_from(status).unwrap_or(500);
                return Ok(Answer::OfKey { status, body, replayed: false });
            }
            Some(Kept { state: KeyState::UnderWay, .. }) => {}
            // Forgotten, after a day.
            _ => return Ok(Answer::Refused(under_way())),
        }
        // Another process may have settled it.
        let _ = timeout(LOOK, told).await;
    }
}
