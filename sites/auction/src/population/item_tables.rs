//! The tables of a synthetic item with its bids, comment and purchase.

use super::goods::{Goods, Remark};
use super::people::region_of;
use super::plan::Plan;
use crate::schema::ITEM_COLUMNS;
use tidegate_sitekit::Result;
use tidegate_sitekit::database::Connection;
use tidegate_sitekit::population::{Batch, Writer};
use tidegate_sitekit::values;

/// The tables that an item and what belongs to it go into.
pub struct ItemTables {
    active: Batch,
    old: Batch,
    bids: Batch,
    comments: Batch,
    purchases: Batch,
}

impl ItemTables {
    /// Nothing written yet.
    pub fn new() -> Self {
        Self {
            active: Batch::new("items", ITEM_COLUMNS),
            old: Batch::new("old_items", ITEM_COLUMNS),
            bids: Batch::new("bids", "user_id, item_id, qty, bid, max_bid, date"),
            comments: Batch::new(
                "comments",
                "from_user_id, to_user_id, item_id, rating, date, comment",
            ),
            purchases: Batch::new("buy_now", "buyer_id, item_id, qty, date"),
        }
    }

    /// Adds an item with its bids, comment and purchase.
    pub async fn push(
        &mut self,
        plan: Plan,
        writer: &mut Writer<'_>,
        goods: &Goods,
        active: bool,
    ) -> Result<()> {
        let (now, users) = (writer.now, plan.users());
        let connection = &mut *writer.connection;
        let buyer = if active { None } else { goods.buyer(plan.seed, users) };
        if let Some(buyer) = buyer {
            let row = values![buyer, goods.id, goods.quantity, now + goods.end];
            self.purchases.push(connection, row).await?;
        }
        for bid in &goods.bids {
            let row =
                values![bid.user, goods.id, bid.quantity, bid.bid, bid.max_bid, now + bid.date];
            self.bids.push(connection, row).await?;
        }
        if let Some(remark) = Remark::after(plan.seed, goods.id, users) {
            let (from, to, rating, date) = (remark.from, remark.to, remark.rating, remark.date);
            let comment = remark.comment();
            let row = values![from, to, goods.id, rating, now + date, comment];
            self.comments.push(connection, row).await?;
        }
        let last = goods.bids.last();
        let row = values![
            goods.id,
            goods.name.as_str(),
            goods.initial_price,
            if buyer.is_some() { 0 } else { goods.quantity },
            goods.reserve_price,
            goods.buy_now,
            i64::try_from(goods.bids.len()).unwrap_or(0),
            last.map_or(0, |bid| bid.bid),
            last.map_or(0, |bid| bid.user),
            now + goods.start,
            now + goods.end,
            goods.seller,
            region_of(goods.seller),
            goods.category,
            if active { goods.quantity } else { 0 },
            goods.description.as_str()
        ];
        if active {
            self.active.push(connection, row).await?;
        } else {
            self.old.push(connection, row).await?;
        }
        writer.done(1).await
    }

    /// Writes what is left.
    pub async fn write(&mut self, connection: &mut Connection) -> Result<()> {
        for batch in [
            &mut self.active,
            &mut self.old,
            &mut self.bids,
            &mut self.comments,
            &mut self.purchases,
        ] {
            batch.write(connection).await?;
        }
        Ok(())
    }
}
