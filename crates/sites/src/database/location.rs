//! Where a database is, and how a connection to it is opened.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

use super::{Connection, Dialect};
use crate::{Error, Result};

/// How long a writer waits for another process's write before it gives up.
const BUSY: Duration = Duration::from_secs(5);
/// How long opening a connection to a server may take.
const CONNECT: Duration = Duration::from_secs(10);
/// Memory map over the SQLite file, bytes: pages are read without a system call.
const MEMORY_MAP: &str = "1073741824";
/// Page cache of one SQLite connection, KiB (negative as SQLite wants it).
const CACHE: &str = "-16384";

/// Where the database is.
#[derive(Clone)]
pub enum Location {
    /// A file of this machine, opened in this process.
    Sqlite(PathBuf),
    /// A PostgreSQL server.
    Postgres(Box<PgConnectOptions>),
}

impl Location {
    /// Reads `postgres://user:password@host/name`, `sqlite:FILE` or `sqlite://FILE`.
    ///
    /// # Errors
    /// The text is none of these: the operator's mistake.
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(file) = text.strip_prefix("sqlite:") {
            let file = file.strip_prefix("//").unwrap_or(file);
            if file.is_empty() || file.contains(['?', '#']) || file.starts_with(":memory:") {
                return Err(Error::Operator(format!(
                    "database {text:?}: sqlite: must be followed by the path of a file; try sqlite:auction.db"
                )));
            }
            return Ok(Self::Sqlite(file.into()));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            let options = PgConnectOptions::from_str(text).map_err(|error| {
                Error::Operator(format!(
                    "database: the URL cannot be read ({error}); try postgres://user@localhost/name"
                ))
            })?;
            return Ok(Self::Postgres(Box::new(options)));
        }
        // The text may hold a password: only its scheme is repeated.
        let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
        Err(Error::Operator(format!(
            "database: {scheme:?} is no known kind of database; use postgres://… or sqlite:FILE"
        )))
    }

    /// The SQL spoken there.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Opens a connection; a missing SQLite file is created.
    ///
    /// # Errors
    /// Not there, not reachable, locked, unreadable, no database: one line that
    /// says which, for the operator.
    pub async fn connect(&self) -> Result<Connection> {
        let opened = match self {
            Self::Sqlite(file) => {
                let options = SqliteConnectOptions::new()
                    .filename(file)
                    .create_if_missing(true)
                    .journal_mode(SqliteJournalMode::Wal)
                    .synchronous(SqliteSynchronous::Normal)
                    .busy_timeout(BUSY)
                    .pragma("mmap_size", MEMORY_MAP)
                    .pragma("cache_size", CACHE)
                    .pragma("temp_store", "memory")
                    .disable_statement_logging();
                options.connect().await.map(Connection::Sqlite)
            }
            Self::Postgres(options) => {
                let options = options.clone().application_name("tidegate-site");
                let connect = options.disable_statement_logging();
                match tokio::time::timeout(CONNECT, connect.connect()).await {
                    Ok(connection) => {
                        connection.map(|connection| Connection::Postgres(Box::new(connection)))
                    }
                    Err(_) => Err(sqlx::Error::PoolTimedOut),
                }
            }
        };
        opened.map_err(|error| self.explain(error))
    }

    /// Turns an error met while opening or preparing into one line for the operator.
    pub fn explain(&self, error: sqlx::Error) -> Error {
        let code = match &error {
            sqlx::Error::Database(error) => error.code().unwrap_or_default().into_owned(),
            _ => String::new(),
        };
        match self {
            Self::Sqlite(file) => Error::Operator(explain_sqlite(file, &code, &error)),
            Self::Postgres(_) => {
                Error::Operator(format!("{self}: {}", explain_postgres(&code, &error)))
            }
        }
    }
}

fn explain_sqlite(file: &Path, code: &str, error: &sqlx::Error) -> String {
    let name = file.display();
    // Extended codes keep the primary one in their low byte.
    match code.parse::<u32>().map_or(0, |code| code & 0xff) {
        5 | 6 => format!("{name}: locked by another process; stop that process, then try again"),
        8 | 3 => format!(
            "{name}: cannot be written; give this user write permission on the file and its folder"
        ),
        10 => format!("{name}: reading or writing failed ({error}); check the disk"),
        11 => format!("{name}: damaged; delete it, and it is made anew"),
        13 => format!("{name}: the disk is full; make room or choose another folder with --data"),
        14 => format!("{name}: cannot be opened; its folder must exist and be writable"),
        26 => format!("{name}: not a SQLite database; move it away or name another file"),
        _ => format!("{name}: {error}"),
    }
}

fn explain_postgres(code: &str, error: &sqlx::Error) -> String {
    match (code, error) {
        ("28P01" | "28000", _) => {
            "the server refuses this user or password; correct the URL".into()
        }
        ("3D000", _) => "there is no such database; create it first (createdb)".into(),
        ("42501", _) => {
            "this user may not create tables there; grant it CREATE on the schema".into()
        }
        ("53300", _) => "the server has no connection left; raise its max_connections".into(),
        ("55P03", _) => "locked by another process; stop that process, then try again".into(),
        (_, sqlx::Error::Io(error)) => {
            format!("cannot be reached ({error}); is the server running?")
        }
        (_, sqlx::Error::PoolTimedOut) => {
            format!("no answer within {} s; is the address right?", CONNECT.as_secs())
        }
        _ => error.to_string(),
    }
}

impl fmt::Display for Location {
    /// Where the database is, without any password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(file) => write!(f, "{}", file.display()),
            Self::Postgres(options) => {
                let name = options.get_database().unwrap_or(options.get_username());
                match options.get_socket() {
                    Some(socket) => {
                        write!(f, "PostgreSQL database {name:?} at {}", socket.display())
                    }
                    None => write!(
                        f,
                        "PostgreSQL database {name:?} at {}:{}",
                        options.get_host(),
                        options.get_port()
                    ),
                }
            }
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_a_file_are_read() {
        for text in ["sqlite:some/auction.db", "sqlite://some/auction.db"] {
            assert_eq!(Location::parse(text).unwrap().to_string(), "some/auction.db");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let location = Location::parse("postgres://ann:secret@db.example:5433/shop").unwrap();
        assert_eq!(location.to_string(), "PostgreSQL database \"shop\" at db.example:5433");
        let error = Location::parse("mysql://ann:secret@db/shop").unwrap_err().to_string();
        assert!(error.contains("mysql") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn an_error_says_what_to_do() {
        for (code, remedy) in
            [("5", "stop that process"), ("8", "permission"), ("1032", "permission")]
        {
            let line = explain_sqlite(Path::new("a.db"), code, &sqlx::Error::WorkerCrashed);
            assert!(line.contains(remedy), "{code}: {line}");
        }
    }
}
