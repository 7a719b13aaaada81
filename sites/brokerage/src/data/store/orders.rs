//! Orders as they are read.

use crate::error::Result;
use crate::protocol::Order;
use crate::protocol::back::{Match, Matching, ReadMatching};
use tidegate_sitekit::database::Database;
use tidegate_sitekit::record;
use tidegate_sitekit::values;

/// The columns of an order, for `orders o JOIN securities s`.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT o.id, s.symbol, o.side, o.kind, o.quantity, o.limit_cents, o.state, o.reason,
             o.price, o.created, o.closed, o.expires
             FROM orders o JOIN securities s ON s.id = o.security ",
            $rest
        )
    };
}

record!(Order {
    number,
    symbol,
    side,
    kind,
    quantity,
    limit,
    state,
    reason,
    price,
    created,
    closed,
    expires
});

record!(Match { number, side, limit, price });

const OPEN: &str =
    select!("WHERE o.customer = $1 AND o.state = 0 AND o.id < $2 ORDER BY o.id DESC LIMIT $3");
const CLOSED: &str =
    select!("WHERE o.customer = $1 AND o.state <> 0 AND o.id < $2 ORDER BY o.id DESC LIMIT $3");
/// One order of a customer by its number.
pub const BY_NUMBER: &str = select!("WHERE o.id = $1 AND o.customer = $2");
/// One order of a customer by its name.
pub const BY_NAME: &str = select!("WHERE o.client_id = $1 AND o.customer = $2");

// The join begins with the 250 prices, and for each looks up a range of an index. The word
// CROSS keeps SQLite from beginning with the orders.
const MATCHING_BUY: &str = "SELECT o.id, o.side, o.limit_cents, p.cents
     FROM prices p CROSS JOIN orders o
     WHERE o.security = p.security AND o.state = 0 AND o.side = 1 AND o.limit_cents >= p.cents
     LIMIT $1";
const MATCHING_SELL: &str = "SELECT o.id, o.side, o.limit_cents, p.cents
     FROM prices p CROSS JOIN orders o
     WHERE o.security = p.security AND o.state = 0 AND o.side = 2 AND o.limit_cents <= p.cents
     LIMIT $1";

/// Orders of a customer, newest first, and whether there are older ones.
pub async fn read(
    database: &Database,
    customer: i64,
    open: bool,
    before: Option<i64>,
    most: i64,
) -> Result<(Vec<Order>, bool)> {
    let sql = if open { OPEN } else { CLOSED };
    let most = most.clamp(1, 200);
    let values = values![customer, before.unwrap_or(i64::MAX), most + 1];
    let mut orders: Vec<Order> = database.all(sql, &values).await?;
    let most = usize::try_from(most).expect("at most 200");
    let more = orders.len() > most;
    orders.truncate(most);
    Ok((orders, more))
}

/// Open orders whose limit the latest price has reached.
pub async fn matching(database: &Database, request: ReadMatching) -> Result<Matching> {
    let most = request.most.clamp(1, 200);
    let mut orders: Vec<Match> = database.all(MATCHING_BUY, &values![most]).await?;
    let left = most - i64::try_from(orders.len()).expect("at most 200");
    if left > 0 {
        orders.extend(database.all::<Match>(MATCHING_SELL, &values![left]).await?);
    }
    Ok(Matching { orders })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::store::tests::World;

    #[tokio::test]
    async fn matching_looks_up_ranges_of_indexes_and_reads_no_order_twice() {
        let world = World::new().await;
        for (sql, index) in [(MATCHING_BUY, "orders_buy"), (MATCHING_SELL, "orders_sell")] {
            let plan = world.plan(sql, &values![1]).await;
            assert!(plan.contains(&format!("INDEX {index} (security=? AND limit")), "{plan}");
            assert!(plan.starts_with("SCAN p"), "{plan}");
        }
        for (sql, index) in [(OPEN, "orders_open"), (CLOSED, "orders_closed")] {
            let plan = world.plan(sql, &values![1, 1, 1]).await;
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{plan}");
        }
    }
}
