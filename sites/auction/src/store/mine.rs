//! A person's bids, wins, purchases and sales.

use tidegate_sitekit::Result;
use tidegate_sitekit::database::Database;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::record;
use tidegate_sitekit::values;
use tidegate_sitekit::when::DAY;

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

/// A person's own page, at most eight lines of each kind.
#[derive(Debug, Default)]
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

/// All lists in one statement: on PostgreSQL each more would be a round trip.
/// The first column is the list that a line belongs to.
pub(crate) const ALL: &str = "
SELECT * FROM (
    SELECT CAST(0 AS BIGINT) AS list, i.id, i.name, i.max_bid, part_bids.own, i.nb_of_bids, i.end_date
    FROM (SELECT item_id, MAX(bid) AS own FROM bids WHERE user_id = $1
          GROUP BY item_id ORDER BY item_id DESC LIMIT 200) part_bids
    CROSS JOIN items i WHERE i.id = part_bids.item_id AND i.end_date > $2 ORDER BY i.end_date LIMIT 8) part_a
UNION ALL SELECT * FROM (
    SELECT CAST(1 AS BIGINT), id, name, max_bid, max_bid AS own, nb_of_bids, end_date FROM old_items
    WHERE high_bidder = $1 AND end_date > $3 AND max_bid >= reserve_price
    ORDER BY end_date DESC LIMIT 8) part_b
UNION ALL SELECT * FROM (
    SELECT CAST(2 AS BIGINT), part_sales.item_id, COALESCE(i.name, o.name, ''),
           COALESCE(i.buy_now, o.buy_now), CAST(0 AS BIGINT), part_sales.qty, part_sales.date
    FROM (SELECT item_id, qty, date FROM buy_now
          WHERE buyer_id = $1 AND date > $3 ORDER BY date DESC LIMIT 8) part_sales
    LEFT JOIN items i ON i.id = part_sales.item_id LEFT JOIN old_items o ON o.id = part_sales.item_id) part_c
UNION ALL SELECT * FROM (
    SELECT CAST(3 AS BIGINT), id, name, CASE WHEN nb_of_bids = 0 THEN initial_price ELSE max_bid END,
           CAST(0 AS BIGINT), nb_of_bids, end_date
    FROM items WHERE seller = $1 AND end_date > $2 ORDER BY end_date LIMIT 8) part_d
UNION ALL SELECT * FROM (
    SELECT CAST(4 AS BIGINT), id, name, max_bid, CAST(0 AS BIGINT), nb_of_bids, end_date
    FROM old_items WHERE seller = $1 AND end_date > $3 ORDER BY end_date DESC LIMIT 8) part_e";

struct Listed {
    list: i64,
    line: Line,
}

record!(Line { item, name, price, own, number, date });
record!(Listed { list, line });

/// Reads the lists of a person's own page.
pub async fn mine(database: &Database, user: i64, now: i64) -> Result<Mine> {
    let values = values![user, now, now - LOOK_BACK];
    let mut mine = Mine::default();
    for Listed { list, line } in database.all(ALL, &values).await? {
        match list {
            0 => mine.bidding.push(line),
            1 => mine.won.push(line),
            2 => mine.bought.push(line),
            3 => mine.selling.push(line),
            _ => mine.sold.push(line),
        }
    }
    // A union has no defined order.
    mine.bidding.sort_by_key(|line| line.date);
    mine.selling.sort_by_key(|line| line.date);
    for past in [&mut mine.won, &mut mine.bought, &mut mine.sold] {
        past.sort_by_key(|line| -line.date);
    }
    Ok(mine)
}
