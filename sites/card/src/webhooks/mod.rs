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

use self::attempt::attempt;
use super::app::App;
use super::merchants::Webhook;
use super::store::deliveries::{self, Delivery};
use tidegate_sitekit::queue::{Worker, work_off};
use tidegate_sitekit::when::ms;

/// Deliveries to one webhook at once.
const AT_ONCE: usize = 8;
/// After a claimed delivery's deadline, how long until it is taken for lost in a crash.
const MARGIN: Duration = Duration::from_secs(20);

/// Delivers the events of all merchants until it is dropped.
pub async fn deliver(app: App, http: Http) {
    let mut tasks = JoinSet::new();
    for (merchant, registered) in app.merchants.iter() {
        for webhook in &registered.webhooks {
            let (app, http) = (app.clone(), http.clone());
            let (merchant, webhook) = (merchant.clone(), webhook.clone());
            tasks.spawn(work_off(Deliverer { app, http, merchant, webhook }, AT_ONCE));
        }
    }
    while tasks.join_next().await.is_some() {}
}

/// Delivers to one webhook.
#[derive(Clone)]
struct Deliverer {
    app: App,
    http: Http,
    merchant: String,
    webhook: Webhook,
}

impl Worker for Deliverer {
    type Entry = Delivery;

    fn number(delivery: &Delivery) -> i64 {
        delivery.id
    }

    async fn due(&mut self, free: usize) -> Vec<Delivery> {
        if free == 0 {
            return Vec::new();
        }
        let Self { app, merchant, webhook, .. } = self;
        let now = app.clock.now_ms();
        let until = now + ms(app.limits.webhook_deadline) + ms(MARGIN);
        let most = i64::try_from(free).unwrap_or(1);
        let url = webhook.url.as_str();
        deliveries::claim(app.database(), merchant, url, now, until, most).await.unwrap_or_else(
            |error| {
                log_once!(warn by &error.to_string(), %error, "the outbox could not be read; trying again");
                Vec::new()
            },
        )
    }

    async fn work(&self, delivery: Delivery) {
        attempt(&self.app, &self.http, &self.webhook, delivery).await;
    }

    fn woken(&self) -> impl Future<Output = ()> + Send {
        self.app.changed.notified()
    }
}
