//! Where a database is, and how a connection to it is opened.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;

use super::postgres::{self, Postgres};
use super::sqlite::{self, Sqlite};
use super::{Connection, Dialect};
use crate::{Error, Result};

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
    /// The text is none of these: a mistake of the operator.
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
            "database: {scheme:?} is not a known kind of database; use postgres://… or sqlite:FILE"
        )))
    }

    /// The database of a site: that of the URL, or a SQLite file of this name in the folder of
    /// its data, which is made.
    ///
    /// # Errors
    /// The URL is invalid, or the folder cannot be made: errors for the operator.
    pub fn of_site(url: Option<&str>, data: &Path, file: &str) -> Result<Self> {
        if let Some(url) = url {
            return Self::parse(url);
        }
        make_folder(data)?;
        Ok(Self::Sqlite(data.join(file)))
    }

    /// Its SQL dialect.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Opens a connection; a missing SQLite file is created.
    ///
    /// # Errors
    /// Missing, unreachable, locked, unreadable, or not a database: one line for
    /// the operator.
    pub async fn connect(&self) -> Result<Connection> {
        let opened = match self {
            Self::Sqlite(file) => Sqlite::open(file).await.map(Connection::Sqlite),
            Self::Postgres(options) => Postgres::open(options).await.map(Connection::Postgres),
        };
        opened.map_err(|error| self.explain(&error))
    }

    /// Prepares the database: connects, does this work, and closes the connection.
    ///
    /// # Errors
    /// Those of [`Location::connect`] and of the work; errors of the database are told as one
    /// line for the operator.
    pub async fn prepare<T>(
        &self,
        work: impl AsyncFnOnce(&mut Connection) -> Result<T>,
    ) -> Result<T> {
        let mut connection = self.connect().await?;
        let prepared = work(&mut connection).await;
        connection.close().await;
        prepared.map_err(|error| match error {
            Error::Database(error) => self.explain(&error),
            other => other,
        })
    }

    /// [`Location::prepare`] on a thread of its own: async callers may call it too.
    ///
    /// # Errors
    /// As for that, or the thread has no runtime.
    pub fn prepare_apart<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let location = self.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime
                .map_err(|error| Error::Operator(format!("no runtime can be started: {error}")))?;
            runtime.block_on(location.prepare(work))
        });
        thread.join().map_err(|_| Error::Internal("preparing the database panicked".into()))?
    }

    /// Turns an error met while opening or preparing into one line for the operator.
    pub fn explain(&self, error: &super::Error) -> Error {
        let remedy = match self {
            Self::Sqlite(_) => sqlite::explain(error),
            Self::Postgres(_) => postgres::explain(error),
        };
        Error::Operator(format!("{self}: {remedy}"))
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

/// Makes the folder of a site's data.
///
/// # Errors
/// It cannot be made: an error for the operator.
pub fn make_folder(data: &Path) -> Result<()> {
    std::fs::create_dir_all(data).map_err(|error| {
        Error::Operator(format!(
            "data folder {}: cannot be made ({error}); choose another with --data",
            data.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_file_url_are_read() {
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
}
