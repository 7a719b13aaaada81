//! The queues: `shipping_queue` is what is to be done for orders, `stock_queue` what is to be
//! ordered of the inventory partner. Points in time are milliseconds since 1970.

use tidegate_sitekit::database::Transaction;
use tidegate_sitekit::queue::Queue;
use tidegate_sitekit::when::now_ms;
use tidegate_sitekit::{Result, numbered, queue, values};

/// The queue of orders.
pub const SHIPPING: Queue = queue!("shipping_queue");
/// The queue of goods.
pub const STOCK: Queue = queue!("stock_queue");

/// The tables, in an order in which they can be dropped.
pub const TABLES: [&str; 2] = ["shipping_queue", "stock_queue"];
/// What creates them.
pub const TEXT: &str = "
CREATE TABLE shipping_queue (
    id {id}, order_id {int} NOT NULL, step {int} NOT NULL, state {int} NOT NULL,
    attempts {int} NOT NULL, next {int} NOT NULL, created {int} NOT NULL
);
CREATE TABLE stock_queue (
    id {id}, item {int} NOT NULL, quantity {int} NOT NULL CHECK (quantity > 0),
    state {int} NOT NULL, attempts {int} NOT NULL, next {int} NOT NULL, created {int} NOT NULL
);
";
/// Their indexes. Of an item one order to the partner is open at a time.
pub const INDEXES: &str = "
CREATE INDEX shipping_queue_due ON shipping_queue (state, next);
CREATE INDEX shipping_queue_order ON shipping_queue (order_id, state);
CREATE INDEX shipping_queue_pending ON shipping_queue (created) WHERE state = 0;
CREATE INDEX stock_queue_due ON stock_queue (state, next);
CREATE UNIQUE INDEX stock_queue_open ON stock_queue (item) WHERE state = 0;
CREATE INDEX stock_queue_pending ON stock_queue (created) WHERE state = 0;
";

/// A step of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ask the partner whether the purchase order is good.
    Validate,
    /// Take the goods from stock.
    Pack,
    /// Tell the carrier.
    Ship,
}

numbered!(Step: Validate = 0, Pack = 1, Ship = 2);

/// Now, milliseconds since 1970.
pub fn now() -> i64 {
    i64::try_from(now_ms()).unwrap_or(i64::MAX)
}

/// Adds a step of an order, due at this time in milliseconds since 1970.
///
/// # Errors
/// An error of the database.
pub async fn push(
    transaction: &mut Transaction,
    order: i64,
    step: Step,
    due_ms: i64,
) -> Result<()> {
    let sql = "INSERT INTO shipping_queue (order_id, step, state, attempts, next, created)
               VALUES ($1, $2, 0, 0, $3, $4)";
    transaction.run(sql, &values![order, step, due_ms, now()]).await
}

/// Orders pieces of an item of the partner, unless some are on their way.
///
/// # Errors
/// An error of the database.
pub async fn order_goods(transaction: &mut Transaction, item: i64, quantity: i64) -> Result<()> {
    let sql = "INSERT INTO stock_queue (item, quantity, state, attempts, next, created)
               VALUES ($1, $2, 0, 0, $3, $3) ON CONFLICT DO NOTHING";
    transaction.run(sql, &values![item, quantity, now()]).await
}
