//! What the partners have answered, by role and key: a request under a known key has the answer
//! of the first one.

use serde::Serialize;
use tidegate_sitekit::database::{Connection, Database, notes, tables};
use tidegate_sitekit::once::key::{self, Kept};
use tidegate_sitekit::{Error, Problem, Result};

use crate::protocol::Role;

const KIND: &str = "partners";
const VERSION: &str = "1";
/// Answers that are forgotten in one transaction.
const FORGOTTEN_AT_ONCE: i64 = 500;

/// Makes the tables of an empty database.
///
/// # Errors
/// The database is of something else: an error for the operator. An error of the database.
pub async fn prepare(connection: &mut Connection, place: &str) -> Result<()> {
    // No other process prepares it at the same time.
    connection.run("BEGIN IMMEDIATE", &[]).await?;
    if notes::version(connection, place, KIND, &[VERSION]).await?.is_none() {
        notes::create_table(connection, &[("kind", KIND), ("version", VERSION)]).await?;
        tables::create(connection, key::TABLE).await?;
    }
    Ok(connection.run("COMMIT", &[]).await?)
}

/// The answer under a key: the first one that was given, or this one, which is stored.
///
/// # Errors
/// The first request under the key was another one: a refusal. An error of the database.
pub async fn answer(
    database: &Database,
    role: Role,
    key: &str,
    request: &impl Serialize,
    answer: &impl Serialize,
    now: i64,
) -> Result<String> {
    let written = |error| Error::Internal(format!("an answer cannot be written: {error}"));
    let fingerprint = serde_json::to_string(request).map_err(written)?;
    // A transaction of SQLite has the lock of the database from its beginning: of two requests
    // under one key the second finds the answer of the first.
    let mut transaction = database.begin().await?;
    if let Some(kept) = key::find(&mut transaction, role.name(), key).await? {
        transaction.rollback().await?;
        if kept.fingerprint == fingerprint {
            return Ok(kept.body);
        }
        let text = "Another request was made under this key: use a new one.";
        return Err(Problem::coded(409, "key_reused", text).at("key").into());
    }
    let body = serde_json::to_string(answer).map_err(written)?;
    let kept = Kept { fingerprint, status: 200, body };
    key::insert(&mut transaction, role.name(), key, &kept, now).await?;
    transaction.commit().await?;
    Ok(kept.body)
}

/// Forgets what was answered before this time, in seconds since 1970.
///
/// # Errors
/// An error of the database.
pub async fn forget(database: &Database, before: i64) -> Result<()> {
    for role in Role::ALL {
        loop {
            let mut transaction = database.begin().await?;
            let forgotten =
                key::forget(&mut transaction, role.name(), before, FORGOTTEN_AT_ONCE).await?;
            transaction.commit().await?;
            if forgotten < FORGOTTEN_AT_ONCE {
                break;
            }
            // Requests come first.
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}
