//! Delivers events to merchants: at least once, in no order that can be relied on, signed,
//! with pauses that grow, for a bounded time.
//!
//! The outbox is in the database, where events are written together with the change that they
//! tell of. Each webhook has a task that takes a few due deliveries at a time, so memory is
//! bounded whatever is waiting, and a webhook that hangs delays no other.

mod attempt;

use std::time::Duration;
use tidegate_sitekit::client::Http;
use tidegate_sitekit::log_once;

use tokio::task::JoinSet;
use tokio::time::sleep;

use self::attempt::attempt;
use super::app::{App, ms};
use super::merchants::Webhook;
use super::store::deliveries;
use tidegate_sitekit::Result;

/// Deliveries to one webhook at once.
const AT_ONCE: usize = 8;
/// How often the outbox is looked at, beside being told of changes: another process may have
/// written into it, and a failed delivery may be due again.
const LOOK: Duration = Duration::from_millis(500);
/// After a claimed delivery's deadline, how long until it is taken for lost in a crash.
const MARGIN: Duration = Duration::from_secs(20);

/// Delivers the events of all merchants until it is dropped.
pub async fn deliver(app: App, http: Http) {
    let mut tasks = JoinSet::new();
    for (merchant, registered) in app.merchants.iter() {
        for webhook in &registered.webhooks {
            tasks.spawn(serve(app.clone(), http.clone(), merchant.clone(), webhook.clone()));
        }
    }
    while tasks.join_next().await.is_some() {}
}

/// Delivers to one webhook.
async fn serve(app: App, http: Http, merchant: String, webhook: Webhook) {
    let mut under_way = JoinSet::new();
    loop {
        // Before looking: a change in between is not missed.
        let told = app.changed.notified();
        let free = AT_ONCE - under_way.len();
        let claimed = match claim(&app, &merchant, &webhook, free).await {
            Ok(claimed) => claimed,
            Err(error) => {
                log_once!(warn by &error.to_string(), %error, "the outbox could not be read; trying again");
                Vec::new()
            }
        };
        let all_taken = claimed.len() < free;
        for delivery in claimed {
            under_way.spawn(attempt(app.clone(), http.clone(), webhook.clone(), delivery));
        }
        if all_taken || under_way.len() == AT_ONCE {
            tokio::select! {
                () = told, if all_taken => {}
                Some(_) = under_way.join_next() => {}
                () = sleep(LOOK), if all_taken => {}
            }
        }
    }
}

async fn claim(
    app: &App,
    merchant: &str,
    webhook: &Webhook,
    free: usize,
) -> Result<Vec<deliveries::Delivery>> {
    if free == 0 {
        return Ok(Vec::new());
    }
    let now = app.clock.now_ms();
    let until = now + ms(app.limits.webhook_deadline) + ms(MARGIN);
    let most = i64::try_from(free).unwrap_or(1);
    let url = webhook.url.as_str();
    deliveries::claim(app.database(), merchant, url, now, until, most).await
}
