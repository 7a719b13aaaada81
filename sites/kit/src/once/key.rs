//! Idempotency keys with the answers that were given under them. The caller of an interface is a
//! merchant. Whoever uses these locks a row of the merchant first: of two requests under one key
//! the second finds the answer of the first.

use crate::database::Transaction;
use crate::{Result, record, values};

/// Creates the table: a text for [`tables::create`](crate::database::tables::create).
pub const TABLE: &str = "
CREATE TABLE idempotency (
    merchant TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL,
    status {int} NOT NULL, body TEXT NOT NULL, created {int} NOT NULL,
    PRIMARY KEY (merchant, key)
){by_key};
CREATE INDEX idempotency_created ON idempotency (merchant, created);
";

/// What is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Keyed fingerprint of the request.
    pub fingerprint: String,
    /// Status of the answer, which every repetition has.
    pub status: i64,
    /// Body of the answer.
    pub body: String,
}

record!(Kept { fingerprint, status, body });

/// The answer under a key.
pub const FIND: &str =
    "SELECT fingerprint, status, body FROM idempotency WHERE merchant = $1 AND key = $2";
const INSERT: &str = "INSERT INTO idempotency (merchant, key, fingerprint, status, body, created)
     VALUES ($1, $2, $3, $4, $5, $6)";
/// Forgets old keys.
pub const FORGET: &str = "DELETE FROM idempotency WHERE merchant = $1 AND key IN (
         SELECT key FROM idempotency WHERE merchant = $1 AND created < $2
         ORDER BY created LIMIT $3)
     RETURNING key";

/// What is known of a key.
///
/// # Errors
/// An error of the database.
pub async fn find(
    transaction: &mut Transaction,
    merchant: &str,
    key: &str,
) -> Result<Option<Kept>> {
    transaction.first(FIND, &values![merchant, key]).await
}

/// Stores a new key.
///
/// # Errors
/// An error of the database; the key is there already.
pub async fn insert(
    transaction: &mut Transaction,
    merchant: &str,
    key: &str,
    kept: &Kept,
    now: i64,
) -> Result<()> {
    let values = values![merchant, key, kept.fingerprint, kept.status, kept.body, now];
    transaction.run(INSERT, &values).await
}

/// Forgets at most `most` keys from before a time; returns how many.
///
/// # Errors
/// An error of the database.
pub async fn forget(
    transaction: &mut Transaction,
    merchant: &str,
    before: i64,
    most: i64,
) -> Result<i64> {
    let values = values![merchant, before, most];
    let forgotten: Vec<String> = transaction.all(FORGET, &values).await?;
    Ok(i64::try_from(forgotten.len()).unwrap_or(i64::MAX))
}
