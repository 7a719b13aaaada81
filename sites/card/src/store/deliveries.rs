//! The outbox of webhooks.

use tidegate_sitekit::database::{Database, Transaction};
use tidegate_sitekit::queue::{Entry, Queue};
use tidegate_sitekit::{Result, queue, values};

/// An event that is to be delivered, as JSON.
pub type Delivery = Entry<String>;

const INSERT: &str = "INSERT INTO deliveries
     (merchant, event, endpoint, state, attempts, next, created) VALUES ($1, $2, $3, 0, 0, $4, $4)";
pub(super) const DUE: &str = "SELECT d.id, d.attempts, d.created, d.next, e.body
     FROM deliveries d JOIN events e ON e.id = d.event
     WHERE d.merchant = $1 AND d.endpoint = $2 AND d.state = 0 AND d.next <= $3
     ORDER BY d.next LIMIT $4";
/// The deliveries to all merchants.
pub const DELIVERIES: Queue = queue!("deliveries");

/// Writes a delivery into the outbox.
pub async fn insert(
    transaction: &mut Transaction,
    merchant: &str,
    event: &str,
    endpoint: &str,
    now: i64,
) -> Result<()> {
    let values = values![merchant, event, endpoint, now];
    transaction.run(INSERT, &values).await
}

/// Takes at most `most` due deliveries of an endpoint, each the event as JSON, until a time.
pub async fn claim(
    database: &Database,
    merchant: &str,
    endpoint: &str,
    now: i64,
    until: i64,
    most: i64,
) -> Result<Vec<Delivery>> {
    let values = values![merchant, endpoint, now, most];
    DELIVERIES.claim(database, DUE, &values, until).await
}
