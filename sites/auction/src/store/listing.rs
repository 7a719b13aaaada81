//! Lists of active items, and how many there are.

use super::bids;
use tidegate_sitekit::database::{Database, Dialect, LockingSql, Transaction};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::record;
use tidegate_sitekit::{Result, locking, values};

/// An item as it is shown in a list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its id.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Its category.
    pub category: i64,
    /// Where bidding begins.
    pub initial_price: Cents,
    /// The highest bid, zero before the first.
    pub max_bid: Cents,
    /// How many bids there are.
    pub nb_of_bids: i64,
    /// The fixed price, zero for none.
    pub buy_now: Cents,
    /// When the auction ends.
    pub end_date: i64,
}

impl Listed {
    /// What it costs now: the highest bid, or where bidding begins.
    pub fn price(&self) -> Cents {
        bids::price(self.nb_of_bids, self.max_bid, self.initial_price)
    }

    /// What that price is.
    pub fn price_is(&self) -> &'static str {
        if self.nb_of_bids == 0 { "starting price" } else { "highest bid" }
    }
}

record!(Listed { id, name, category, initial_price, max_bid, nb_of_bids, buy_now, end_date });

pub(crate) const IN_CATEGORY: &str =
    "SELECT id, name, category, initial_price, max_bid, nb_of_bids, buy_now, end_date FROM items
     WHERE category = $1 AND end_date > $2 ORDER BY end_date LIMIT 20 OFFSET $3";

pub(crate) const IN_REGION: &str =
    "SELECT id, name, category, initial_price, max_bid, nb_of_bids, buy_now, end_date FROM items
     WHERE region = $1 AND category = $2 AND end_date > $3 ORDER BY end_date LIMIT 20 OFFSET $4";

pub(crate) const ENDING_SOON: &str =
    "SELECT id, name, category, initial_price, max_bid, nb_of_bids, buy_now, end_date FROM items
     WHERE end_date > $1 ORDER BY end_date LIMIT 8";

pub(crate) const COUNT: &str =
    "SELECT items FROM active_counts WHERE region = $1 AND category = $2";

pub(crate) const COUNT_BY_CATEGORY: &str =
    "SELECT category, items FROM active_counts WHERE region = $1 AND category > 0";

pub(crate) const COUNT_BY_REGION: &str =
    "SELECT region, items FROM active_counts WHERE category = 0 AND region > 0";

/// A page of the items of a category, those that end first before the others;
/// `from` of them are skipped.
pub async fn in_category(
    database: &Database,
    category: i64,
    now: i64,
    from: i64,
) -> Result<Vec<Listed>> {
    let values = values![category, now, from];
    database.all(IN_CATEGORY, &values).await
}

/// The same within the region of the seller.
pub async fn in_region(
    database: &Database,
    region: i64,
    category: i64,
    now: i64,
    from: i64,
) -> Result<Vec<Listed>> {
    let values = values![region, category, now, from];
    database.all(IN_REGION, &values).await
}

/// The eight items of the whole site that end first.
pub async fn ending_soon(database: &Database, now: i64) -> Result<Vec<Listed>> {
    database.all(ENDING_SOON, &values![now]).await
}

/// How many items are active in a region (0: all) and category (0: all).
pub async fn count(database: &Database, region: i64, category: i64) -> Result<i64> {
    Ok(database.first(COUNT, &values![region, category]).await?.unwrap_or(0))
}

/// How many items are active, by category, in a region (0: all).
pub async fn count_by_category(database: &Database, region: i64) -> Result<Vec<(i64, i64)>> {
    database.all(COUNT_BY_CATEGORY, &values![region]).await
}

/// How many items are active, by region.
pub async fn count_by_region(database: &Database) -> Result<Vec<(i64, i64)>> {
    database.all(COUNT_BY_REGION, &[]).await
}

const WHOLE_SITE: LockingSql =
    locking!("SELECT items FROM active_counts WHERE region = 0 AND category = 0");

/// Adds `change` to the number of active items of a region and category. All
/// writers lock the row of the whole site first, so they cannot deadlock.
pub async fn count_change(
    transaction: &mut Transaction,
    region: i64,
    category: i64,
    change: i64,
) -> Result<()> {
    if transaction.dialect() == Dialect::Postgres {
        transaction.lock::<i64>(WHOLE_SITE, &[]).await?;
    }
    let sql = "UPDATE active_counts SET items = items + $1
               WHERE region IN (0, $2) AND category IN (0, $3)";
    transaction.run(sql, &values![change, region, category]).await?;
    Ok(())
}
