//! Payments into customers' accounts, each once.

use super::cash::{Movement, OUTSIDE, Part, Why, available};
use crate::brokerage::error::Result;
use crate::brokerage::protocol::Problem;
use crate::brokerage::protocol::back::{AddPayment, PaymentAdded};
use crate::database::Database;
use crate::money::Cents;

const INSERT: &str = "INSERT INTO payments (payment, customer, cents, at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (payment) DO NOTHING RETURNING id";

/// Adds a payment to a customer's cash; one that was added before changes nothing.
///
/// # Errors
/// There is no such customer, or the amount is none; an error of the database. Nothing was
/// changed then.
pub async fn add(database: &Database, request: AddPayment, now: i64) -> Result<PaymentAdded> {
    let AddPayment { user, payment, amount } = request;
    if !(1..=Cents::MOST.0).contains(&amount.0) {
        let why = format!("{amount} is not between $0.01 and {}.", Cents::MOST);
        return Err(Problem::new(400, "A payment has no amount", why, "Correct it.").into());
    }
    let mut transaction = database.begin().await?;
    let sql = "SELECT id FROM customers WHERE user_name = $1";
    let Some(customer) = transaction.first::<i64>(sql, &[(&user).into()]).await? else {
        let why = format!("Nobody signs in as {user:?}.");
        return Err(Problem::new(404, "There is no such customer", why, "Correct it.").into());
    };
    let values = [(&payment).into(), customer.into(), amount.0.into(), now.into()];
    let inserted = transaction.first::<i64>(INSERT, &values).await?;
    let mut differs = false;
    match inserted {
        Some(reference) => {
            let movement = Movement {
                why: Why::Payment,
                reference,
                from: Part::available(OUTSIDE),
                to: Part::available(customer),
                cents: amount,
                at: now,
            };
            movement.must(&mut transaction).await?;
        }
        None => {
            let sql = "SELECT customer, cents FROM payments WHERE payment = $1";
            let before = transaction.first::<(i64, i64)>(sql, &[(&payment).into()]).await?;
            differs = before != Some((customer, amount.0));
        }
    }
    let available = available(&mut transaction, customer).await?;
    transaction.commit().await?;
    Ok(PaymentAdded { repeated: inserted.is_none(), differs, available })
}
