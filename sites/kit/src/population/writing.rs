//! How the population of a database begins and ends.

use crate::database::{Connection, Dialect, Result, notes, tables};

/// Empties a database, of whose `tables` an interrupted population may have left some, and
/// creates those of `texts`, without indexes. Nothing is durable before [`finish`].
///
/// # Errors
/// An error of the database.
pub async fn begin(
    connection: &mut Connection,
    (kind, version): (&str, &str),
    tables: &[&str],
    texts: &[&str],
) -> Result<()> {
    tables::drop_all(connection, tables).await?;
    let embedded = connection.dialect() == Dialect::Sqlite;
    if embedded {
        // Returns the space that an interrupted population had used.
        connection.script("VACUUM".into()).await?;
    }
    notes::create(connection, kind, version).await?;
    for text in texts {
        tables::create(connection, text).await?;
    }
    if embedded {
        // An interrupted population is discarded, so no write has to be durable.
        connection.script("PRAGMA synchronous = OFF".into()).await?;
    }
    Ok(())
}

/// Notes that a population is complete, with what else is to be noted of it.
///
/// # Errors
/// An error of the database.
pub async fn finish(connection: &mut Connection, noted: &[(&str, String)]) -> Result<()> {
    connection.run("BEGIN", &[]).await?;
    for (name, value) in noted {
        notes::write(connection, name, value).await?;
    }
    notes::write(connection, "state", "ready").await?;
    connection.run("COMMIT", &[]).await?;
    if connection.dialect() == Dialect::Sqlite {
        let durable = "PRAGMA synchronous = NORMAL; PRAGMA wal_checkpoint(TRUNCATE)";
        connection.script(durable.into()).await?;
    }
    Ok(())
}
