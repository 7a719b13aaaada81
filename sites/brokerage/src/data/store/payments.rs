//! Payments into customers' accounts, each once.

use super::cash::{Movement, OUTSIDE, Part, Why, available};
use crate::error::Result;
use crate::protocol::Problem;
use crate::protocol::back::{AddPayment, PaymentAdded};
use tidegate_sitekit::database::{Database, Transaction};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::values;

const INSERT: &str = "INSERT INTO payments (payment, customer, cents, at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (payment) DO NOTHING RETURNING id";

/// Adds a payment to a customer's cash; one that was added before changes nothing.
///
/// # Errors
/// There is no such customer, or the amount is invalid; an error of the database. Nothing was
/// changed then.
pub async fn add(database: &Database, request: AddPayment, now: i64) -> Result<PaymentAdded> {
    let AddPayment { user, payment, amount } = request;
    if !(1..=Cents::MOST.0).contains(&amount.0) {
        let why = format!("{amount} is not between $0.01 and {}.", Cents::MOST);
        return Err(Problem::new(400, "A payment has no amount", why, "Correct it.").into());
    }
    let mut transaction = database.begin().await?;
    let sql = "SELECT id FROM customers WHERE user_name = $1";
    let Some(customer) = transaction.first::<i64>(sql, &values![user]).await? else {
        let why = format!("Nobody signs in as {user:?}.");
        return Err(Problem::new(404, "There is no such customer", why, "Correct it.").into());
    };
    let added = enter(&mut transaction, customer, &payment, amount, now).await?;
    let available = available(&mut transaction, customer).await?;
    transaction.commit().await?;
    Ok(PaymentAdded {
        repeated: added != Added::Now,
        differs: added == Added::Otherwise,
        available,
    })
}

/// Whether a payment is a part of somebody's cash by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It was added just now.
    Now,
    /// It had been added before.
    Before,
    /// It had been added before to another customer or with another amount.
    Otherwise,
}

/// Adds a payment of this name to a customer's cash within a transaction, unless one of this
/// name was added before.
pub async fn enter(
    transaction: &mut Transaction,
    customer: i64,
    payment: &str,
    amount: Cents,
    now: i64,
) -> tidegate_sitekit::Result<Added> {
    let values = values![payment, customer, amount, now];
    let Some(reference) = transaction.first::<i64>(INSERT, &values).await? else {
        let sql = "SELECT customer, cents FROM payments WHERE payment = $1";
        let before = transaction.first::<(i64, i64)>(sql, &values![payment]).await?;
        let same = before == Some((customer, amount.0));
        return Ok(if same { Added::Before } else { Added::Otherwise });
    };
    let movement = Movement {
        why: Why::Payment,
        reference,
        from: Part::available(OUTSIDE),
        to: Part::available(customer),
        cents: amount,
        at: now,
    };
    movement.apply(transaction).await?;
    Ok(Added::Now)
}
