//! The tables of a synthetic item with its bids, comment and purchase.

use super::goods::{Goods, Remark};
use super::people::region_of;
use super::plan::Plan;
use crate::schema::ITEM_COLUMNS;
use tidegate_sitekit::Result;
use tidegate_sitekit::database::Connection;
use tidegate_sitekit::population::{Batch, Writer};

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
            let row =
                [buyer.into(), goods.id.into(), goods.quantity.into(), (now + goods.end).into()];
            self.purchases.push(connection, row).await?;
        }
        for bid in &goods.bids {
            let row = [
                bid.user.into(),
                goods.id.into(),
                bid.quantity.into(),
                bid.bid.into(),
                bid.max_bid.into(),
                (now + bid.date).into(),
            ];
            self.bids.push(connection, row).await?;
        }
        if let Some(remark) = Remark::after(plan.seed, goods.id, users) {
            let row = [
                remark.from.into(),
                remark.to.into(),
                goods.id.into(),
                remark.rating.into(),
                (now + remark.date).into(),
                remark.comment().into(),
            ];
            self.comments.push(connection, row).await?;
        }
        let last = goods.bids.last();
        let row = [
            goods.id.into(),
            goods.name.as_str().into(),
            goods.initial_price.into(),
            if buyer.is_some() { 0 } else { goods.quantity }.into(),
            goods.reserve_price.into(),
            goods.buy_now.into(),
            i64::try_from(goods.bids.len()).unwrap_or(0).into(),
            last.map_or(0, |bid| bid.bid).into(),
            last.map_or(0, |bid| bid.user).into(),
            (now + goods.start).into(),
            (now + goods.end).into(),
            goods.seller.into(),
            region_of(goods.seller).into(),
            goods.category.into(),
            if active { goods.quantity } else { 0 }.into(),
            goods.description.as_str().into(),
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
