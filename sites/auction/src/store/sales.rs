//! Offering an item, and closing auctions that have ended.

use super::listing::count_change;
use crate::schema::ITEM_COLUMNS;
use tidegate_sitekit::Result;
use tidegate_sitekit::database::{self, Database, Dialect, Transaction};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::once::form::{self, Accepted, Form, Receipt};
use tidegate_sitekit::record;
use tidegate_sitekit::values;
use tidegate_sitekit::when::DAY;

/// A new item.
#[derive(Clone, Copy, Debug)]
pub struct NewItem<'a> {
    /// Its name.
    pub name: &'a str,
    /// The seller's words.
    pub description: &'a str,
    /// Where bidding begins.
    pub initial_price: Cents,
    /// Below this the seller keeps it; zero for none.
    pub reserve_price: Cents,
    /// The fixed price, zero for none.
    pub buy_now: Cents,
    /// How many.
    pub quantity: i64,
    /// Its category.
    pub category: i64,
    /// Whose it is.
    pub seller: i64,
    /// Where the seller is.
    pub region: i64,
    /// When the auction begins.
    pub start_date: i64,
    /// When it ends.
    pub end_date: i64,
    /// With which quantity it is offered again when it has ended, zero for not.
    pub relist: i64,
}

/// An item that was stored.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Its id.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Its category.
    pub category: i64,
    /// Where bidding begins.
    pub initial_price: Cents,
    /// Below this the seller keeps it; zero for none.
    pub reserve_price: Cents,
    /// The fixed price, zero for none.
    pub buy_now: Cents,
    /// How many were offered.
    pub quantity: i64,
    /// When the auction ends.
    pub end_date: i64,
}

record!(Offered {
    id,
    name,
    category,
    initial_price,
    reserve_price,
    buy_now,
    end_date;
    quantity: 0
});

pub(crate) const BY_ID: &str =
    "SELECT id, name, category, initial_price, reserve_price, buy_now, end_date
     FROM items WHERE id = $1 UNION ALL
     SELECT id, name, category, initial_price, reserve_price, buy_now, end_date
     FROM old_items WHERE id = $1";

/// Stores a new item. A form sent again is stored once.
///
/// # Errors
/// An error of the database; then nothing was changed.
pub async fn offer(
    database: &Database,
    form: Form,
    new: &NewItem<'_>,
) -> Result<Accepted<Offered>> {
    let mut transaction = database.begin().await?;
    let id = insert(&mut transaction, new).await?;
    let offered = Offered {
        id,
        name: new.name.into(),
        category: new.category,
        initial_price: new.initial_price,
        reserve_price: new.reserve_price,
        buy_now: new.buy_now,
        quantity: new.quantity,
        end_date: new.end_date,
    };
    let offered = Ok((offered, Some(Receipt { row: id, figure: new.quantity })));
    let again = |offered, quantity| Offered { quantity, ..offered };
    form::accept(database, transaction, form, offered, BY_ID, again).await
}

async fn insert(transaction: &mut Transaction, new: &NewItem<'_>) -> Result<i64> {
    let sql =
        "INSERT INTO items (name, initial_price, quantity, reserve_price, buy_now, nb_of_bids,
                                  max_bid, high_bidder, start_date, end_date, seller, region,
                                  category, relist, description)
               VALUES ($1, $2, $3, $4, $5, 0, 0, 0, $6, $7, $8, $9, $10, $11, $12) RETURNING id";
    let values = values![
        new.name,
        new.initial_price,
        new.quantity,
        new.reserve_price,
        new.buy_now,
        new.start_date,
        new.end_date,
        new.seller,
        new.region,
        new.category,
        new.relist,
        new.description
    ];
    let id = transaction.first(sql, &values).await?.ok_or(database::Error::NoRow)?;
    count_change(transaction, new.region, new.category, 1).await?;
    Ok(id)
}

struct Ended {
    id: i64,
    region: i64,
    category: i64,
    relist: i64,
}

record!(Ended { id, region, category, relist });

struct Again {
    name: String,
    description: String,
    initial_price: i64,
    reserve_price: i64,
    buy_now: i64,
    seller: i64,
    lasted: i64,
}

record!(Again { name, description, initial_price, reserve_price, buy_now, seller, lasted });

pub(crate) const ENDED: &str = "SELECT id, region, category, relist FROM items
     WHERE end_date <= $1 ORDER BY end_date LIMIT 20";

/// Moves up to 20 ended auctions to `old_items` and returns how many; few, so
/// that bidders never wait long for the lock. A synthetic seller offers the same
/// item again at once, so that a site keeps its size over days and under a heavy
/// load of buyers.
pub async fn close_ended(database: &Database, now: i64) -> Result<usize> {
    // Reading takes no lock; only an ended auction does.
    let due: Vec<Ended> = database.all(ENDED, &values![now]).await?;
    if due.is_empty() {
        return Ok(0);
    }
    let mut ids: Vec<i64> = due.iter().map(|ended| ended.id).collect();
    ids.sort_unstable();
    let mut transaction = database.begin().await?;
    let lock = match transaction.dialect() {
        Dialect::Sqlite => "SELECT id FROM items WHERE id = $1",
        Dialect::Postgres => "SELECT id FROM items WHERE id = $1 FOR UPDATE SKIP LOCKED",
    };
    let mut closed = 0;
    for id in ids {
        // Another process may have closed it, or a late bidder holds its lock.
        if transaction.first::<i64>(lock, &values![id]).await?.is_none() {
            continue;
        }
        let ended = due.iter().find(|ended| ended.id == id).expect("taken from there");
        close(&mut transaction, ended, now).await?;
        closed += 1;
    }
    transaction.commit().await?;
    Ok(closed)
}

async fn close(transaction: &mut Transaction, ended: &Ended, now: i64) -> Result<()> {
    let keep = sqlx::AssertSqlSafe(format!(
        "INSERT INTO old_items ({ITEM_COLUMNS}) SELECT {ITEM_COLUMNS} FROM items WHERE id = $1"
    ));
    transaction.run(keep, &values![ended.id]).await?;
    transaction.run("DELETE FROM items WHERE id = $1", &values![ended.id]).await?;
    count_change(transaction, ended.region, ended.category, -1).await?;
    if ended.relist == 0 {
        return Ok(());
    }
    let sql = "SELECT name, description, initial_price, reserve_price, buy_now, seller,
                      end_date - start_date FROM old_items WHERE id = $1";
    let Some(again) = transaction.first::<Again>(sql, &values![ended.id]).await? else {
        return Ok(());
    };
    let new = NewItem {
        name: &again.name,
        description: &again.description,
        initial_price: Cents(again.initial_price),
        reserve_price: Cents(again.reserve_price),
        buy_now: Cents(again.buy_now),
        quantity: ended.relist,
        category: ended.category,
        seller: again.seller,
        region: ended.region,
        start_date: now,
        // An item sold early lasted less than its seller intended.
        end_date: now + again.lasted.clamp(DAY, 7 * DAY),
        relist: ended.relist,
    };
    insert(transaction, &new).await?;
    Ok(())
}

/// Notes that the site was running at `now`: auctions are paused while it is not.
pub async fn note_running(database: &Database, now: i64) -> Result<()> {
    let sql = "UPDATE site_notes SET value = $1 WHERE name = 'last_seen'";
    database.run(sql, &values![now.to_string().as_str()]).await
}
