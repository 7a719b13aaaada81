//! One connection to either database.

use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _, SqlSafeStr};

use super::{Record, Value};

/// Which SQL is spoken. The few statements that differ ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite 3.35 or later.
    Sqlite,
    /// PostgreSQL 12 or later.
    Postgres,
}

/// An open connection. Statements are prepared once per connection and kept.
#[derive(Debug)]
pub enum Connection {
    /// To a SQLite file.
    Sqlite(SqliteConnection),
    /// To a PostgreSQL server.
    Postgres(Box<PgConnection>),
}

/// Runs `$run` with `$query` bound to a query of the connection's own type.
macro_rules! on_either {
    ($connection:expr, $sql:expr, $values:expr, |$query:ident, $inner:ident| $run:expr) => {
        match $connection {
            Connection::Sqlite($inner) => {
                let mut $query = sqlx::query::<sqlx::Sqlite>($sql);
                for value in $values {
                    $query = match *value {
                        Value::Int(int) => $query.bind(int),
                        Value::Text(text) => $query.bind(text),
                    };
                }
                $run
            }
            Connection::Postgres($inner) => {
                let $inner = &mut **$inner;
                let mut $query = sqlx::query::<sqlx::Postgres>($sql);
                for value in $values {
                    $query = match *value {
                        Value::Int(int) => $query.bind(int),
                        Value::Text(text) => $query.bind(text),
                    };
                }
                $run
            }
        }
    };
}

impl Connection {
    /// The SQL spoken on this connection.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// All rows of a query.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn all<R: Record>(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> sqlx::Result<Vec<R>> {
        on_either!(self, sql, values, |query, inner| {
            query.fetch_all(inner).await?.iter().map(R::read).collect()
        })
    }

    /// The first row of a query, if there is one.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn first<R: Record>(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> sqlx::Result<Option<R>> {
        on_either!(self, sql, values, |query, inner| {
            query.fetch_optional(inner).await?.as_ref().map(R::read).transpose()
        })
    }

    /// Runs a statement; how many rows it changed.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn run(&mut self, sql: impl SqlSafeStr, values: &[Value<'_>]) -> sqlx::Result<u64> {
        on_either!(self, sql, values, |query, inner| {
            Ok(query.execute(inner).await?.rows_affected())
        })
    }

    /// Runs several statements without values, separated by semicolons: for
    /// schemas and pragmas. The text must come from this program.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn script(&mut self, sql: String) -> sqlx::Result<()> {
        let script = sqlx::raw_sql(AssertSqlSafe(sql));
        match self {
            Self::Sqlite(connection) => script.execute(connection).await.map(drop),
            Self::Postgres(connection) => script.execute(&mut **connection).await.map(drop),
        }
    }

    /// Closes the connection and waits till the database has taken note.
    pub async fn close(self) {
        let closed = match self {
            Self::Sqlite(connection) => connection.close().await,
            Self::Postgres(connection) => connection.close().await,
        };
        if let Err(error) = closed {
            tracing::debug!(%error, "closing a database connection");
        }
    }
}
