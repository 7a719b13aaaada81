//! Events, in the order of their numbers.

use tidegate_sitekit::Result;
use tidegate_sitekit::database::Transaction;
use tidegate_sitekit::values;

/// An event as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its number among the merchant's events.
    pub sequence: i64,
    /// Its id.
    pub id: String,
    /// The event as JSON, as it is delivered.
    pub body: String,
}

const INSERT: &str = "INSERT INTO events (merchant, sequence, id, body, created)
     VALUES ($1, $2, $3, $4, $5)";
// An event whose delivery is still tried is kept.
pub(super) const FORGET: &str = "DELETE FROM events WHERE merchant = $1 AND sequence IN (
         SELECT sequence FROM events e WHERE e.merchant = $1 AND e.created < $2 AND NOT EXISTS (
             SELECT 1 FROM deliveries d WHERE d.event = e.id AND d.state = 0)
         ORDER BY e.created LIMIT $3)
     RETURNING id";

/// Stores an event.
pub async fn insert(
    transaction: &mut Transaction,
    merchant: &str,
    event: &StoredEvent,
    now: i64,
) -> Result<()> {
    let values = values![merchant, event.sequence, event.id, event.body, now];
    transaction.run(INSERT, &values).await
}

/// Forgets at most so many events from before a time that are no longer delivered, with
/// their deliveries; returns how many.
pub async fn forget(
    transaction: &mut Transaction,
    merchant: &str,
    before: i64,
    most: i64,
) -> Result<i64> {
    let values = values![merchant, before, most];
    let ids: Vec<String> = transaction.all(FORGET, &values).await?;
    for id in &ids {
        transaction.run("DELETE FROM deliveries WHERE event = $1", &values![id]).await?;
    }
    Ok(i64::try_from(ids.len()).unwrap_or(i64::MAX))
}
