//! What is to be done for orders at the card processor: the durable queue `payment_queue`.

use tidegate_sitekit::database::{Database, Transaction, Value};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::queue::{Entry, Queue};
use tidegate_sitekit::when::now_ms;
use tidegate_sitekit::{Result, numbered, queue, record, values};

/// The queue.
pub const QUEUE: Queue = queue!("payment_queue");
/// After so many milliseconds what was claimed is tried again, unless it has ended.
const CLAIMED: i64 = 30_000;

/// A step of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Create the payment.
    Create,
    /// Look whether the customer has paid.
    Look,
    /// Take what is authorised.
    Capture,
}

numbered!(Step: Create = 0, Look = 1, Capture = 2);

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// For which order.
    pub order: i64,
    /// The step.
    pub step: Step,
    /// The name of the payment at the processor.
    pub reference: String,
    /// What the order costs.
    pub amount: Cents,
    /// When it was placed, seconds since 1970.
    pub placed: i64,
}

record!(Due { order, step, reference, amount, placed });

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT q.id, q.attempts, q.created, q.next, o.id, q.step, o.reference,
                    o.goods + o.shipping + o.tax, o.created
             FROM payment_queue q JOIN orders o ON o.id = q.order_id WHERE q.state = 0 AND ",
            $rest
        )
    };
}

/// Now, milliseconds since 1970.
pub fn now() -> i64 {
    i64::try_from(now_ms()).unwrap_or(i64::MAX)
}

/// Takes up to so many steps that are due.
pub async fn due(database: &Database, most: i64) -> Result<Vec<Entry<Due>>> {
    const SQL: &str = select!("q.next <= $1 ORDER BY q.next LIMIT $2");
    claim(database, SQL, &values![now(), most]).await
}

/// Takes the steps of an order, whenever they are due.
pub async fn of_order(database: &Database, order: i64) -> Result<Vec<Entry<Due>>> {
    const SQL: &str = select!("q.order_id = $1 ORDER BY q.id LIMIT 4");
    claim(database, SQL, &values![order]).await
}

async fn claim(
    database: &Database,
    sql: &'static str,
    values: &[Value<'_>],
) -> Result<Vec<Entry<Due>>> {
    QUEUE.claim(database, sql, values, now() + CLAIMED).await
}

/// Adds a step of an order, due at this time in milliseconds since 1970.
pub async fn push(
    transaction: &mut Transaction,
    order: i64,
    step: Step,
    due_ms: i64,
) -> Result<()> {
    let sql = "INSERT INTO payment_queue (order_id, step, state, attempts, next, created)
               VALUES ($1, $2, 0, 0, $3, $4)";
    transaction.run(sql, &values![order, step, due_ms, now()]).await
}
