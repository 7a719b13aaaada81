//! Zones, departments and sets, and when a price has changed last.

use crate::zones::Zone;
use tidegate_sitekit::database::{self, Database};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::{Result, record, values};

/// A department.
#[derive(Clone, Debug)]
pub struct Department {
    /// Its id.
    pub id: i64,
    /// Its name in addresses.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// What it has.
    pub about: String,
}

/// A set of products.
#[derive(Clone, Debug)]
pub struct Set {
    /// Its id.
    pub id: i64,
    /// Where it is.
    pub department: i64,
    /// Its name in addresses.
    pub slug: String,
    /// Its name.
    pub name: String,
}

/// What is in a set.
#[derive(Clone, Copy, Debug)]
pub struct Content {
    /// How many products.
    pub products: i64,
    /// The lowest list price.
    pub least: Cents,
}

/// Changes of prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Catalogue {
    /// How many there have been.
    pub version: i64,
    /// When the last one was, or the population.
    pub changed: i64,
}

record!(Department { id, slug, name, about });
record!(Set { id, department, slug, name });
record!(Content { products, least });
record!(Catalogue { version, changed });

/// The zone of this number.
///
/// # Errors
/// There is none, as the operator has deleted it.
pub async fn zone(database: &Database, id: i64) -> Result<Zone> {
    let sql = "SELECT id, name, factor, tax, shipping, shipping_kg FROM zones WHERE id = $1";
    Ok(database.first(sql, &values![id]).await?.ok_or(database::Error::NoRow)?)
}

/// All zones.
pub async fn zones(database: &Database) -> Result<Vec<Zone>> {
    let sql = "SELECT id, name, factor, tax, shipping, shipping_kg FROM zones ORDER BY id";
    database.all(sql, &[]).await
}

/// Changes of prices so far.
pub async fn catalogue(database: &Database) -> Result<Catalogue> {
    let sql = "SELECT version, changed FROM catalogue WHERE id = 1";
    Ok(database.first(sql, &[]).await?.ok_or(database::Error::NoRow)?)
}

/// All departments.
pub async fn departments(database: &Database) -> Result<Vec<Department>> {
    database.all("SELECT id, slug, name, about FROM departments ORDER BY id", &[]).await
}

/// The names of all sets in addresses, and how many products each has.
pub async fn sizes(database: &Database) -> Result<Vec<(String, i64)>> {
    let sql = "SELECT s.slug, COUNT(p.id) FROM sets s LEFT JOIN products p ON p.set_id = s.id
               GROUP BY s.id, s.slug ORDER BY s.id";
    database.all(sql, &[]).await
}

/// The first four sets of each of these departments.
pub async fn first_sets(database: &Database, departments: &[Department]) -> Result<Vec<Vec<Set>>> {
    let mut first = Vec::new();
    for department in departments {
        let sql = "SELECT id, department, slug, name FROM sets WHERE department = $1
                   ORDER BY id LIMIT 4";
        first.push(database.all(sql, &values![department.id]).await?);
    }
    Ok(first)
}

/// The set of this name in addresses.
pub async fn set(database: &Database, slug: &str) -> Result<Option<Set>> {
    let sql = "SELECT id, department, slug, name FROM sets WHERE slug = $1";
    database.first(sql, &values![slug]).await
}

/// The set of this id.
pub async fn set_by_id(database: &Database, id: i64) -> Result<Option<Set>> {
    let sql = "SELECT id, department, slug, name FROM sets WHERE id = $1";
    database.first(sql, &values![id]).await
}

/// What is in a set.
pub async fn content(database: &Database, set: i64) -> Result<Content> {
    let sql = "SELECT COUNT(*), COALESCE(MIN(price), 0) FROM products WHERE set_id = $1";
    Ok(database.first(sql, &values![set]).await?.ok_or(database::Error::NoRow)?)
}

/// The sets of a department with their content: one query.
pub async fn sets(database: &Database, department: i64) -> Result<Vec<(Set, Content)>> {
    let sql = "SELECT s.id, s.department, s.slug, s.name, COUNT(p.id), COALESCE(MIN(p.price), 0)
               FROM sets s LEFT JOIN products p ON p.set_id = s.id
               WHERE s.department = $1 GROUP BY s.id, s.department, s.slug, s.name ORDER BY s.id";
    database.all(sql, &values![department]).await
}

/// The same with a query for each set.
pub async fn sets_one_by_one(database: &Database, department: i64) -> Result<Vec<(Set, Content)>> {
    let sql = "SELECT id, department, slug, name FROM sets WHERE department = $1 ORDER BY id";
    let mut found = Vec::new();
    for set in database.all::<Set>(sql, &values![department]).await? {
        let content = content(database, set.id).await?;
        found.push((set, content));
    }
    Ok(found)
}
