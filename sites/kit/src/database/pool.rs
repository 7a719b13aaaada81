//! The connection pools of one core, and transactions.

use std::sync::{Arc, Mutex};

use sqlx::SqlSafeStr;
use tidegate_trace::{Phase, during};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Connection, Dialect, Location, Record, Value};
use crate::{Result, database};

/// Connections of one core to a PostgreSQL server. A query waits for the server,
/// so several may be in flight.
const POSTGRES_CONNECTIONS: usize = 8;

/// The database of one core: a few connections, opened on demand.
///
/// SQLite has one connection that reads and one that writes: the core runs one
/// query at a time anyway, but readers must not wait while a writer waits for
/// another process. Writers of all cores queue at one semaphore instead of
/// polling SQLite's file lock.
///
/// A SQLite query does not yield to the other requests of its core, and there is
/// no yield between two queries: a page takes a fraction of a millisecond in all,
/// and a transaction that runs through holds the write lock for the shortest time.
#[derive(Clone, Debug)]
pub struct Database {
    read: Arc<Pool>,
    write: Arc<Pool>,
}

impl Database {
    /// The databases of `cores` cores. No connection is opened yet. A commit survives a crash
    /// of the process; on SQLite a crash of the machine may undo the last ones.
    pub fn for_cores(location: &Location, cores: usize) -> Vec<Self> {
        Self::with(location, cores, Commit::Written)
    }

    /// The same, but a commit is on the disk when it returns, on SQLite too: for what another
    /// machine relies on. Each commit waits for the disk, and the core with it.
    pub fn durable_for_cores(location: &Location, cores: usize) -> Vec<Self> {
        Self::with(location, cores, Commit::OnDisk)
    }

    fn with(location: &Location, cores: usize, commit: Commit) -> Vec<Self> {
        let one_writer = Arc::new(Semaphore::new(1));
        (0..cores)
            .map(|_| match location {
                Location::Sqlite(_) => Self {
                    read: Pool::new(location, Arc::new(Semaphore::new(1)), commit),
                    write: Pool::new(location, Arc::clone(&one_writer), commit),
                },
                Location::Postgres(_) => {
                    let permits = Arc::new(Semaphore::new(POSTGRES_CONNECTIONS));
                    let pool = Pool::new(location, permits, commit);
                    Self { read: Arc::clone(&pool), write: pool }
                }
            })
            .collect()
    }

    /// The SQL dialect.
    pub fn dialect(&self) -> Dialect {
        self.read.location.dialect()
    }

    /// All rows of a query that only reads.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn all<R: Record>(&self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<R>> {
        let _traced = during(Phase::Database);
        let mut lease = self.read.lease().await?;
        let answer = lease.connection().all(sql, values).await;
        Ok(lease.checked(answer)?)
    }

    /// The first row of a query that only reads.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn first<R: Record>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        let _traced = during(Phase::Database);
        let mut lease = self.read.lease().await?;
        let answer = lease.connection().first(sql, values).await;
        Ok(lease.checked(answer)?)
    }

    /// Runs one statement that writes, in a transaction of its own.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn run(&self, sql: &'static str, values: &[Value<'_>]) -> Result<()> {
        let mut transaction = self.begin().await?;
        transaction.run(sql, values).await?;
        transaction.commit().await
    }

    /// Begins a transaction that writes. In SQLite it takes the write lock at
    /// once (`BEGIN IMMEDIATE`), so that it cannot fail halfway because of it.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn begin(&self) -> Result<Transaction> {
        self.begin_with(self.write.commit).await
    }

    /// The same for one whose commit is on the disk when it returns, on SQLite too.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn begin_on_disk(&self) -> Result<Transaction> {
        self.begin_with(Commit::OnDisk).await
    }

    async fn begin_with(&self, commit: Commit) -> Result<Transaction> {
        let _traced = during(Phase::Database);
        let mut lease = self.write.lease().await?;
        lease.reusable = false;
        let connection = lease.connection();
        let begin = connection.dialect().begin();
        let other = commit != self.write.commit && connection.dialect() == Dialect::Sqlite;
        if other {
            connection.run(commit.pragma(), &[]).await?;
        }
        connection.run(begin, &[]).await?;
        Ok(Transaction { lease, after: other.then(|| self.write.commit.pragma()) })
    }

    /// Closes the connections that are not in use.
    pub async fn close(&self) {
        self.read.close().await;
        self.write.close().await;
    }
}

/// An open transaction. Dropped without [`commit`](Self::commit) it is rolled
/// back: its connection is closed, which both databases treat as a rollback. So
/// a cancelled request leaves no change.
#[derive(Debug)]
pub struct Transaction {
    lease: Lease,
    /// What its connection is set back to afterwards.
    after: Option<&'static str>,
}

impl Transaction {
    /// The SQL dialect.
    pub fn dialect(&mut self) -> Dialect {
        self.lease.connection().dialect()
    }

    /// The first row of a query, locked against other writers until the end
    /// of the transaction. `sql` must select from one table.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn lock<R: Record>(
        &mut self,
        sql: LockingSql,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        let _traced = during(Phase::Database);
        let connection = self.lease.connection();
        let sql = match connection.dialect() {
            Dialect::Sqlite => sql.sqlite,
            Dialect::Postgres => sql.postgres,
        };
        #[cfg(any(test, feature = "testing"))]
        database::fault::statement()?;
        Ok(connection.first(sql, values).await?)
    }

    /// All rows of a query.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn all<R: Record>(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Vec<R>> {
        let _traced = during(Phase::Database);
        #[cfg(any(test, feature = "testing"))]
        database::fault::statement()?;
        Ok(self.lease.connection().all(sql, values).await?)
    }

    /// The first row of a query.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn first<R: Record>(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        let _traced = during(Phase::Database);
        #[cfg(any(test, feature = "testing"))]
        database::fault::statement()?;
        Ok(self.lease.connection().first(sql, values).await?)
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn run(&mut self, sql: impl SqlSafeStr, values: &[Value<'_>]) -> Result<()> {
        let _traced = during(Phase::Database);
        #[cfg(any(test, feature = "testing"))]
        database::fault::statement()?;
        Ok(self.lease.connection().run(sql, values).await?)
    }

    /// Rolls back and keeps the connection open, which costs less than dropping the
    /// transaction.
    ///
    /// # Errors
    /// An error of the database; then its connection is closed.
    pub async fn rollback(mut self) -> Result<()> {
        let _traced = during(Phase::Database);
        self.lease.connection().run("ROLLBACK", &[]).await?;
        self.ended().await;
        Ok(())
    }

    /// Commits the changes.
    ///
    /// # Errors
    /// An error of the database; then nothing was changed.
    pub async fn commit(mut self) -> Result<()> {
        let _traced = during(Phase::Database);
        #[cfg(any(test, feature = "testing"))]
        database::fault::statement()?;
        self.lease.connection().run("COMMIT", &[]).await?;
        self.ended().await;
        Ok(())
    }

    /// Commits the changes, or rolls back where nothing new was stored.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn commit_if(self, stored: bool) -> Result<()> {
        if stored { self.commit().await } else { self.rollback().await }
    }

    /// Its connection can be used again.
    async fn ended(&mut self) {
        self.lease.reusable = match self.after {
            None => true,
            Some(sql) => self.lease.connection().run(sql, &[]).await.is_ok(),
        };
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

/// What a commit waits for on SQLite. PostgreSQL has a setting of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commit {
    /// The log is written; the system writes it to the disk later.
    Written,
    /// The log is on the disk.
    OnDisk,
}

impl Commit {
    /// SQLite's settings.
    fn pragma(self) -> &'static str {
        match self {
            Self::Written => "PRAGMA synchronous = NORMAL",
            Self::OnDisk => "PRAGMA synchronous = FULL",
        }
    }
}

#[derive(Debug)]
struct Pool {
    location: Location,
    commit: Commit,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    fn new(location: &Location, permits: Arc<Semaphore>, commit: Commit) -> Arc<Self> {
        Arc::new(Self { location: location.clone(), commit, permits, idle: Mutex::default() })
    }

    async fn connect(&self) -> Result<Connection> {
        let mut connection = self.location.connect().await?;
        if (self.commit, connection.dialect()) == (Commit::OnDisk, Dialect::Sqlite) {
            connection.run(self.commit.pragma(), &[]).await?;
        }
        Ok(connection)
    }

    async fn lease(self: &Arc<Self>) -> Result<Lease> {
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_owned().await.expect("the semaphore is never closed");
        let idle = self.idle.lock().expect("no panic under this lock").pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(Lease {
            connection: Some(connection),
            reusable: true,
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

/// A connection in use. It returns to its pool unless it is in the middle of a
/// transaction or broken.
#[derive(Debug)]
struct Lease {
    connection: Option<Connection>,
    reusable: bool,
    pool: Arc<Pool>,
    _permit: OwnedSemaphorePermit,
}

impl Lease {
    fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("present until dropped")
    }

    /// Passes `answer` on. After an error of the connection neither it nor the
    /// idle ones are used again: the server may have been restarted, or the file
    /// replaced.
    fn checked<T>(&mut self, answer: database::Result<T>) -> database::Result<T> {
        if answer.as_ref().is_err_and(database::Error::is_of_connection) {
            self.reusable = false;
            self.pool.idle.lock().expect("no panic under this lock").clear();
        }
        answer
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let (true, Some(connection)) = (self.reusable, self.connection.take()) {
            self.pool.idle.lock().expect("no panic under this lock").push(connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, timeout};

    use super::*;

    const INSERT: &str = "INSERT INTO t VALUES (1)";

    #[tokio::test(start_paused = true)]
    async fn an_uncommitted_change_is_rolled_back_and_holds_no_lock() {
        let (_folder, location, database) = open().await;
        let mut dropped = database.begin().await.unwrap();
        dropped.run(INSERT, &[]).await.unwrap();
        drop(dropped);
        let mut undone = database.begin().await.unwrap();
        undone.run(INSERT, &[]).await.unwrap();
        undone.rollback().await.unwrap();
        let mut kept = database.begin().await.unwrap();
        kept.run(INSERT, &[]).await.unwrap();
        kept.commit().await.unwrap();
        assert_eq!(count(&database).await, 1);
        // The connection that stays open holds no lock either.
        let began = Instant::now();
        let mut other = location.connect().await.unwrap();
        other.run("BEGIN IMMEDIATE", &[]).await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_wait_for_a_lock_releases_the_writers_queue() {
        let (_folder, location, database) = open().await;
        let mut other = location.connect().await.unwrap();
        other.run("BEGIN IMMEDIATE", &[]).await.unwrap();
        assert!(timeout(Duration::from_secs(1), database.begin()).await.is_err());
        assert_eq!(count(&database).await, 0);
        other.run("ROLLBACK", &[]).await.unwrap();
        let began = Instant::now();
        let mut next = database.begin().await.unwrap();
        next.run(INSERT, &[]).await.unwrap();
        next.commit().await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test]
    async fn a_durable_database_waits_for_the_disk() {
        let (_folder, location, database) = open().await;
        let durable = Database::durable_for_cores(&location, 1).remove(0);
        for (database, expected) in [(database, 1), (durable, 2)] {
            let mut transaction = database.begin().await.unwrap();
            let set: Option<i64> = transaction.first("PRAGMA synchronous", &[]).await.unwrap();
            assert_eq!(set, Some(expected));
        }
    }

    #[tokio::test]
    async fn one_transaction_waits_for_the_disk_and_the_next_does_not() {
        let (_folder, _location, database) = open().await;
        for commits in [true, false] {
            let mut durable = database.begin_on_disk().await.unwrap();
            let set: Option<i64> = durable.first("PRAGMA synchronous", &[]).await.unwrap();
            assert_eq!(set, Some(2));
            durable.run(INSERT, &[]).await.unwrap();
            if commits {
                durable.commit().await.unwrap();
            } else {
                durable.rollback().await.unwrap();
            }
            let mut usual = database.begin().await.unwrap();
            let set: Option<i64> = usual.first("PRAGMA synchronous", &[]).await.unwrap();
            assert_eq!(set, Some(1));
            usual.rollback().await.unwrap();
        }
        assert_eq!(count(&database).await, 1);
    }

    async fn open() -> (tempfile::TempDir, Location, Database) {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("test.db"));
        let mut connection = location.connect().await.unwrap();
        connection.run("CREATE TABLE t (x INTEGER)", &[]).await.unwrap();
        connection.close().await;
        let database = Database::for_cores(&location, 1).remove(0);
        (folder, location, database)
    }

    async fn count(database: &Database) -> i64 {
        database.first("SELECT COUNT(*) FROM t", &[]).await.unwrap().unwrap()
    }
}
