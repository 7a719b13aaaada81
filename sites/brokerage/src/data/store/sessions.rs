//! Sessions: who a request is from.

use super::customers;
use crate::error::Result;
use crate::protocol::back::OpenSession;
use crate::protocol::{Overview, SessionKey, signed_out};
use tidegate_sitekit::database::{Database, Transaction};
use tidegate_sitekit::record;
use tidegate_sitekit::values;

/// A session that is without a request for so long may end, seconds; it does at the latest
/// [`NOTED`] later, and never before.
pub const IDLE: i64 = 30 * 60;
/// A session is over after so long, seconds.
pub const LONGEST: i64 = 8 * 3600;
/// How exactly the time of the last request is stored, seconds: not every request writes.
pub const NOTED: i64 = 5 * 60;
/// Most sessions of a customer; the oldest ones end.
const MOST: i64 = 100;

struct Found {
    customer: i64,
    seen: i64,
}

record!(Found { customer, seen });

const FIND: &str = "SELECT customer, seen FROM sessions
     WHERE session = $1 AND seen > $2 AND created > $3";

const DELETE: &str = "DELETE FROM sessions WHERE session = $1";

/// The customer of a session.
///
/// # Errors
/// There is none, or it is over; an error of the database.
pub async fn customer(database: &Database, session: &SessionKey, now: i64) -> Result<i64> {
    // The last request may be as much later than what is stored.
    let seen_after = now - IDLE - NOTED;
    let values = values![session.as_str(), seen_after, now - LONGEST];
    let found = database.first::<Found>(FIND, &values).await?;
    let Found { customer, seen } = found.ok_or_else(signed_out)?;
    if now - seen > NOTED {
        let sql = "UPDATE sessions SET seen = $2 WHERE session = $1 AND seen < $2";
        database.run(sql, &values![session.as_str(), now]).await?;
    }
    Ok(customer)
}

/// Stores a session that begins now.
pub(super) async fn insert(
    transaction: &mut Transaction,
    customer: i64,
    session: &SessionKey,
    now: i64,
) -> Result<()> {
    let sql = "INSERT INTO sessions (session, customer, created, seen) VALUES ($1, $2, $3, $3)
               ON CONFLICT (session) DO NOTHING";
    let values = values![session.as_str(), customer, now];
    Ok(transaction.run(sql, &values).await?)
}

/// Opens a session in place of the one before, and returns what its customer has.
pub async fn open(database: &Database, request: OpenSession, now: i64) -> Result<Overview> {
    let OpenSession { customer, session, replaces } = request;
    let mut transaction = database.begin().await?;
    if let Some(before) = replaces {
        transaction.run(DELETE, &values![before.as_str()]).await?;
    }
    insert(&mut transaction, customer, &session, now).await?;
    let count = "SELECT COUNT(*) FROM sessions WHERE customer = $1";
    if transaction.first::<i64>(count, &values![customer]).await? > Some(MOST) {
        // Of those opened in one second, the one that was opened now stays.
        let sql = "DELETE FROM sessions WHERE customer = $1 AND session <> $2
                   AND session NOT IN (SELECT session FROM sessions WHERE customer = $1
                                       ORDER BY created DESC, session LIMIT $3)";
        let values = values![customer, session.as_str(), MOST];
        transaction.run(sql, &values).await?;
    }
    transaction.commit().await?;
    customers::overview(database, customer).await
}

/// Ends a session, if it is not over yet.
pub async fn close(database: &Database, session: &SessionKey) -> Result<()> {
    Ok(database.run(DELETE, &values![session.as_str()]).await?)
}

/// Forgets sessions that are over.
pub async fn forget_ended(database: &Database, now: i64) -> tidegate_sitekit::Result<()> {
    let sql = "DELETE FROM sessions WHERE seen <= $1";
    database.run(sql, &values![now - IDLE - NOTED]).await
}
