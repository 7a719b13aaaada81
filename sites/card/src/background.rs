//! What runs beside the requests: due payments, webhooks, and forgetting.

use std::time::Duration;
use tidegate_sitekit::log_once;

use tokio::time::{Instant, sleep};

use crate::app::App;
use crate::operations::change_by_themselves;
use crate::store::deliveries::DELIVERIES;
use crate::store::merchants;
use crate::webhooks::deliver;
use tidegate_sitekit::Result;
use tidegate_sitekit::client::Http;
use tidegate_sitekit::when::ms;

/// How often payments that are due are looked for, at least: another process may have made
/// one.
const SWEEP: Duration = Duration::from_millis(500);
/// How often what is old is forgotten.
const FORGET: Duration = Duration::from_secs(60);
/// Rows that are forgotten in one transaction.
const AT_ONCE: i64 = 500;

/// Runs until it is dropped.
pub async fn run(app: App, http: Http) {
    tokio::join!(deliver(app.clone(), http), sweep(app.clone()), forget(app));
}

async fn sweep(app: App) {
    loop {
        // Before looking: what becomes due in between is not missed.
        let told = app.due.notified();
        let wait = match change_by_themselves(&app).await {
            Ok(next) => {
                let wait = next.saturating_sub(app.clock.now_ms());
                SWEEP.min(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
            }
            Err(error) => {
                log_once!(warn by &error.to_string(), %error, "due payments wait for the next turn");
                SWEEP
            }
        };
        tokio::select! {
            () = told => {}
            () = sleep(wait) => {}
        }
    }
}

async fn forget(app: App) {
    loop {
        let begun = Instant::now();
        if let Err(error) = forget_once(&app).await {
            log_once!(warn by &error.to_string(), %error, "what is old could not be forgotten; trying again");
        }
        sleep(FORGET.saturating_sub(begun.elapsed())).await;
    }
}

/// Forgets idempotency keys and events that are old, and gives up old deliveries.
pub async fn forget_once(app: &App) -> Result<()> {
    let now = app.clock.now_ms();
    let limits = &app.limits;
    DELIVERIES.give_up(app.database(), now - ms(limits.webhook_tried)).await?;
    let keys_before = now - ms(limits.key_lasts);
    let events_before = now - ms(limits.events_kept);
    for (merchant, _) in app.merchants.iter() {
        loop {
            let mut transaction = app.database().begin().await?;
            let more =
                merchants::forget(&mut transaction, merchant, keys_before, events_before, AT_ONCE)
                    .await?;
            transaction.commit().await?;
            if !more {
                break;
            }
            // Requests come first.
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}
