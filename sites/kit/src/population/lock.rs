//! The lock under which one process populates a database, or brings it up to date.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::database::{Connection, Location};
use crate::{Error, Result};

/// Key of PostgreSQL's advisory lock.
const KEY: i64 = 0x7469_6465;

/// The lock, held. A file beside a SQLite file, which the system unlocks when the process
/// ends; in PostgreSQL an advisory lock, which ends with the connection.
#[derive(Debug)]
pub struct Lock {
    file: Option<(File, PathBuf)>,
}

impl Lock {
    /// Takes the lock of a database for as long as the connection lives.
    ///
    /// # Errors
    /// Another process has it, or no file can be made: errors for the operator.
    pub async fn take(connection: &mut Connection, location: &Location) -> Result<Self> {
        let busy = || {
            Error::Operator(format!(
                "{location}: another process is populating it or bringing it up to date; wait until it is done, then try again"
            ))
        };
        match location {
            Location::Sqlite(file) => Ok(Self { file: Some(lock_file(file)?.ok_or_else(busy)?) }),
            Location::Postgres(_) => {
                let sql = "SELECT CASE WHEN pg_try_advisory_lock($1) THEN 1::bigint ELSE 0 END";
                match connection.first::<i64>(sql, &[KEY.into()]).await? {
                    Some(1) => Ok(Self { file: None }),
                    _ => Err(busy()),
                }
            }
        }
    }

    /// Releases it, and removes its file. That of PostgreSQL ends with its connection.
    pub fn release(self) {
        if let Some((_, path)) = self.file {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn lock_file(database: &Path) -> Result<Option<(File, PathBuf)>> {
    let mut path = database.as_os_str().to_owned();
    path.push(".populating");
    let path = PathBuf::from(path);
    let lock = File::create(&path).map_err(|error| {
        Error::Operator(format!(
            "{}: cannot be made ({error}); the folder must be writable",
            path.display()
        ))
    })?;
    Ok(lock.try_lock().is_ok().then_some((lock, path)))
}
