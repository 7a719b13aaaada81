//! Products and their reviews.

use tidegate_sitekit::database::{self, Connection, Database};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::{Result, record, values, when};

/// A product in a list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its id.
    pub id: i64,
    /// Its department.
    pub department: i64,
    /// Its name.
    pub name: String,
    /// Its list price.
    pub price: Cents,
    /// What customers say of it.
    pub rating: Rating,
}

/// What customers say of a product, in numbers.
#[derive(Clone, Copy, Debug)]
pub struct Rating {
    /// Sum of the stars.
    pub stars: i64,
    /// How many reviews.
    pub reviews: i64,
}

/// A product.
#[derive(Clone, Debug)]
pub struct Product {
    /// Its id.
    pub id: i64,
    /// Its set.
    pub set: i64,
    /// Its department.
    pub department: i64,
    /// Its name.
    pub name: String,
    /// Its list price.
    pub price: Cents,
    /// Its weight, grams.
    pub weight: i64,
    /// What it is.
    pub description: String,
}

/// What a customer says of a product.
#[derive(Clone, Debug)]
pub struct Review {
    /// 1 to 5.
    pub stars: i64,
    /// Who.
    pub name: String,
    /// In a sentence.
    pub remark: String,
}

record!(Rating { stars, reviews });
record!(Listed { id, department, name, price, rating });
record!(Product { id, set, department, name, price, weight, description });
record!(Review { stars, name, remark });

/// Products with their ratings, of those that a subquery names.
macro_rules! listed {
    ($which:literal) => {
        concat!(
            "SELECT p.id, p.department, p.name, p.price, CAST(COALESCE(SUM(r.stars), 0) AS BIGINT),
                    COUNT(r.number)
             FROM products p LEFT JOIN reviews r ON r.product = p.id WHERE ",
            $which,
            " GROUP BY p.id, p.department, p.name, p.price ORDER BY p.id"
        )
    };
}

/// A page of the products of a set: one query.
pub async fn in_set(database: &Database, set: i64, from: i64) -> Result<Vec<Listed>> {
    const SQL: &str = listed!(
        "p.id IN (SELECT id FROM products WHERE set_id = $1 ORDER BY id LIMIT 12 OFFSET $2)"
    );
    database.all(SQL, &values![set, from]).await
}

/// The same with two queries for each product.
pub async fn in_set_one_by_one(database: &Database, set: i64, from: i64) -> Result<Vec<Listed>> {
    let sql = "SELECT id FROM products WHERE set_id = $1 ORDER BY id LIMIT 12 OFFSET $2";
    let ids: Vec<i64> = database.all(sql, &values![set, from]).await?;
    listed_one_by_one(database, &ids).await
}

/// Products of these ids, each with two queries.
async fn listed_one_by_one(database: &Database, ids: &[i64]) -> Result<Vec<Listed>> {
    let mut found = Vec::new();
    for id in ids {
        let Some(Product { id, department, name, price, .. }) = product(database, *id).await?
        else {
            continue;
        };
        let rating = rating(database, id).await?;
        found.push(Listed { id, department, name, price, rating });
    }
    Ok(found)
}

/// The product of this id.
pub async fn product(database: &Database, id: i64) -> Result<Option<Product>> {
    let sql = "SELECT id, set_id, department, name, price, weight, description
               FROM products WHERE id = $1";
    database.first(sql, &values![id]).await
}

/// What customers say of a product, in numbers.
async fn rating(database: &Database, product: i64) -> Result<Rating> {
    let sql = "SELECT CAST(COALESCE(SUM(stars), 0) AS BIGINT), COUNT(*)
               FROM reviews WHERE product = $1";
    Ok(database.first(sql, &values![product]).await?.ok_or(database::Error::NoRow)?)
}

/// What customers say of a product.
pub async fn reviews(database: &Database, product: i64) -> Result<Vec<Review>> {
    let sql = "SELECT stars, name, remark FROM reviews WHERE product = $1 ORDER BY number";
    database.all(sql, &values![product]).await
}

/// The four products that follow one in its set, from the first again after the last.
pub async fn neighbours(
    database: &Database,
    set: i64,
    product: i64,
    one_by_one: bool,
) -> Result<Vec<Listed>> {
    let after = "SELECT id FROM products WHERE set_id = $1 AND id > $2 ORDER BY id LIMIT 4";
    let before = "SELECT id FROM products WHERE set_id = $1 AND id < $2 ORDER BY id LIMIT 4";
    let mut ids: Vec<i64> = database.all(after, &values![set, product]).await?;
    if ids.len() < 4 {
        ids.extend(database.all::<i64>(before, &values![set, product]).await?);
        ids.truncate(4);
    }
    if one_by_one {
        return listed_one_by_one(database, &ids).await;
    }
    const SQL: &str = listed!("p.id IN ($1, $2, $3, $4)");
    let id = |at: usize| ids.get(at).copied().unwrap_or(0);
    let found: Vec<Listed> = database.all(SQL, &values![id(0), id(1), id(2), id(3)]).await?;
    let of = |id: &i64| found.iter().find(|listed| listed.id == *id).cloned();
    Ok(ids.iter().filter_map(of).collect())
}

/// The eight products that customers like best, of those with three reviews and more: all
/// reviews are read.
pub async fn liked(database: &Database) -> Result<Vec<Listed>> {
    let sql = "SELECT product FROM reviews GROUP BY product HAVING COUNT(*) >= 3
               ORDER BY SUM(stars) * 1000 / COUNT(*) DESC, COUNT(*) DESC, product LIMIT 8";
    let ids: Vec<i64> = database.all(sql, &[]).await?;
    listed_one_by_one(database, &ids).await
}

/// Most words of a search; those after them are left out.
pub const WORDS: usize = 4;

/// A page of the products whose names have all of these words, and how many there are. All names
/// are compared.
pub async fn search(
    database: &Database,
    words: &[String],
    from: i64,
) -> Result<(i64, Vec<Listed>)> {
    // In a pattern a backslash takes the meaning of what follows.
    let pattern = |at: usize| {
        let word = words.get(at).map(String::as_str).unwrap_or_default().to_lowercase();
        format!("%{}%", word.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"))
    };
    let patterns: [String; WORDS] = std::array::from_fn(pattern);
    let [one, two, three, four] = &patterns;
    let count = "SELECT COUNT(*) FROM products WHERE LOWER(name) LIKE $1 ESCAPE '\\'
                 AND LOWER(name) LIKE $2 ESCAPE '\\' AND LOWER(name) LIKE $3 ESCAPE '\\'
                 AND LOWER(name) LIKE $4 ESCAPE '\\'";
    let entries = database.first(count, &values![one, two, three, four]).await?.unwrap_or(0);
    let sql = "SELECT id FROM products WHERE LOWER(name) LIKE $1 ESCAPE '\\'
               AND LOWER(name) LIKE $2 ESCAPE '\\' AND LOWER(name) LIKE $3 ESCAPE '\\'
               AND LOWER(name) LIKE $4 ESCAPE '\\' ORDER BY id LIMIT 12 OFFSET $5";
    let ids: Vec<i64> = database.all(sql, &values![one, two, three, four, from]).await?;
    Ok((entries, listed_one_by_one(database, &ids).await?))
}

/// Changes the list price of a product; whether there is one.
pub async fn set_price(connection: &mut Connection, product: i64, price: Cents) -> Result<bool> {
    connection.run("BEGIN", &[]).await?;
    let sql = "UPDATE products SET price = $2 WHERE id = $1 RETURNING id";
    let found = connection.first::<i64>(sql, &values![product, price]).await?.is_some();
    let sql = "UPDATE catalogue SET version = version + 1, changed = $1 WHERE id = 1";
    connection.run(sql, &values![when::now()]).await?;
    connection.run(if found { "COMMIT" } else { "ROLLBACK" }, &[]).await?;
    Ok(found)
}
