//! Deliveries of the suppliers.

use tidegate_sitekit::database::Database;
use tidegate_sitekit::{Result, values};

/// Fills up the products of which less than half is left, at most 20; returns how many. So the
/// shop keeps its size under a load of buyers.
pub async fn deliver(database: &Database) -> Result<usize> {
    let sql =
        "SELECT id FROM products WHERE restock > 0 AND 2 * stock < restock ORDER BY id LIMIT 20";
    // Reading takes no lock; only what is filled up does.
    let low: Vec<i64> = database.all(sql, &[]).await?;
    if low.is_empty() {
        return Ok(0);
    }
    let mut transaction = database.begin().await?;
    for id in &low {
        let sql = "UPDATE products SET stock = restock WHERE id = $1 AND 2 * stock < restock";
        transaction.run(sql, &values![id]).await?;
    }
    transaction.commit().await?;
    Ok(low.len())
}
