//! One connection to either database.

use sqlx::SqlSafeStr;

use super::postgres::Postgres;
use super::sqlite::Sqlite;
use super::{Record, Result, Value};

/// The SQL dialect, for the few statements that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite 3.35 or later.
    Sqlite,
    /// PostgreSQL 12 or later.
    Postgres,
}

impl Dialect {
    /// Begins a transaction that writes. In SQLite it takes the write lock at once, so that it
    /// cannot fail halfway because of it.
    pub(crate) fn begin(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN IMMEDIATE",
            Self::Postgres => "BEGIN",
        }
    }
}

/// An open connection. Statements are prepared once per connection and kept.
#[derive(Debug)]
pub enum Connection {
    /// To a SQLite file.
    Sqlite(Sqlite),
    /// To a PostgreSQL server.
    Postgres(Postgres),
}

impl Connection {
    /// The SQL dialect of this connection.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// All rows of a query.
    ///
    /// # Errors
    /// An error of the database; a placeholder without a value, or a value
    /// without a placeholder.
    pub async fn all<R: Record>(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Vec<R>> {
        match self {
            Self::Sqlite(sqlite) => sqlite.all(sql, values).await,
            Self::Postgres(postgres) => postgres.all(sql, values).await,
        }
    }

    /// The first row of a query, if there is one.
    ///
    /// # Errors
    /// As for [`all`](Self::all).
    pub async fn first<R: Record>(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        match self {
            Self::Sqlite(sqlite) => sqlite.first(sql, values).await,
            Self::Postgres(postgres) => postgres.first(sql, values).await,
        }
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// As for [`all`](Self::all).
    pub async fn run(&mut self, sql: impl SqlSafeStr, values: &[Value<'_>]) -> Result<()> {
        match self {
            Self::Sqlite(sqlite) => sqlite.run(sql, values).await,
            Self::Postgres(postgres) => postgres.run(sql, values).await,
        }
    }

    /// Runs several statements without values, separated by semicolons: for
    /// schemas and pragmas. The text must come from this program, and no
    /// statement may hold a semicolon itself.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn script(&mut self, sql: String) -> Result<()> {
        match self {
            Self::Sqlite(sqlite) => sqlite.script(&sql).await,
            Self::Postgres(postgres) => postgres.script(sql).await,
        }
    }

    /// Closes the connection and waits until the database has closed it too.
    pub async fn close(self) {
        let closed = match self {
            Self::Sqlite(sqlite) => sqlite.close(),
            Self::Postgres(postgres) => postgres.close().await,
        };
        if let Err(error) = closed {
            tracing::debug!(%error, "closing a database connection");
        }
    }
}
