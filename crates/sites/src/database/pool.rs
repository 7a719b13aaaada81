//! The connections of one core, and transactions on them.

use std::sync::{Arc, Mutex};

use sqlx::SqlSafeStr;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Connection, Dialect, Location, Record, Value};
use crate::{Error, Result};

/// Connections of one core to a PostgreSQL server: queries wait for its answer,
/// so several may be under way.
const POSTGRES_CONNECTIONS: usize = 8;

/// The database as one core sees it: a few connections, opened when needed.
///
/// SQLite has one connection that reads and one that writes: a query is done
/// within microseconds, so more would only add threads. Writers of all cores
/// queue at one semaphore instead of polling SQLite's file lock.
#[derive(Clone, Debug)]
pub struct Database {
    read: Arc<Pool>,
    write: Arc<Pool>,
}

impl Database {
    /// The databases of `cores` cores. No connection is opened yet.
    pub fn for_cores(location: &Location, cores: usize) -> Vec<Self> {
        let one_writer = Arc::new(Semaphore::new(1));
        (0..cores)
            .map(|_| match location {
                Location::Sqlite(_) => Self {
                    read: Pool::new(location, Arc::new(Semaphore::new(1))),
                    write: Pool::new(location, Arc::clone(&one_writer)),
                },
                Location::Postgres(_) => {
                    let pool = Pool::new(location, Arc::new(Semaphore::new(POSTGRES_CONNECTIONS)));
                    Self { read: Arc::clone(&pool), write: pool }
                }
            })
            .collect()
    }

    /// All rows of a query that only reads.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn all<R: Record>(&self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<R>> {
        let mut lease = self.read.lease().await?;
        let answer = lease.connection().all(sql, values).await;
        Ok(lease.judge(answer)?)
    }

    /// The first row of a query that only reads.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn first<R: Record>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        let mut lease = self.read.lease().await?;
        let answer = lease.connection().first(sql, values).await;
        Ok(lease.judge(answer)?)
    }

    /// Begins a transaction that writes. In SQLite it takes the write lock at
    /// once (`BEGIN IMMEDIATE`), so that it cannot fail halfway for want of it.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn begin(&self) -> Result<Transaction> {
        let mut lease = self.write.lease().await?;
        let begin = match lease.connection().dialect() {
            Dialect::Sqlite => "BEGIN IMMEDIATE",
            Dialect::Postgres => "BEGIN",
        };
        lease.sound = false;
        lease.connection().run(begin, &[]).await?;
        Ok(Transaction { lease })
    }

    /// Closes the connections that are not in use.
    pub async fn close(&self) {
        self.read.close().await;
        self.write.close().await;
    }
}

/// A transaction under way. Dropped without [`commit`](Self::commit) it is
/// undone: its connection is closed, which rolls back in both databases, also
/// where the request was cancelled halfway.
#[derive(Debug)]
pub struct Transaction {
    lease: Lease,
}

impl Transaction {
    /// The SQL spoken here.
    pub fn dialect(&mut self) -> Dialect {
        self.lease.connection().dialect()
    }

    /// The first row of a query, locked against other writers till the end of
    /// the transaction. `sql` must select from one table.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn lock<R: Record>(
        &mut self,
        sql: LockingSql,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        let connection = self.lease.connection();
        let sql = match connection.dialect() {
            Dialect::Sqlite => sql.sqlite,
            Dialect::Postgres => sql.postgres,
        };
        Ok(connection.first(sql, values).await?)
    }

    /// All rows of a query.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn all<R: Record>(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Vec<R>> {
        Ok(self.lease.connection().all(sql, values).await?)
    }

    /// The first row of a query.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn first<R: Record>(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        Ok(self.lease.connection().first(sql, values).await?)
    }

    /// Runs a statement; how many rows it changed.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn run(&mut self, sql: impl SqlSafeStr, values: &[Value<'_>]) -> Result<u64> {
        Ok(self.lease.connection().run(sql, values).await?)
    }

    /// Undoes the changes because the request is refused, and hands `refusal`
    /// back. Cheaper than dropping the transaction: the connection lives on.
    pub async fn undo(mut self, refusal: impl Into<Error>) -> Error {
        if let Err(error) = self.lease.connection().run("ROLLBACK", &[]).await {
            return error.into();
        }
        self.lease.sound = true;
        refusal.into()
    }

    /// Makes the changes last.
    ///
    /// # Errors
    /// Whatever the database answers; then nothing was changed.
    pub async fn commit(mut self) -> Result<()> {
        self.lease.connection().run("COMMIT", &[]).await?;
        self.lease.sound = true;
        Ok(())
    }
}

/// A statement that locks the row that it reads. SQLite's write transactions
/// exclude each other, so there the plain statement is enough.
#[derive(Clone, Copy, Debug)]
pub struct LockingSql {
    /// The plain statement.
    pub sqlite: &'static str,
    /// The same with `FOR UPDATE`.
    pub postgres: &'static str,
}

/// Makes a [`LockingSql`] from one statement.
#[macro_export]
#[doc(hidden)]
macro_rules! locking {
    ($sql:literal) => {
        $crate::database::LockingSql { sqlite: $sql, postgres: concat!($sql, " FOR UPDATE") }
    };
}

#[derive(Debug)]
struct Pool {
    location: Location,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    fn new(location: &Location, permits: Arc<Semaphore>) -> Arc<Self> {
        Arc::new(Self { location: location.clone(), permits, idle: Mutex::default() })
    }

    async fn lease(self: &Arc<Self>) -> Result<Lease> {
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_owned().await.expect("the semaphore is never closed");
        let idle = self.idle.lock().expect("no panic under this lock").pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.location.connect().await?,
        };
        Ok(Lease {
            connection: Some(connection),
            sound: true,
            pool: Arc::clone(self),
            _permit: permit,
        })
    }

    async fn close(&self) {
        let idle = std::mem::take(&mut *self.idle.lock().expect("no panic under this lock"));
        for connection in idle {
            connection.close().await;
        }
    }
}

/// A connection in use. It goes back to its pool unless it is unsound: in the
/// middle of a transaction, or broken.
#[derive(Debug)]
struct Lease {
    connection: Option<Connection>,
    sound: bool,
    pool: Arc<Pool>,
    _permit: OwnedSemaphorePermit,
}

impl Lease {
    fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("present until dropped")
    }

    /// After an error that is not the statement's own neither this connection
    /// nor the idle ones are used again: the server may have been restarted.
    fn judge<T>(&mut self, answer: sqlx::Result<T>) -> sqlx::Result<T> {
        if answer.as_ref().is_err_and(|error| !matches!(error, sqlx::Error::Database(_))) {
            self.sound = false;
            self.pool.idle.lock().expect("no panic under this lock").clear();
        }
        answer
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let (true, Some(connection)) = (self.sound, self.connection.take()) {
            self.pool.idle.lock().expect("no panic under this lock").push(connection);
        }
    }
}
