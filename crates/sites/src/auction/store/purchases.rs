//! Buying at the fixed price.

use super::bids::{ended, too_few};
use crate::auction::money::Cents;
use crate::database::{self, Database, Fields, LockingSql, Record};
use crate::{Refusal, Result, locking};

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
    /// How many are left.
    pub left: i64,
}

struct Offer {
    quantity: i64,
    buy_now: Cents,
    end_date: i64,
}

impl Record for Offer {
    fn read(fields: &impl Fields) -> database::Result<Self> {
        Ok(Self {
            quantity: fields.int(0)?,
            buy_now: Cents(fields.int(1)?),
            end_date: fields.int(2)?,
        })
    }
}

const OFFER: LockingSql = locking!("SELECT quantity, buy_now, end_date FROM items WHERE id = $1");

/// Buys in one transaction: the item is locked, its quantity goes down, and with
/// the last one its auction ends.
///
/// # Errors
/// The auction has ended or has no fixed price, or fewer items are left: errors
/// of the client.
pub async fn buy(database: &Database, new: NewPurchase) -> Result<Bought> {
    let mut transaction = database.begin().await?;
    let offer = transaction.lock::<Offer>(OFFER, &[new.item.into()]).await?;
    let offer = offer.filter(|offer| offer.end_date > new.date && offer.quantity > 0);
    let Some(offer) = offer else {
        return Err(transaction.undo(ended("It was sold before your purchase arrived.")).await);
    };
    let Some(price) = offer.buy_now.some() else {
        return Err(transaction.undo(no_fixed_price()).await);
    };
    if new.quantity > offer.quantity {
        return Err(transaction.undo(too_few(offer.quantity)).await);
    }
    let left = offer.quantity - new.quantity;
    let sql = "INSERT INTO buy_now (buyer_id, item_id, qty, date) VALUES ($1, $2, $3, $4)";
    let values = [new.user.into(), new.item.into(), new.quantity.into(), new.date.into()];
    transaction.run(sql, &values).await?;
    let end = if left == 0 { new.date } else { offer.end_date };
    let sql = "UPDATE items SET quantity = $1, end_date = $2 WHERE id = $3";
    transaction.run(sql, &[left.into(), end.into(), new.item.into()]).await?;
    transaction.commit().await?;
    Ok(Bought { price, left })
}

/// The refusal of a purchase of an item without a fixed price.
pub fn no_fixed_price() -> Refusal {
    let why = "Its seller takes bids only.";
    Refusal::new(409, "This item has no fixed price", why, "Place a bid on it instead.")
}
