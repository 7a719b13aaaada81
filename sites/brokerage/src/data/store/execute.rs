//! Orders that are carried out.

use super::cash::{MARKET, Movement, Part, Why, missing};
use super::leases;
use super::place::{TARGET, Target};
use crate::error::Result;
use crate::protocol::back::{Changed, Execute, Fill};
use crate::protocol::{Side, State};
use tidegate_sitekit::Error;
use tidegate_sitekit::database::{Database, Transaction};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::values;

const FILL: &str =
    "UPDATE orders SET state = 1, price = $2, closed = $3 WHERE id = $1 AND state = 0";
const EXECUTION: &str = "INSERT INTO executions
         (order_id, customer, security, side, quantity, cents, at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)";

const RECEIVE: &str = "INSERT INTO holdings (customer, security, available, reserved, cost)
     VALUES ($1, $2, $3, 0, $4)
     ON CONFLICT (customer, security) DO UPDATE
     SET available = holdings.available + excluded.available, cost = holdings.cost + excluded.cost
     RETURNING security";
// What the shares that are left have cost is rounded up, so that the last takes the rest.
const DELIVER: &str = "UPDATE holdings
     SET cost = cost - cost / (available + reserved) * $3
               - cost % (available + reserved) * $3 / (available + reserved),
         reserved = reserved - $3
     WHERE customer = $1 AND security = $2 AND reserved >= $3 RETURNING security";
const MARKET_SHARES: &str = "INSERT INTO holdings (customer, security, available, reserved, cost)
     VALUES (0, $1, $2, 0, 0)
     ON CONFLICT (customer, security) DO UPDATE
     SET available = holdings.available + excluded.available";

/// Most orders in one transaction.
const MOST: usize = 200;

/// Carries out orders under the lease of this term, all in one transaction.
///
/// # Errors
/// The lease is another's, or a price is worse than its order allows; an error of the
/// database. Nothing was changed then.
pub async fn execute(database: &Database, request: Execute, now: i64) -> Result<Changed> {
    let mut fills = request.fills;
    if fills.len() > MOST {
        return Err(defect(&format!("{} orders at once, of {MOST} at most", fills.len())).into());
    }
    // Two transactions that lock the same rows in the same order do not wait for each other.
    fills.sort_by_key(|fill| fill.number);
    fills.dedup_by_key(|fill| fill.number);
    let mut transaction = database.begin().await?;
    leases::check(&mut transaction, request.term).await?;
    let mut targets = Vec::with_capacity(fills.len());
    for fill in fills {
        let target = transaction.lock::<Target>(TARGET, &values![fill.number]).await?;
        let target = target.ok_or_else(|| missing("an order"))?;
        // It may have been cancelled, or carried out by a request that was sent twice.
        if target.state == State::Open {
            targets.push((target, fill));
        }
    }
    for (target, fill) in &targets {
        settle(&mut transaction, target, *fill, now).await?;
    }
    transaction.commit().await?;
    Ok(Changed { orders: i64::try_from(targets.len()).expect("at most 200") })
}

async fn settle(
    transaction: &mut Transaction,
    order: &Target,
    fill: Fill,
    now: i64,
) -> tidegate_sitekit::Result<()> {
    let (customer, price) = (order.customer, fill.price);
    let allowed = match order.side {
        Side::Buy => price <= order.limit,
        Side::Sell => price >= order.limit,
    };
    let cash = price.times(order.quantity).filter(|cash| allowed && cash.0 > 0);
    let cash = cash.ok_or_else(|| {
        defect(&format!("order {} cannot be carried out at {price}", order.number))
    })?;
    let movement =
        |why, from, to, cents| Movement { why, reference: order.number, from, to, cents, at: now };
    let (reserved, available) = (Part::reserved(customer), Part::available(customer));
    let market = Part::available(MARKET);
    let shares = match order.side {
        Side::Buy => {
            let left = order.reserved()?.minus(cash).unwrap_or_default();
            movement(Why::Bought, reserved, market, cash).apply(transaction).await?;
            movement(Why::Release, reserved, available, left).apply(transaction).await?;
            receive(transaction, order, cash).await?;
            -order.quantity
        }
        Side::Sell => {
            movement(Why::Sold, market, available, cash).apply(transaction).await?;
            let values = values![customer, order.security, order.quantity];
            let delivered = transaction.first::<i64>(DELIVER, &values).await?;
            delivered.ok_or_else(|| missing("a reserved share"))?;
            order.quantity
        }
    };
    transaction.run(MARKET_SHARES, &values![order.security, shares]).await?;
    transaction.run(FILL, &values![order.number, price, now]).await?;
    let values =
        values![order.number, customer, order.security, order.side, order.quantity, price, now];
    transaction.run(EXECUTION, &values).await
}

async fn receive(
    transaction: &mut Transaction,
    order: &Target,
    cost: Cents,
) -> tidegate_sitekit::Result<()> {
    let values = values![order.customer, order.security, order.quantity, cost];
    let received = transaction.first::<i64>(RECEIVE, &values).await?;
    received.map(drop).ok_or_else(|| missing("a holding"))
}

fn defect(what: &str) -> Error {
    Error::Internal(what.to_owned())
}
