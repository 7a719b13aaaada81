//! What a database says when something did not work.

use std::time::Duration;

use rusqlite::ErrorCode;

/// Result of speaking to a database.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong between this process and its database.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite's answer, with its extended result code, or a row or statement of
    /// another shape than was asked for.
    #[error("{}", text_with_code(.0))]
    Sqlite(#[from] rusqlite::Error),
    /// PostgreSQL's answer, with its SQLSTATE, or what happened on the way.
    #[error(transparent)]
    Postgres(#[from] sqlx::Error),
    /// A PostgreSQL server did not answer for so long while it was connected to.
    #[error("no answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// A statement gave no row that always gives one.
    #[error("a statement gave no row")]
    NoRow,
}

impl Error {
    /// Whether the connection is to blame and not the statement: then no other
    /// statement will fare better on it, and it should be opened anew.
    pub fn is_of_connection(&self) -> bool {
        match self {
            Self::Sqlite(error) => is_of_file(error),
            Self::Postgres(error) => !matches!(error, sqlx::Error::Database(_)),
            Self::Silent(_) => true,
            Self::NoRow => false,
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
