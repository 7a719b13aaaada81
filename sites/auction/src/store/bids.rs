//! Bids: placing one, and the history of an item.

use tidegate_sitekit::database::{self, Database, LockingSql, Transaction};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::once::form::{self, Accepted, Form, Receipt};
use tidegate_sitekit::record;
use tidegate_sitekit::{Problem, Result, locking, values};

/// A new bid.
#[derive(Clone, Copy, Debug)]
pub struct NewBid {
    /// Who bids.
    pub user: i64,
    /// On which item.
    pub item: i64,
    /// How many of it.
    pub quantity: i64,
    /// How much.
    pub bid: Cents,
    /// Up to how much, stored with the bid.
    pub max_bid: Cents,
    /// Now.
    pub date: i64,
}

/// Result of a bid that reached an open auction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is the highest.
    Leads(Placed),
    /// It is below the minimum at this moment and was not stored.
    TooLow,
}

/// A bid that was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// How much.
    pub bid: Cents,
    /// Up to how much.
    pub max_bid: Cents,
    /// How many.
    pub quantity: i64,
    /// How many bids there were with it.
    pub nb_of_bids: i64,
}

record!(Placed { bid, max_bid, quantity; nb_of_bids: 0 });

/// A line of an item's history.
#[derive(Clone, Debug)]
pub struct PastBid {
    /// How much.
    pub bid: Cents,
    /// How many.
    pub quantity: i64,
    /// When.
    pub date: i64,
    /// Who.
    pub user: i64,
    /// Their nickname.
    pub nickname: String,
}

record!(PastBid { bid, quantity, date, user, nickname });

/// The columns of an item that a bid depends on.
struct Target {
    quantity: i64,
    nb_of_bids: i64,
    max_bid: Cents,
    end_date: i64,
    high_bidder: i64,
    initial_price: Cents,
}

record!(Target { quantity, nb_of_bids, max_bid, end_date, high_bidder, initial_price });

pub(crate) const HISTORY: &str = "SELECT b.bid, b.qty, b.date, b.user_id, u.nickname
     FROM bids b JOIN users u ON u.id = b.user_id
     WHERE b.item_id = $1 ORDER BY b.id DESC LIMIT 20 OFFSET $2";

const TARGET: LockingSql = locking!(
    "SELECT quantity, nb_of_bids, max_bid, end_date, high_bidder, initial_price
     FROM items WHERE id = $1"
);

pub(crate) const BY_ID: &str = "SELECT bid, max_bid, qty FROM bids WHERE id = $1";

/// Every bid after the first exceeds the highest by at least one dollar.
pub const INCREMENT: Cents = Cents(100);

/// The lowest bid that is accepted: the initial price before the first bid, later
/// the highest bid and the increment.
pub fn minimum(nb_of_bids: i64, max_bid: Cents, initial_price: Cents) -> Cents {
    if nb_of_bids == 0 { initial_price } else { Cents(max_bid.0 + INCREMENT.0) }
}

/// What an item costs: the highest bid as it is, or where bidding begins before
/// the first.
pub fn price(nb_of_bids: i64, max_bid: Cents, initial_price: Cents) -> Cents {
    if nb_of_bids == 0 { initial_price } else { max_bid }
}

/// A page of the bids on an item, latest first; `from` of them are skipped.
pub async fn history(database: &Database, item: i64, from: i64) -> Result<Vec<PastBid>> {
    database.all(HISTORY, &values![item, from]).await
}

/// Places a bid in one transaction: locks the item, stores the bid and updates
/// the item's number of bids and highest bid. The accepted bids on an item rise
/// strictly. A form sent again, and the leader's own bid placed again, is stored
/// once.
///
/// Deviation: RUBiS also stores a bid that does not exceed the highest.
///
/// # Errors
/// The auction has ended, or fewer items are left: errors of the client.
pub async fn place(database: &Database, form: Form, new: NewBid) -> Result<Accepted<Outcome>> {
    let mut transaction = database.begin().await?;
    let placed = store(&mut transaction, new).await;
    let again = |placed, nb_of_bids| Outcome::Leads(Placed { nb_of_bids, ..placed });
    form::accept(database, transaction, form, placed, BY_ID, again).await
}

async fn store(transaction: &mut Transaction, new: NewBid) -> Result<(Outcome, Option<Receipt>)> {
    let target = transaction.lock::<Target>(TARGET, &values![new.item]).await?;
    let target = target.filter(|target| target.end_date > new.date && target.quantity > 0);
    let target = target.ok_or_else(|| ended("Your bid came too late and was not placed."))?;
    if new.quantity > target.quantity {
        return Err(too_few(target.quantity).into());
    }
    let leads = |nb_of_bids| {
        let NewBid { bid, max_bid, quantity, .. } = new;
        Outcome::Leads(Placed { bid, max_bid, quantity, nb_of_bids })
    };
    if target.nb_of_bids > 0 && target.high_bidder == new.user && target.max_bid == new.bid {
        return Ok((leads(target.nb_of_bids), None));
    }
    if new.bid < minimum(target.nb_of_bids, target.max_bid, target.initial_price) {
        return Ok((Outcome::TooLow, None));
    }
    let sql = "INSERT INTO bids (user_id, item_id, qty, bid, max_bid, date)
               VALUES ($1, $2, $3, $4, $5, $6) RETURNING id";
    let values = [new.user, new.item, new.quantity, new.bid.0, new.max_bid.0, new.date];
    let row = transaction.first(sql, &values.map(Into::into)).await?;
    let row = row.ok_or(database::Error::NoRow)?;

    let sql = "UPDATE items SET nb_of_bids = nb_of_bids + 1, max_bid = $1, high_bidder = $2
               WHERE id = $3";
    transaction.run(sql, &values![new.bid, new.user, new.item]).await?;
    let nb_of_bids = target.nb_of_bids + 1;
    Ok((leads(nb_of_bids), Some(Receipt { row, figure: nb_of_bids })))
}

/// The refusal of a bid or purchase after the end of an auction.
pub fn ended(why: &str) -> Problem {
    let remedy = "Look for another item: new ones are listed all the time.";
    Problem::new(409, "This auction has ended", why, remedy)
}

/// The refusal of a quantity that is not left.
pub fn too_few(left: i64) -> Problem {
    let why = match left {
        1 => "Only one is left.".into(),
        left => format!("Only {left} are left."),
    };
    Problem::new(409, "There are not enough", why, "Go back and choose a smaller quantity.")
}
