//! Notes about a site's database, in a table of its own: of which site and version it is,
//! whether its population is complete, and keys that its processes share.

use super::{Connection, Dialect, Error, Result};
use crate::Error as SiteError;

/// The table of the notes.
pub const TABLE: &str = "site_notes";

/// The version of a site of this kind; none where the database has no tables at all. `versions`
/// are those that this program reads, its own first.
///
/// # Errors
/// The tables are of something else, or of another version: an error for the operator. An error
/// of the database.
pub async fn version<'v>(
    connection: &mut Connection,
    place: &str,
    kind: &str,
    versions: &[&'v str],
) -> crate::Result<Option<&'v str>> {
    let tables = tables(connection).await?;
    if tables.is_empty() {
        return Ok(None);
    }
    if !tables.iter().any(|table| table == TABLE) {
        return Err(SiteError::Operator(format!(
            "{place}: holds tables of something else (such as {:?}); name another database",
            tables[0]
        )));
    }
    let of = read(connection, "kind").await?;
    let version = read(connection, "version").await?;
    let known = versions.iter().find(|known| Some(**known) == version.as_deref());
    match known {
        Some(known) if of.as_deref() == Some(kind) => Ok(Some(known)),
        _ => Err(SiteError::Operator(format!(
            "{place}: holds a site of another kind or version ({} {}); this is {kind} {}; name another database, or delete that one",
            of.as_deref().unwrap_or("unknown"),
            version.as_deref().unwrap_or("?"),
            versions[0]
        ))),
    }
}

/// The names of all tables in the database.
async fn tables(connection: &mut Connection) -> Result<Vec<String>> {
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
    let notes = [("kind", kind), ("version", version), ("state", "populating")];
    create_table(connection, &notes).await?;
    connection.run("COMMIT", &[]).await
}

/// Creates the table with these notes; in a transaction of the caller's.
///
/// # Errors
/// An error of the database.
pub async fn create_table(connection: &mut Connection, notes: &[(&str, &str)]) -> Result<()> {
    let table = "CREATE TABLE site_notes (name TEXT PRIMARY KEY, value TEXT NOT NULL)";
    connection.script(table.into()).await?;
    for (name, value) in notes {
        write(connection, name, value).await?;
    }
    Ok(())
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
