//! Buying at the fixed price.

use super::bids::{ended, too_few};
use tidegate_sitekit::database::{self, Database, LockingSql, Transaction};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::once::form::{self, Accepted, Form, Receipt};
use tidegate_sitekit::record;
use tidegate_sitekit::{Problem, Result, locking, values};

/// A new purchase.
#[derive(Clone, Copy, Debug)]
pub struct NewPurchase {
    /// Who buys.
    pub user: i64,
    /// Which item.
    pub item: i64,
    /// How many of it.
    pub quantity: i64,
    /// Now.
    pub date: i64,
}

/// Result of a purchase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bought {
    /// What one costs.
    pub price: Cents,
    /// How many were bought.
    pub quantity: i64,
    /// How many are left.
    pub left: i64,
}

record!(Bought { price, quantity; left: 0 });

struct Offer {
    quantity: i64,
    buy_now: Cents,
    end_date: i64,
}

record!(Offer { quantity, buy_now, end_date });

const OFFER: LockingSql = locking!("SELECT quantity, buy_now, end_date FROM items WHERE id = $1");

pub(crate) const BY_ID: &str = "SELECT COALESCE(i.buy_now, o.buy_now), b.qty FROM buy_now b
     LEFT JOIN items i ON i.id = b.item_id LEFT JOIN old_items o ON o.id = b.item_id
     WHERE b.id = $1";

/// Buys in one transaction: the item is locked, its quantity goes down, and with
/// the last one its auction ends. A form sent again is carried out once.
///
/// # Errors
/// The auction has ended or has no fixed price, or fewer items are left: errors
/// of the client.
pub async fn buy(database: &Database, form: Form, new: NewPurchase) -> Result<Accepted<Bought>> {
    let mut transaction = database.begin().await?;
    let bought = store(&mut transaction, new).await;
    let again = |bought, left| Bought { left, ..bought };
    form::accept(database, transaction, form, bought, BY_ID, again).await
}

async fn store(
    transaction: &mut Transaction,
    new: NewPurchase,
) -> Result<(Bought, Option<Receipt>)> {
    let offer = transaction.lock::<Offer>(OFFER, &values![new.item]).await?;
    let offer = offer.filter(|offer| offer.end_date > new.date && offer.quantity > 0);
    let offer = offer.ok_or_else(|| ended("It was sold before your purchase arrived."))?;
    let price = offer.buy_now.some().ok_or_else(no_fixed_price)?;
    if new.quantity > offer.quantity {
        return Err(too_few(offer.quantity).into());
    }
    let left = offer.quantity - new.quantity;
    let sql = "INSERT INTO buy_now (buyer_id, item_id, qty, date) VALUES ($1, $2, $3, $4)
               RETURNING id";
    let values = values![new.user, new.item, new.quantity, new.date];
    let row = transaction.first(sql, &values).await?.ok_or(database::Error::NoRow)?;
    let end = if left == 0 { new.date } else { offer.end_date };
    let sql = "UPDATE items SET quantity = $1, end_date = $2 WHERE id = $3";
    transaction.run(sql, &values![left, end, new.item]).await?;
    let bought = Bought { price, quantity: new.quantity, left };
    Ok((bought, Some(Receipt { row, figure: left })))
}

/// The refusal of a purchase of an item without a fixed price.
pub fn no_fixed_price() -> Problem {
    let why = "Its seller takes bids only.";
    Problem::new(409, "This item has no fixed price", why, "Place a bid on it instead.")
}
