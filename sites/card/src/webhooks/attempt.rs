//! One attempt to deliver an event.

use tidegate_sitekit::client::Http;
use tidegate_sitekit::log_once;

use bytes::Bytes;
use http::Request;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http_body_util::Full;

use crate::app::App;
use crate::merchants::Webhook;
use crate::signature::{SIGNATURE, sign};
use crate::store::deliveries::{DELIVERIES, Delivery};
use tidegate_sitekit::queue::{Retry, State};

/// Most bytes read of a merchant's answer, which is not looked at.
const MOST_ANSWER: usize = 64 * 1024;
/// Most characters kept of an error.
const LONGEST_ERROR: usize = 200;

/// Sends an event, and stores how that ended.
pub async fn attempt(app: &App, http: &Http, webhook: &Webhook, delivery: Delivery) {
    let attempt = send(app, http, webhook, &delivery).await;
    let (url, status, error) = (webhook.url.as_str(), attempt.status, &attempt.error);
    let delivered = (200..300).contains(&status);
    let limits = &app.limits;
    let retry = Retry { backoff: limits.webhook_backoff, tried: limits.webhook_tried };
    let database = app.database();
    match DELIVERIES.end(database, &delivery, delivered, attempt.ended, retry).await {
        Ok(State::Done) => tracing::debug!(url, status, "a webhook was delivered"),
        Ok(State::Pending) => tracing::info!(url, status, error, "a webhook will be repeated"),
        Ok(State::GivenUp) => tracing::warn!(url, status, error, "a webhook was given up"),
        // It is claimed for some time yet, and then delivered again: at least once.
        Err(error) => {
            log_once!(warn by &error.to_string(), %error, "how a delivery ended could not be stored");
        }
    }
}

/// How an attempt ended.
struct Attempt {
    /// When, milliseconds since 1970.
    ended: i64,
    /// Status of the answer, or 0.
    status: u16,
    /// Why there was no answer, or empty.
    error: String,
}

async fn send(app: &App, http: &Http, webhook: &Webhook, delivery: &Delivery) -> Attempt {
    // Signed for each attempt, so that a late one is within the merchant's tolerance.
    let seconds = app.clock.now_ms().div_euclid(1000);
    let signature = sign(&webhook.secrets, seconds, delivery.content.as_bytes());
    let request = Request::post(webhook.url.as_str())
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, concat!("tidegate-card/", env!("CARGO_PKG_VERSION")))
        .header(SIGNATURE, signature)
        .body(Full::new(Bytes::from(delivery.content.clone())));
    let (status, error) = match request {
        Ok(request) => match http.send(request, MOST_ANSWER, app.limits.webhook_deadline).await {
            Ok(answer) => (answer.status.as_u16(), String::new()),
            Err(error) => (0, error.text.chars().take(LONGEST_ERROR).collect()),
        },
        Err(error) => (0, error.to_string()),
    };
    Attempt { ended: app.clock.now_ms(), status, error }
}
