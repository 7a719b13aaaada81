//! Notes about a site's database, in a table of its own: of which site and version it is,
//! whether its population is complete, and keys that its processes share.

use super::{Connection, Dialect, Error, Result};

/// The table of the notes.
pub const TABLE: &str = "site_notes";

/// The names of all tables in the database.
///
/// # Errors
/// An error of the database.
pub async fn tables(connection: &mut Connection) -> Result<Vec<String>> {
    let sql = match connection.dialect() {
        Dialect::Sqlite => {
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        }
        Dialect::Postgres => {
            "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()"
        }
    };
    connection.all(sql, &[]).await
}

/// Creates the table with the kind and version of a database whose population begins.
///
/// # Errors
/// An error of the database.
pub async fn create(connection: &mut Connection, kind: &str, version: &str) -> Result<()> {
    // In one transaction: a database with half of its notes would not be recognised.
    connection.run("BEGIN", &[]).await?;
    let table = "CREATE TABLE site_notes (name TEXT PRIMARY KEY, value TEXT NOT NULL)";
    connection.script(table.into()).await?;
    for (name, value) in [("kind", kind), ("version", version), ("state", "populating")] {
        write(connection, name, value).await?;
    }
    connection.run("COMMIT", &[]).await
}

/// Reads a note.
///
/// # Errors
/// An error of the database.
pub async fn read(connection: &mut Connection, name: &str) -> Result<Option<String>> {
    connection.first("SELECT value FROM site_notes WHERE name = $1", &[name.into()]).await
}

/// Writes a note.
///
/// # Errors
/// An error of the database.
pub async fn write(connection: &mut Connection, name: &str, value: &str) -> Result<()> {
    let sql = "INSERT INTO site_notes (name, value) VALUES ($1, $2)
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.run(sql, &[name.into(), value.into()]).await
}

/// Reads a note; where there is none, writes this one first. All processes read the same.
///
/// # Errors
/// An error of the database.
pub async fn read_or(connection: &mut Connection, name: &str, value: &str) -> Result<String> {
    if let Some(found) = read(connection, name).await? {
        return Ok(found);
    }
    let sql = "INSERT INTO site_notes (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    connection.run(sql, &[name.into(), value.into()]).await?;
    read(connection, name).await?.ok_or(Error::NoRow)
}
