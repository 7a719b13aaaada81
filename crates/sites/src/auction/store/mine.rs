//! What a person has to do with: bids, wins, purchases, sales.

use crate::Result;
use crate::auction::money::Cents;
use crate::auction::when::DAY;
use crate::database::{Database, Fields, Record};

/// Lines of each list on a person's own page.
pub const LINES: i64 = 8;
/// How far back the page looks.
const LOOK_BACK: i64 = 30 * DAY;

/// A line of a person's own page.
#[derive(Clone, Debug)]
pub struct Line {
    /// The item.
    pub item: i64,
    /// Its name.
    pub name: String,
    /// What it costs, or has cost.
    pub price: Cents,
    /// This person's own highest bid, or zero.
    pub own: Cents,
    /// How many bids, or how many were bought.
    pub number: i64,
    /// When it ends, has ended or was bought.
    pub date: i64,
}

impl Record for Line {
    fn read(fields: &impl Fields) -> sqlx::Result<Self> {
        Ok(Self {
            item: fields.int(0)?,
            name: fields.text(1)?,
            price: Cents(fields.int(2)?),
            own: Cents(fields.int(3)?),
            number: fields.int(4)?,
            date: fields.int(5)?,
        })
    }
}

/// All that a person has to do with.
#[derive(Debug)]
pub struct Mine {
    /// Active items that they bid on.
    pub bidding: Vec<Line>,
    /// Auctions that they won of late.
    pub won: Vec<Line>,
    /// What they bought of late.
    pub bought: Vec<Line>,
    /// What they sell.
    pub selling: Vec<Line>,
    /// What they sold, or failed to, of late.
    pub sold: Vec<Line>,
}

pub(crate) const BIDDING: &str = "SELECT i.id, i.name, i.max_bid, b.own, i.nb_of_bids, i.end_date
     FROM (SELECT item_id, MAX(bid) AS own FROM bids WHERE user_id = $1
           GROUP BY item_id ORDER BY item_id DESC LIMIT 200) b
     JOIN items i ON i.id = b.item_id WHERE i.end_date > $2 ORDER BY i.end_date LIMIT $3";

pub(crate) const WON: &str =
    "SELECT id, name, max_bid, max_bid, nb_of_bids, end_date FROM old_items
     WHERE high_bidder = $1 AND end_date > $2 AND max_bid >= reserve_price
     ORDER BY end_date DESC LIMIT $3";

pub(crate) const BOUGHT: &str = "SELECT n.item_id, COALESCE(i.name, o.name, ''),
            COALESCE(i.buy_now, o.buy_now), CAST(0 AS BIGINT), n.qty, n.date
     FROM (SELECT item_id, qty, date FROM buy_now
           WHERE buyer_id = $1 AND date > $2 ORDER BY date DESC LIMIT $3) n
     LEFT JOIN items i ON i.id = n.item_id LEFT JOIN old_items o ON o.id = n.item_id
     ORDER BY n.date DESC";

pub(crate) const SELLING: &str =
    "SELECT id, name, CASE WHEN nb_of_bids = 0 THEN initial_price ELSE max_bid END, CAST(0 AS BIGINT),
            nb_of_bids, end_date
     FROM items WHERE seller = $1 AND end_date > $2 ORDER BY end_date LIMIT $3";

pub(crate) const SOLD: &str =
    "SELECT id, name, max_bid, CAST(0 AS BIGINT), nb_of_bids, end_date FROM old_items
     WHERE seller = $1 AND end_date > $2 ORDER BY end_date DESC LIMIT $3";

/// Reads the lists of a person's own page.
pub async fn mine(database: &Database, user: i64, now: i64) -> Result<Mine> {
    let active = [user.into(), now.into(), LINES.into()];
    let past = [user.into(), (now - LOOK_BACK).into(), LINES.into()];
    Ok(Mine {
        bidding: database.all(BIDDING, &active).await?,
        won: database.all(WON, &past).await?,
        bought: database.all(BOUGHT, &past).await?,
        selling: database.all(SELLING, &active).await?,
        sold: database.all(SOLD, &past).await?,
    })
}
