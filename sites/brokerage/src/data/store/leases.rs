//! Rights that one process has at a time.

use crate::error::Result;
use crate::protocol::Problem;
use crate::protocol::back::{Lease, Right, TakeLease};
use tidegate_sitekit::database::{self, Database, LockingSql, Transaction};
use tidegate_sitekit::locking;
use tidegate_sitekit::record;
use tidegate_sitekit::values;

struct Held {
    holder: String,
    term: i64,
    until_ms: i64,
}

record!(Held { holder, term, until_ms });

const HELD: LockingSql = locking!("SELECT holder, term, until_ms FROM leases WHERE name = $1");

/// Shortest and longest lease, milliseconds. The longest is the four ticks of the slowest feed:
/// one that ends before its holder's next tick goes from process to process.
const SHORTEST_MS: u64 = 100;
const LONGEST_MS: u64 = 4 * 3_600_000;

/// Grants the right to its holder, or to another once it has run out. The term rises with
/// each new holder.
pub async fn take(database: &Database, request: &TakeLease, now_ms: u64) -> Result<Lease> {
    let now = i64::try_from(now_ms).unwrap_or(i64::MAX / 2);
    let lasts = request.for_ms.clamp(SHORTEST_MS, LONGEST_MS);
    let until = now + i64::try_from(lasts).expect("a few hours fit");
    let mut transaction = database.begin().await?;
    let name = request.right.name();
    let held = transaction.lock::<Held>(HELD, &values![name]).await?;
    let held = held.ok_or(database::Error::NoRow)?;
    let own = held.holder == request.holder;
    if !own && held.until_ms > now {
        transaction.rollback().await?;
        return Ok(Lease { term: None });
    }
    let term = if own { held.term } else { held.term + 1 };
    let sql = "UPDATE leases SET holder = $2, term = $3, until_ms = $4 WHERE name = $1";
    let values = values![name, request.holder, term, until];
    transaction.run(sql, &values).await?;
    transaction.commit().await?;
    Ok(Lease { term: Some(term) })
}

/// Whether a term is the latest of who feeds prices and matches orders. Until the end of the transaction no other begins.
///
/// # Errors
/// It is not; an error of the database.
pub async fn check(transaction: &mut Transaction, term: i64) -> Result<()> {
    let name = Right::Matcher.name();
    let held = transaction.lock::<Held>(HELD, &values![name]).await?;
    if held.is_some_and(|held| held.term == term) {
        return Ok(());
    }
    let why = "Another process feeds prices and matches orders now.";
    let remedy = "Take the lease again before the next tick.";
    Err(Problem::new(409, "The lease has passed on", why, remedy).into())
}
