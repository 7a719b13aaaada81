//! Sessions: a browser that has a basket, or in which somebody has signed in.

use tidegate_sitekit::database::{Database, Transaction};
use tidegate_sitekit::session::SessionKey;
use tidegate_sitekit::when::DAY;
use tidegate_sitekit::{Result, values};

/// How long a session lasts, seconds.
const LASTS: i64 = 7 * DAY;

/// The customer of a session, 0 for nobody who has signed in; `None` if it is over.
pub async fn customer(database: &Database, key: &SessionKey, now: i64) -> Result<Option<i64>> {
    let sql = "SELECT customer FROM sessions WHERE key = $1 AND expires > $2";
    database.first(sql, &values![key.as_str(), now]).await
}

/// Begins a session.
pub async fn begin(
    transaction: &mut Transaction,
    key: &SessionKey,
    customer: i64,
    now: i64,
) -> Result<()> {
    let sql = "INSERT INTO sessions (key, customer, expires) VALUES ($1, $2, $3)";
    transaction.run(sql, &values![key.as_str(), customer, now + LASTS]).await
}

/// Begins the session of a customer who signs in, with the basket and the orders of the one
/// before.
pub async fn sign_in(
    database: &Database,
    before: Option<&SessionKey>,
    key: &SessionKey,
    customer: i64,
    now: i64,
) -> Result<()> {
    let mut transaction = database.begin().await?;
    begin(&mut transaction, key, customer, now).await?;
    if let Some(before) = before {
        let both = values![key.as_str(), before.as_str()];
        for sql in [
            "UPDATE basket_lines SET session = $1 WHERE session = $2",
            "UPDATE orders SET session = $1 WHERE session = $2",
        ] {
            transaction.run(sql, &both).await?;
        }
        transaction.run("DELETE FROM sessions WHERE key = $1", &values![before.as_str()]).await?;
    }
    transaction.commit().await
}

/// Ends a session with its basket.
pub async fn end(database: &Database, key: &SessionKey) -> Result<()> {
    let mut transaction = database.begin().await?;
    for sql in
        ["DELETE FROM basket_lines WHERE session = $1", "DELETE FROM sessions WHERE key = $1"]
    {
        transaction.run(sql, &values![key.as_str()]).await?;
    }
    transaction.commit().await
}

/// Forgets sessions that are over with their baskets, at most 100; returns how many.
pub async fn forget(database: &Database, now: i64) -> Result<usize> {
    let sql = "SELECT key FROM sessions WHERE expires <= $1 ORDER BY expires LIMIT 100";
    let over: Vec<String> = database.all(sql, &values![now]).await?;
    if over.is_empty() {
        return Ok(0);
    }
    let mut transaction = database.begin().await?;
    for key in &over {
        transaction.run("DELETE FROM basket_lines WHERE session = $1", &values![key]).await?;
        transaction.run("DELETE FROM sessions WHERE key = $1", &values![key]).await?;
    }
    transaction.commit().await?;
    Ok(over.len())
}
