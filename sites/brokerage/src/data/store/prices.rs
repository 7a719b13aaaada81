//! Prices and the feed that they come from.

use std::collections::BTreeMap;

use super::leases;
use crate::error::Result;
use crate::protocol::back::{FeedState, Quote, RecordPrices};
use crate::protocol::{Problem, Quotes, Recorded, Security};
use tidegate_sitekit::database::{self, Columns, Database, Record};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::record;
use tidegate_sitekit::values;
use tidegate_sitekit::when;

/// Prices are kept for the charts of every so many ticks.
const EVERY: i64 = 10;
/// So many of them, of each security.
const KEPT: i64 = 60;

struct Feed {
    tick: i64,
    recorded: Recorded,
    source: String,
    since: i64,
}

record!(Feed { tick, recorded, source, since });

record!(Quote { security, price, recorded });

struct Past {
    symbol: String,
    at_ms: i64,
    cents: i64,
}

record!(Past { symbol, at_ms, cents });

impl Record for Recorded {
    fn read(columns: &mut Columns<'_>) -> database::Result<Self> {
        Ok(Self::seen(unsigned(columns.next()?), when::now_ms()))
    }
}

const FEED: &str = "SELECT tick, as_of_ms, source, since FROM feed WHERE id = 1";

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

async fn feed(database: &Database) -> Result<Feed> {
    Ok(database.first::<Feed>(FEED, &[]).await?.ok_or(database::Error::NoRow)?)
}

/// When the latest prices were recorded.
pub async fn recorded(database: &Database) -> Result<Recorded> {
    Ok(feed(database).await?.recorded)
}

/// All securities, by symbol.
pub async fn securities(database: &Database) -> Result<Vec<Security>> {
    let sql = "SELECT s.symbol, s.name, p.cents FROM securities s
               JOIN prices p ON p.security = s.id ORDER BY s.symbol";
    Ok(database.all(sql, &[]).await?)
}

/// The latest price of a security.
pub async fn quote(database: &Database, symbol: &str) -> Result<Option<Quote>> {
    let sql = "SELECT s.id, p.cents, f.as_of_ms FROM securities s
               JOIN prices p ON p.security = s.id JOIN feed f ON f.id = 1 WHERE s.symbol = $1";
    Ok(database.first(sql, &values![symbol]).await?)
}

/// All prices, and the state of the feed.
pub async fn quotes(database: &Database) -> Result<FeedState> {
    let feed = feed(database).await?;
    let (tick, recorded) = (feed.tick, feed.recorded);
    let sql = "SELECT s.symbol, p.cents FROM securities s JOIN prices p ON p.security = s.id
               ORDER BY s.symbol";
    let prices = database.all(sql, &[]).await?;
    let quotes = Quotes { tick, recorded, prices };
    Ok(FeedState { quotes, source: feed.source, since: feed.since })
}

/// Prices of securities over the last while.
#[derive(Debug, Default)]
pub struct History {
    /// When the oldest was recorded, milliseconds since 1970.
    pub since_ms: u64,
    /// By symbol, oldest first.
    pub prices: BTreeMap<String, Vec<Cents>>,
}

/// The prices over the last while of what a customer holds.
pub async fn history(database: &Database, customer: i64) -> Result<History> {
    let sql = "SELECT s.symbol, p.at_ms, p.cents FROM holdings h
               JOIN securities s ON s.id = h.security
               JOIN price_history p ON p.security = h.security
               WHERE h.customer = $1 AND h.available + h.reserved > 0 ORDER BY s.symbol, p.tick";
    let past: Vec<Past> = database.all(sql, &values![customer]).await?;
    let since_ms = past.iter().map(|past| unsigned(past.at_ms)).min().unwrap_or(0);
    let mut prices = BTreeMap::<String, Vec<Cents>>::new();
    for Past { symbol, cents, .. } in past {
        prices.entry(symbol).or_default().push(Cents(cents));
    }
    Ok(History { since_ms, prices })
}

/// Records the prices of a tick under the lease of its term. A tick that was recorded
/// before changes nothing.
///
/// # Errors
/// The lease is another's, or a price or symbol is invalid; an error of the database. Nothing
/// was changed then.
pub async fn record(database: &Database, request: RecordPrices, now_ms: u64) -> Result<()> {
    let now_ms = i64::try_from(now_ms).unwrap_or(i64::MAX);
    let mut transaction = database.begin().await?;
    leases::check(&mut transaction, request.term).await?;
    let before = transaction.first::<Feed>(FEED, &[]).await?.ok_or(database::Error::NoRow)?;
    if request.tick <= before.tick {
        transaction.rollback().await?;
        return Ok(());
    }
    let sql = "UPDATE prices SET cents = $2
               WHERE security = (SELECT id FROM securities WHERE symbol = $1) RETURNING security";
    for (symbol, cents) in &request.prices {
        let values = values![symbol, cents.0];
        if cents.0 <= 0 || transaction.first::<i64>(sql, &values).await?.is_none() {
            let why = format!("{symbol} at {cents}: there is no such security or price.");
            return Err(Problem::new(400, "A price is none", why, "Correct the feed.").into());
        }
    }
    if request.tick % EVERY == 0 {
        let sql = "INSERT INTO price_history (security, place, tick, at_ms, cents)
                   SELECT security, CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT), cents
                   FROM prices WHERE TRUE
                   ON CONFLICT (security, place) DO UPDATE
                   SET tick = excluded.tick, at_ms = excluded.at_ms, cents = excluded.cents";
        let place = request.tick / EVERY % KEPT;
        transaction.run(sql, &values![place, request.tick, now_ms]).await?;
    }
    // A source that is new began after the tick before.
    let since = if request.source == before.source { before.since } else { before.tick };
    let sql = "UPDATE feed SET tick = $1, as_of_ms = $2, source = $3, since = $4 WHERE id = 1";
    let values = values![request.tick, now_ms, request.source, since];
    transaction.run(sql, &values).await?;
    Ok(transaction.commit().await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::store::tests::World;

    #[tokio::test]
    async fn charts_have_every_tenth_tick_and_what_is_kept_does_not_grow() {
        let world = World::new().await;
        let mut transaction = world.database.begin().await.unwrap();
        let holding = "INSERT INTO holdings (customer, security, available, reserved, cost)
                       VALUES (1, 1, 5, 0, 5) ON CONFLICT (customer, security) DO UPDATE SET available = 5";
        transaction.run(holding, &[]).await.unwrap();
        transaction.commit().await.unwrap();
        let first = crate::securities::first_price(1, 1);
        let found = history(&world.database, 1).await.unwrap();
        assert_eq!(found.prices["ALEN"], [Cents(first)], "the price of the first day");

        for tick in 1..=650 {
            let prices = vec![("ALEN".into(), Cents(1000 + tick))];
            let request = RecordPrices { term: world.term, tick, source: "s".into(), prices };
            record(&world.database, request, unsigned(tick * 7)).await.unwrap();
        }
        let found = history(&world.database, 1).await.unwrap();
        let expected: Vec<Cents> = (6..=65).map(|tenth| Cents(1000 + tenth * 10)).collect();
        assert_eq!(found.prices["ALEN"], expected);
        assert_eq!(found.since_ms, 60 * 7);
        assert_eq!(world.number("SELECT COUNT(*) FROM price_history").await, 250 * KEPT);
    }
}
