//! Customers: who signs in, and what they have.

use crate::error::Result;
use crate::protocol::back::{Credentials, Holding, RenewPassword};
use crate::protocol::{Overview, Security};
use tidegate_sitekit::database::Database;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::record;
use tidegate_sitekit::values;

record!(Credentials { customer, hash });

record!(Overview { name, user, available, reserved, shares_worth, open_orders });

record!(Security { symbol, name, price });

record!(Holding { security, available, reserved, cost; history: Vec::new() });

const OVERVIEW: &str = "SELECT c.name, c.user_name, a.available, a.reserved,
         (SELECT CAST(COALESCE(SUM((h.available + h.reserved) * p.cents), 0) AS BIGINT)
          FROM holdings h JOIN prices p ON p.security = h.security WHERE h.customer = c.id),
         (SELECT COUNT(*) FROM orders o WHERE o.customer = c.id AND o.state = 0)
     FROM customers c JOIN accounts a ON a.customer = c.id WHERE c.id = $1";

const HOLDINGS: &str = "SELECT s.symbol, s.name, p.cents, h.available, h.reserved, h.cost
     FROM holdings h JOIN securities s ON s.id = h.security JOIN prices p ON p.security = s.id
     WHERE h.customer = $1 AND h.available + h.reserved > 0 ORDER BY s.symbol";

/// Who signs in with this name.
pub async fn credentials(database: &Database, user: &str) -> Result<Option<Credentials>> {
    let sql = "SELECT id, password FROM customers WHERE user_name = $1";
    Ok(database.first(sql, &values![user]).await?)
}

/// Replaces the hash of a password, unless it has changed meanwhile.
pub async fn renew_password(database: &Database, request: &RenewPassword) -> Result<()> {
    let sql = "UPDATE customers SET password = $1 WHERE id = $2 AND password = $3";
    let values = values![request.new, request.customer, request.old];
    Ok(database.run(sql, &values).await?)
}

/// What a customer has.
pub async fn overview(database: &Database, customer: i64) -> Result<Overview> {
    let found = database.first(OVERVIEW, &values![customer]).await?;
    Ok(found.ok_or(tidegate_sitekit::database::Error::NoRow)?)
}

/// What a customer can spend.
pub async fn available(database: &Database, customer: i64) -> Result<Cents> {
    let sql = "SELECT available FROM accounts WHERE customer = $1";
    let found = database.first::<i64>(sql, &values![customer]).await?;
    Ok(found.map(Cents).ok_or(tidegate_sitekit::database::Error::NoRow)?)
}

/// The shares of a customer, by symbol.
pub async fn holdings(database: &Database, customer: i64) -> Result<Vec<Holding>> {
    Ok(database.all(HOLDINGS, &values![customer]).await?)
}
