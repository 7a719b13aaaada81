//! A connection to a PostgreSQL server, by sqlx.

use std::time::Duration;

use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, SqlSafeStr};

use super::{Columns, Error, Fields, Record, Result, Value};

/// How long opening a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// An open connection. Statements are prepared once and kept.
#[derive(Debug)]
pub struct Postgres(Box<PgConnection>);

impl Postgres {
    /// Opens a connection.
    ///
    /// # Errors
    /// The server is missing, does not answer within 10 s, or refuses.
    pub async fn open(options: &PgConnectOptions) -> Result<Self> {
        let options = options.clone().application_name("tidegate-site").disable_statement_logging();
        match tokio::time::timeout(CONNECT, options.connect()).await {
            Ok(connection) => Ok(Self(Box::new(connection?))),
            Err(_) => Err(Error::Silent(CONNECT)),
        }
    }

    /// All rows of a query.
    ///
    /// # Errors
    /// An error of the server.
    pub async fn all<R: Record>(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Vec<R>> {
        let rows = query(sql, values).fetch_all(&mut *self.0).await?;
        rows.iter().map(|row| R::read(&mut Columns::new(row))).collect()
    }

    /// The first row of a query, if there is one.
    ///
    /// # Errors
    /// An error of the server.
    pub async fn first<R: Record>(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        let row = query(sql, values).fetch_optional(&mut *self.0).await?;
        row.map(|row| R::read(&mut Columns::new(&row))).transpose()
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// An error of the server.
    pub async fn run(&mut self, sql: impl SqlSafeStr, values: &[Value<'_>]) -> Result<()> {
        query(sql, values).execute(&mut *self.0).await?;
        Ok(())
    }

    /// Runs several statements without values, separated by semicolons.
    ///
    /// # Errors
    /// An error of the server.
    pub async fn script(&mut self, sql: String) -> Result<()> {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *self.0).await?;
        Ok(())
    }

    /// Closes the connection and waits until the server has closed it too.
    ///
    /// # Errors
    /// The server can no longer be reached.
    pub async fn close(self) -> Result<()> {
        Ok(self.0.close().await?)
    }
}

fn query<'v>(sql: impl SqlSafeStr, values: &[Value<'v>]) -> Query<'v, sqlx::Postgres, PgArguments> {
    values.iter().fold(sqlx::query(sql), |query, value| match *value {
        Value::Int(int) => query.bind(int),
        Value::Text(text) => query.bind(text),
    })
}

impl Fields for PgRow {
    fn int(&self, column: usize) -> Result<i64> {
        Ok(self.try_get(column)?)
    }

    fn text(&self, column: usize) -> Result<String> {
        Ok(self.try_get(column)?)
    }
}

/// What an operator can do about an error met while connecting or preparing.
pub(super) fn explain(error: &Error) -> String {
    let code = match error {
        Error::Postgres(sqlx::Error::Database(error)) => error.code().unwrap_or_default(),
        _ => "".into(),
    };
    match (&*code, error) {
        ("28P01" | "28000", _) => {
            "the server refuses this user or password; correct the URL".into()
        }
        ("3D000", _) => "there is no such database; create it first (createdb)".into(),
        ("42501", _) => {
            "this user may not create tables there; grant it CREATE on the schema".into()
        }
        ("53300", _) => "the server has no connection left; raise its max_connections".into(),
        ("55P03", _) => "locked by another process; stop that process, then try again".into(),
        (_, Error::Postgres(sqlx::Error::Io(error))) => {
            format!("cannot be reached ({error}); is the server running?")
        }
        (_, Error::Silent(_)) => format!("{error}; is the address right?"),
        _ => error.to_string(),
    }
}
