//! Fills stock up.

use tidegate_partners::protocol::{Delivery, Replenishment};
use tidegate_sitekit::database::Database;
use tidegate_sitekit::queue::{Entry, Queue, Retry, Task};
use tidegate_sitekit::{Result, locking, record, values};

use super::queues::STOCK;
use super::{Fulfilment, RETRY};

/// Pieces that are ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    item: i64,
    quantity: i64,
}

record!(Wanted { item, quantity });

/// Orders goods and puts them into stock.
#[derive(Clone, Debug)]
pub struct Stock(pub Fulfilment);

impl Task for Stock {
    type Content = Wanted;

    const NAME: &'static str = "stock";
    const QUEUE: Queue = STOCK;
    const DUE: &'static str = "SELECT id, attempts, created, next, item, quantity
         FROM stock_queue WHERE state = 0 AND next <= $1 ORDER BY next, id LIMIT $2";
    const ENTRY: &'static str = "SELECT id, attempts, created, next, item, quantity
         FROM stock_queue WHERE state = 0 AND id = $1";

    fn retry(&self) -> Retry {
        RETRY
    }

    fn database(&self) -> &Database {
        &self.0.database
    }

    async fn perform(&self, entry: &Entry<Wanted>) -> Result<bool> {
        let Wanted { item, quantity } = entry.content;
        let key = self.0.key("stock", entry.id);
        let own = Delivery { quantity, reference: String::new() };
        match self.0.patient.call(&Replenishment { key, item, quantity }, own).await {
            // The pieces that were ordered come, neither more nor less.
            Ok(delivery) if delivery.quantity == quantity => {}
            Ok(delivery) => {
                tracing::error!(item, quantity, delivery.quantity, "a delivery is not as ordered");
                return Ok(false);
            }
            Err(error) => {
                self.0.log(&error);
                return Ok(false);
            }
        }
        // The entry ends with the change that it makes, so it is made once.
        let mut transaction = self.0.database.begin().await?;
        // First the item, as where goods are taken and ordered: they do not wait for each other.
        let lock = locking!("SELECT stock FROM items WHERE id = $1");
        transaction.lock::<i64>(lock, &values![item]).await?;
        let sql = "UPDATE stock_queue SET state = 1 WHERE id = $1 AND state = 0 RETURNING id";
        if transaction.first::<i64>(sql, &values![entry.id]).await?.is_some() {
            let sql = "UPDATE items SET stock = stock + $2 WHERE id = $1";
            transaction.run(sql, &values![item, quantity]).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    fn woken(&self) -> impl Future<Output = ()> + Send {
        self.0.shared.stock.notified()
    }
}
