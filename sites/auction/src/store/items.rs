//! One item with its seller, also after its auction has ended.

use super::bids;
use tidegate_sitekit::Result;
use tidegate_sitekit::database::Database;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::record;
use tidegate_sitekit::values;
use tidegate_sitekit::when;

/// An item with all that its page shows.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its id, kept when the auction ends.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Where bidding begins.
    pub initial_price: Cents,
    /// How many are left.
    pub quantity: i64,
    /// Below this the seller keeps it; zero for none. Not shown to bidders.
    pub reserve_price: Cents,
    /// The fixed price, zero for none.
    pub buy_now: Cents,
    /// How many bids there are.
    pub nb_of_bids: i64,
    /// The highest bid, zero before the first.
    pub max_bid: Cents,
    /// When the auction began.
    pub start_date: i64,
    /// When it ends or has ended.
    pub end_date: i64,
    /// Whose item it is.
    pub seller: i64,
    /// Where the seller is.
    pub region: i64,
    /// Its category.
    pub category: i64,
    /// The seller's text.
    pub description: String,
    /// The seller's nickname.
    pub seller_nickname: String,
    /// The seller's rating.
    pub seller_rating: i64,
    /// The auction is over.
    pub ended: bool,
}

impl Item {
    /// What it costs now: the highest bid, or where bidding begins.
    pub fn price(&self) -> Cents {
        bids::price(self.nb_of_bids, self.max_bid, self.initial_price)
    }

    /// What that price is.
    pub fn price_is(&self) -> &'static str {
        if self.nb_of_bids == 0 { "starting price" } else { "highest bid" }
    }

    /// The lowest new bid: one dollar above the highest, or the
    /// initial price before the first.
    pub fn minimum_bid(&self) -> Cents {
        bids::minimum(self.nb_of_bids, self.max_bid, self.initial_price)
    }
}

record!(Item { id, name, initial_price, quantity, reserve_price, buy_now, nb_of_bids, max_bid, start_date, end_date, seller, region, category, description, seller_nickname, seller_rating; ended: false });

pub(crate) const ACTIVE: &str =
    "SELECT i.id, i.name, i.initial_price, i.quantity, i.reserve_price, i.buy_now, i.nb_of_bids,
            i.max_bid, i.start_date, i.end_date, i.seller, i.region, i.category, i.description,
            u.nickname, u.rating
     FROM items i JOIN users u ON u.id = i.seller WHERE i.id = $1";

pub(crate) const ENDED: &str =
    "SELECT i.id, i.name, i.initial_price, i.quantity, i.reserve_price, i.buy_now, i.nb_of_bids,
            i.max_bid, i.start_date, i.end_date, i.seller, i.region, i.category, i.description,
            u.nickname, u.rating
     FROM old_items i JOIN users u ON u.id = i.seller WHERE i.id = $1";

/// The item of this id, active or ended, if there ever was one.
pub async fn item(database: &Database, id: i64) -> Result<Option<Item>> {
    if let Some(mut item) = database.first::<Item>(ACTIVE, &values![id]).await? {
        item.ended = item.end_date <= when::now();
        return Ok(Some(item));
    }
    let ended = database.first::<Item>(ENDED, &values![id]).await?;
    Ok(ended.map(|item| Item { ended: true, ..item }))
}
