//! The steps of an order.

use std::time::Duration;

use tidegate_partners::protocol::{Decision, PurchaseOrder, Receipt, Shipment, is_key};
use tidegate_sitekit::database::{Database, Transaction};
use tidegate_sitekit::queue::{Entry, Queue, Retry, Task};
use tidegate_sitekit::when::ms;
use tidegate_sitekit::{Result, locking, record, values};

use super::partner::Partner;
use super::queues::{SHIPPING, Step, now, order_goods, push};
use super::state::OrderState;
use super::{Fulfilment, RETRY, SETTINGS};

/// Less than so many pieces of an item in stock are too few.
const LEAST: i64 = 50;
/// So many pieces of an item are ordered at once, or as many as an order needs.
const LOT: i64 = 500;
/// After so long a worker takes up what a customer waits for.
const GRACE: Duration = Duration::from_secs(3);

/// What is to be done for an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    order: i64,
    step: Step,
}

record!(Due { order, step });

/// Works on the steps of orders.
#[derive(Clone, Debug)]
pub struct Shipping(pub Fulfilment);

impl Task for Shipping {
    type Content = Due;

    const NAME: &'static str = "shipping";
    const QUEUE: Queue = SHIPPING;
    const DUE: &'static str = "SELECT id, attempts, created, next, order_id, step
         FROM shipping_queue WHERE state = 0 AND next <= $1 ORDER BY next, id LIMIT $2";
    const ENTRY: &'static str = "SELECT id, attempts, created, next, order_id, step
         FROM shipping_queue WHERE state = 0 AND id = $1";

    fn retry(&self) -> Retry {
        RETRY
    }

    fn database(&self) -> &Database {
        &self.0.database
    }

    async fn perform(&self, entry: &Entry<Due>) -> Result<bool> {
        self.0.step(&entry.content, &self.0.patient).await
    }

    fn woken(&self) -> impl Future<Output = ()> + Send {
        self.0.shared.shipping.notified()
    }
}

impl Fulfilment {
    /// Begins an order, which the transaction has stored as [`OrderState::Received`].
    ///
    /// # Errors
    /// An error of the database.
    pub async fn begin(&self, transaction: &mut Transaction, order: i64) -> Result<()> {
        push(transaction, order, Step::Validate, now() + ms(GRACE)).await
    }

    /// Has an order validated while its customer waits, after it was stored; returns its state.
    /// Without an answer of the partner it stays [`OrderState::Received`], and is validated
    /// later.
    ///
    /// # Errors
    /// An error of the database; the order is stored all the same.
    pub async fn validate(&self, order: i64) -> Result<OrderState> {
        const OF_ORDER: &str = "SELECT id, attempts, created, next, order_id, step
             FROM shipping_queue WHERE order_id = $1 AND state = 0 AND step = 0";
        let until = now() + ms(SETTINGS.claim);
        let database = &self.database;
        let entries: Vec<Entry<Due>> =
            SHIPPING.claim(database, OF_ORDER, &values![order], until).await?;
        for entry in entries {
            let done = self.step(&entry.content, &self.quick).await?;
            SHIPPING.end(database, &entry, done, now(), RETRY).await?;
        }
        let sql = "SELECT state FROM orders WHERE id = $1";
        Ok(database.first(sql, &values![order]).await?.unwrap_or(OrderState::Received))
    }

    /// Does a step; whether it is done.
    async fn step(&self, due: &Due, partner: &Partner) -> Result<bool> {
        match due.step {
            Step::Validate => self.decide(due.order, partner).await,
            Step::Pack => self.pack(due.order).await,
            Step::Ship => self.ship(due.order, partner).await,
        }
    }

    async fn decide(&self, order: i64, partner: &Partner) -> Result<bool> {
        let sql = "SELECT customer, total FROM orders WHERE id = $1 AND state = $2";
        let received = OrderState::Received;
        let found = self.database.first(sql, &values![order, received]).await?;
        let Some((customer, amount)) = found else { return Ok(true) };
        let request = PurchaseOrder { key: self.key("order", order), customer, amount };
        let own = Decision { accepted: true, reference: String::new() };
        let accepted = match partner.call(&request, own).await {
            Ok(decision) => decision.accepted,
            Err(error) => {
                self.log(&error);
                return Ok(false);
            }
        };
        let mut transaction = self.database.begin().await?;
        let next = if accepted { OrderState::Accepted } else { OrderState::Declined };
        if advance(&mut transaction, order, received, next).await? && accepted {
            push(&mut transaction, order, Step::Pack, now()).await?;
        }
        transaction.commit().await?;
        self.shared.shipping.notify_one();
        Ok(true)
    }

    /// Takes the goods of an order from stock, all or none. What is missing is ordered.
    async fn pack(&self, order: i64) -> Result<bool> {
        let mut transaction = self.database.begin().await?;
        let lock = locking!("SELECT state FROM orders WHERE id = $1");
        if transaction.lock(lock, &values![order]).await? != Some(OrderState::Accepted) {
            transaction.rollback().await?;
            return Ok(true);
        }
        // In one order, so that two orders do not wait for each other.
        let sql = "SELECT item, CAST(SUM(quantity) AS BIGINT) FROM order_lines WHERE order_id = $1
                   GROUP BY item ORDER BY item";
        let lines: Vec<(i64, i64)> = transaction.all(sql, &values![order]).await?;
        let mut missing = Vec::new();
        for (item, quantity) in lines {
            let sql = "UPDATE items SET stock = stock - $2 WHERE id = $1 AND stock >= $2
                       RETURNING stock";
            match transaction.first::<i64>(sql, &values![item, quantity]).await? {
                Some(left) if left >= LEAST => {}
                Some(_) => order_goods(&mut transaction, item, LOT).await?,
                None => missing.push((item, LOT.max(quantity + LEAST))),
            }
        }
        if !missing.is_empty() {
            transaction.rollback().await?;
            let mut transaction = self.database.begin().await?;
            for (item, quantity) in missing {
                order_goods(&mut transaction, item, quantity).await?;
            }
            transaction.commit().await?;
            self.shared.stock.notify_one();
            return Ok(false);
        }
        advance(&mut transaction, order, OrderState::Accepted, OrderState::Packed).await?;
        push(&mut transaction, order, Step::Ship, now()).await?;
        transaction.commit().await?;
        self.shared.stock.notify_one();
        self.shared.shipping.notify_one();
        Ok(true)
    }

    async fn ship(&self, order: i64, partner: &Partner) -> Result<bool> {
        let packed = OrderState::Packed;
        let sql = "SELECT CAST(SUM(l.quantity) AS BIGINT) FROM orders o JOIN order_lines l ON l.order_id = o.id
                   WHERE o.id = $1 AND o.state = $2 GROUP BY o.id";
        let found = self.database.first(sql, &values![order, packed]).await?;
        let Some(pieces) = found else { return Ok(true) };
        let key = self.key("shipment", order);
        let own = Receipt { pieces, reference: key.clone() };
        let receipt = match partner.call(&Shipment { key, order, pieces }, own).await {
            Ok(receipt) if receipt.pieces == pieces && is_key(&receipt.reference) => receipt,
            Ok(receipt) => {
                tracing::error!(order, pieces, receipt.pieces, "a receipt is not of the shipment");
                return Ok(false);
            }
            Err(error) => {
                self.log(&error);
                return Ok(false);
            }
        };
        let sql = "UPDATE orders SET state = $3, tracking = $4 WHERE id = $1 AND state = $2";
        let values = values![order, packed, OrderState::Shipped, receipt.reference];
        self.database.run(sql, &values).await?;
        Ok(true)
    }
}

/// Brings an order from a state to the next; false if it has another one.
async fn advance(
    transaction: &mut Transaction,
    order: i64,
    from: OrderState,
    to: OrderState,
) -> Result<bool> {
    let sql = "UPDATE orders SET state = $3 WHERE id = $1 AND state = $2 RETURNING id";
    let advanced = transaction.first::<i64>(sql, &values![order, from, to]).await?;
    Ok(advanced.is_some())
}
