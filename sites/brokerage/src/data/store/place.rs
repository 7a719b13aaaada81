//! New orders, and orders that end without being carried out.

use super::cash::{Movement, Part, Why, available, missing};
use super::orders::{BY_NAME, BY_NUMBER};
use super::{leases, sessions};
use crate::error::Result;
use crate::protocol::back::{Changed, CloseOrder, PlaceOrder, Placed};
use crate::protocol::{Order, Problem, Reason, Side, State};
use tidegate_sitekit::database::{Database, LockingSql, Transaction};
use tidegate_sitekit::locking;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::record;
use tidegate_sitekit::values;

/// Most orders that expire in one transaction.
const AT_ONCE: i64 = 100;

const INSERT: &str = "INSERT INTO orders (customer, client_id, security, side, kind, quantity,
         limit_cents, state, reason, price, created, closed, expires)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, 0, $8, 0, $9)
     ON CONFLICT (customer, client_id) DO NOTHING RETURNING id";

const RESERVE_SHARES: &str = "UPDATE holdings
     SET available = available - $3, reserved = reserved + $3
     WHERE customer = $1 AND security = $2 AND available >= $3 RETURNING security";
const RELEASE_SHARES: &str = "UPDATE holdings
     SET available = available + $3, reserved = reserved - $3
     WHERE customer = $1 AND security = $2 AND reserved >= $3 RETURNING security";

const CLOSE: &str = "UPDATE orders SET state = $2, reason = $3, closed = $4 WHERE id = $1";

/// What of an order is needed to end it.
pub(super) struct Target {
    pub(super) number: i64,
    pub(super) customer: i64,
    pub(super) security: i64,
    pub(super) side: Side,
    pub(super) quantity: i64,
    pub(super) limit: Cents,
    pub(super) state: State,
}

record!(Target { number, customer, security, side, quantity, limit, state });

/// An order by its number, locked.
pub(super) const TARGET: LockingSql = locking!(
    "SELECT id, customer, security, side, quantity, limit_cents, state FROM orders WHERE id = $1"
);

impl Target {
    /// The cash that an order to buy has reserved.
    ///
    /// # Errors
    /// More than fits, which is a defect.
    pub(super) fn reserved(&self) -> tidegate_sitekit::Result<Cents> {
        reserve(self.limit, self.quantity)
    }
}

fn reserve(limit: Cents, quantity: i64) -> tidegate_sitekit::Result<Cents> {
    let cents = limit.times(quantity).filter(|cents| cents.0 > 0);
    cents.ok_or_else(|| {
        tidegate_sitekit::Error::Internal(format!("{quantity} shares at {limit} do not fit"))
    })
}

/// Stores an order and reserves what it needs, in one transaction.
///
/// # Errors
/// The session is over; an error of the database, and nothing was changed.
pub async fn place(database: &Database, request: PlaceOrder, now: i64) -> Result<Placed> {
    let customer = sessions::customer(database, &request.session, now).await?;
    let cash = reserve(request.limit, request.quantity)?;
    let mut transaction = database.begin().await?;
    let values = values![
        customer,
        request.id.as_str(),
        request.security,
        request.side,
        request.kind,
        request.quantity,
        request.limit,
        now,
        request.expires.unwrap_or(0)
    ];
    let inserted = transaction.first::<i64>(INSERT, &values).await?;
    if let Some(number) = inserted {
        let reserved = match request.side {
            Side::Buy => {
                let movement = Movement {
                    why: Why::Reserve,
                    reference: number,
                    from: Part::available(customer),
                    to: Part::reserved(customer),
                    cents: cash,
                    at: now,
                };
                movement.apply_if_covered(&mut transaction).await?
            }
            Side::Sell => {
                let values = values![customer, request.security, request.quantity];
                transaction.first::<i64>(RESERVE_SHARES, &values).await?.is_some()
            }
        };
        if !reserved {
            let reason = Reason::rejected(request.side);
            set_closed(&mut transaction, number, State::Rejected, reason, now).await?;
        }
    }
    let values = values![request.id.as_str(), customer];
    let order = transaction.first::<Order>(BY_NAME, &values).await?;
    let order = order.ok_or_else(|| missing("an order"))?;
    let available = available(&mut transaction, customer).await?;
    transaction.commit_if(inserted.is_some()).await?;
    Ok(Placed { order, repeated: inserted.is_none(), available })
}

/// Cancels an order of the customer if it is open, in one transaction.
///
/// # Errors
/// The session is over, or the customer has no such order; an error of the database, and
/// nothing was changed.
pub async fn cancel(database: &Database, request: CloseOrder, now: i64) -> Result<Order> {
    let customer = sessions::customer(database, &request.session, now).await?;
    let mut transaction = database.begin().await?;
    let target = transaction.lock::<Target>(TARGET, &values![request.number]).await?;
    let Some(target) = target.filter(|target| target.customer == customer) else {
        transaction.rollback().await?;
        let remedy = "Look at your orders; it may be among the completed ones.";
        let why = "You have no order of this number.";
        return Err(Problem::new(404, "There is no such order", why, remedy).into());
    };
    if target.state == State::Open {
        end(&mut transaction, &target, Reason::Customer, now).await?;
    }
    let values = values![request.number, customer];
    let order = transaction.first::<Order>(BY_NUMBER, &values).await?;
    transaction.commit().await?;
    Ok(order.ok_or_else(|| missing("an order"))?)
}

/// Ends the orders whose time is over, under the lease of this term.
///
/// # Errors
/// The lease is another's; an error of the database, and nothing was changed.
pub async fn expire(database: &Database, term: i64, now: i64) -> Result<Changed> {
    let due = "SELECT id FROM orders WHERE state = 0 AND expires > 0 AND expires <= $1
               ORDER BY id LIMIT $2";
    let due: Vec<i64> = database.all(due, &values![now, AT_ONCE]).await?;
    let mut orders = 0;
    if !due.is_empty() {
        let mut transaction = database.begin().await?;
        leases::check(&mut transaction, term).await?;
        let mut targets = Vec::with_capacity(due.len());
        for number in due {
            targets.extend(transaction.lock::<Target>(TARGET, &values![number]).await?);
        }
        for target in targets.iter().filter(|target| target.state == State::Open) {
            end(&mut transaction, target, Reason::Expired, now).await?;
            orders += 1;
        }
        transaction.commit().await?;
    }
    Ok(Changed { orders })
}

/// Ends an open order, and releases what it has reserved.
async fn end(
    transaction: &mut Transaction,
    target: &Target,
    reason: Reason,
    now: i64,
) -> tidegate_sitekit::Result<()> {
    match target.side {
        Side::Buy => {
            let movement = Movement {
                why: Why::Release,
                reference: target.number,
                from: Part::reserved(target.customer),
                to: Part::available(target.customer),
                cents: target.reserved()?,
                at: now,
            };
            movement.apply(transaction).await?;
        }
        Side::Sell => {
            let values = values![target.customer, target.security, target.quantity];
            let released = transaction.first::<i64>(RELEASE_SHARES, &values).await?;
            released.ok_or_else(|| missing("a reserved share"))?;
        }
    }
    set_closed(transaction, target.number, State::Cancelled, reason, now).await
}

async fn set_closed(
    transaction: &mut Transaction,
    number: i64,
    state: State,
    reason: Reason,
    now: i64,
) -> tidegate_sitekit::Result<()> {
    let values = values![number, state, reason, now];
    transaction.run(CLOSE, &values).await
}
