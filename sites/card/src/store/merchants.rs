//! The counters of a merchant, whose row orders the merchant's transactions.

use crate::store::events;
use tidegate_sitekit::database::{LockingSql, Transaction};
use tidegate_sitekit::once::key;
use tidegate_sitekit::record;
use tidegate_sitekit::{Error, Result, locking, values};

/// What is counted of a merchant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Events so far: the number of the last one.
    pub events: i64,
    /// Idempotency keys that are kept.
    pub keys: i64,
}

record!(Counters { events, keys });

const LOCK: LockingSql = locking!("SELECT events, keys FROM merchants WHERE name = $1");
const SAVE: &str = "UPDATE merchants SET events = $2, keys = $3 WHERE name = $1";

/// Locks a merchant until the end of the transaction.
///
/// # Errors
/// An error of the database; the merchant has no row.
pub async fn lock(transaction: &mut Transaction, merchant: &str) -> Result<Counters> {
    let found = transaction.lock(LOCK, &values![merchant]).await?;
    found.ok_or_else(|| Error::Internal(format!("merchant {merchant} has no row")))
}

/// Stores the counters of a locked merchant.
pub async fn save(transaction: &mut Transaction, merchant: &str, counters: Counters) -> Result<()> {
    let values = values![merchant, counters.events, counters.keys];
    transaction.run(SAVE, &values).await
}

/// Forgets at most so many idempotency keys of a locked merchant from before `keys_before`,
/// and events from before `events_before` that are no longer delivered. Returns whether
/// there may be more.
pub async fn forget(
    transaction: &mut Transaction,
    merchant: &str,
    keys_before: i64,
    events_before: i64,
    most: i64,
) -> Result<bool> {
    let mut counters = lock(transaction, merchant).await?;
    let keys = key::forget(transaction, merchant, keys_before, most).await?;
    counters.keys -= keys;
    save(transaction, merchant, counters).await?;
    let events = events::forget(transaction, merchant, events_before, most).await?;
    Ok(keys >= most || events >= most)
}
