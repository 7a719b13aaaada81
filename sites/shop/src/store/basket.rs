//! Baskets.

use tidegate_sitekit::database::{Database, Transaction};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::session::SessionKey;
use tidegate_sitekit::{Problem, Result, record, values};

/// Most lines of a basket.
pub const LINES: i64 = 50;
/// Most pieces of a line.
pub const PIECES: i64 = 99;

/// A line of a basket.
#[derive(Clone, Debug)]
pub struct Line {
    /// The product.
    pub product: i64,
    /// Its department.
    pub department: i64,
    /// Its name.
    pub name: String,
    /// Its list price.
    pub price: Cents,
    /// Its weight, grams.
    pub weight: i64,
    /// How many there are.
    pub stock: i64,
    /// How many are wanted.
    pub quantity: i64,
}

record!(Line { product, department, name, price, weight, stock, quantity });

const SELECT: &str = "SELECT p.id, p.department, p.name, p.price, p.weight, p.stock, b.quantity
     FROM basket_lines b JOIN products p ON p.id = b.product WHERE b.session = $1 ORDER BY p.id";

/// The lines of a basket.
pub async fn lines(database: &Database, session: &SessionKey) -> Result<Vec<Line>> {
    database.all(SELECT, &values![session.as_str()]).await
}

/// The same within a transaction.
pub async fn lines_within(
    transaction: &mut Transaction,
    session: &SessionKey,
) -> Result<Vec<Line>> {
    transaction.all(SELECT, &values![session.as_str()]).await
}

/// Adds pieces of a product, up to [`PIECES`] of it.
///
/// # Errors
/// There is no such product, or the basket has too many lines.
pub async fn add(
    transaction: &mut Transaction,
    session: &SessionKey,
    product: i64,
    quantity: i64,
) -> Result<()> {
    let sql = "SELECT id FROM products WHERE id = $1";
    if transaction.first::<i64>(sql, &values![product]).await?.is_none() {
        let remedy = "Go back to the product, and add it from there.";
        let why = "There is no product of this number.";
        return Err(Problem::new(404, "There is no such product", why, remedy).into());
    }
    // Of which one was added: a line that there is already may become longer.
    let sql = "INSERT INTO basket_lines (session, product, quantity) VALUES ($1, $2, $3)
               ON CONFLICT (session, product) DO UPDATE SET quantity =
                   CASE WHEN basket_lines.quantity + excluded.quantity > 99 THEN 99
                        ELSE basket_lines.quantity + excluded.quantity END";
    transaction.run(sql, &values![session.as_str(), product, quantity]).await?;
    let sql = "SELECT COUNT(*) FROM basket_lines WHERE session = $1";
    if transaction.first::<i64>(sql, &values![session.as_str()]).await? > Some(LINES) {
        return Err(Problem::new(
            409,
            "Your basket is full",
            format!("It holds {LINES} different products."),
            "Order what is in it, or take something out.",
        )
        .into());
    }
    Ok(())
}

/// Sets how many pieces of a product a basket has; 0 takes it out.
pub async fn set(
    database: &Database,
    session: &SessionKey,
    product: i64,
    quantity: i64,
) -> Result<()> {
    if quantity == 0 {
        let sql = "DELETE FROM basket_lines WHERE session = $1 AND product = $2";
        return database.run(sql, &values![session.as_str(), product]).await;
    }
    let sql = "UPDATE basket_lines SET quantity = $3 WHERE session = $1 AND product = $2";
    database.run(sql, &values![session.as_str(), product, quantity]).await
}

/// Empties a basket.
pub async fn empty(transaction: &mut Transaction, session: &SessionKey) -> Result<()> {
    let sql = "DELETE FROM basket_lines WHERE session = $1";
    transaction.run(sql, &values![session.as_str()]).await
}
