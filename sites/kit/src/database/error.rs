//! Errors of the databases.

use std::time::Duration;

use rusqlite::ErrorCode;

/// Result of a database call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error between this process and its database.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite's error with its extended result code, or a row or statement of
    /// another shape than requested.
    #[error("{}", text_with_code(.0))]
    Sqlite(#[from] rusqlite::Error),
    /// PostgreSQL's error with its SQLSTATE, or an error of the connection.
    #[error(transparent)]
    Postgres(#[from] sqlx::Error),
    /// A PostgreSQL server did not answer a connection attempt for so long.
    #[error("no answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// A statement that always returns a row returned none.
    #[error("a statement returned no row")]
    NoRow,
    /// A row holds something else than this program writes.
    #[error("a row holds no {0}; another program has changed it")]
    Content(&'static str),
}

impl Error {
    /// Whether the error is of the connection and not of the statement: then every
    /// other statement fails on it as well, and it should be opened again.
    pub fn is_of_connection(&self) -> bool {
        match self {
            Self::Sqlite(error) => is_of_file(error),
            Self::Postgres(error) => !matches!(error, sqlx::Error::Database(_)),
            Self::Silent(_) => true,
            Self::NoRow | Self::Content(_) => false,
        }
    }
}

/// Whether the error is of the file under the connection and not of the statement.
fn is_of_file(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, DatabaseCorrupt, NotADatabase, SystemIoFailure};
    matches!(
        error.sqlite_error_code(),
        Some(CannotOpen | DatabaseCorrupt | NotADatabase | SystemIoFailure)
    )
}

/// SQLite's message with its extended result code, by which it can be looked up.
fn text_with_code(error: &rusqlite::Error) -> String {
    match error.sqlite_extended_error_code() {
        Some(code) => format!("{error} (SQLite result {code})"),
        None => error.to_string(),
    }
}
