//! A connection to a SQLite file, on the calling thread.
//!
//! A query of the site takes about ten microseconds and does not block, so it
//! runs on the calling thread: a thread of its own would cost two context
//! switches. Only a lock that another process holds takes longer. SQLite would
//! sleep for it and block the core; here the statement is tried again after a
//! pause, and the core serves other requests meanwhile.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{CachedStatement, Connection, ErrorCode, OpenFlags, Row, ffi};
use sqlx::SqlSafeStr;
use tokio::time::{Instant, sleep};

use super::{Columns, Error, Fields, Record, Result, Value};

/// How long a statement is retried while another process holds the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause between two attempts. The writers of this process queue in the pool,
/// so at most one of them attempts.
const PAUSE: Duration = Duration::from_millis(5);
/// Statements kept prepared, several times as many as the site has.
const PREPARED: usize = 256;

/// Set on every connection: readers and the writer do not wait for each other;
/// a commit survives a crash of the process at once, and one of the machine from
/// the next checkpoint on; pages are read from a memory map of up to 1 GiB without system
/// calls, over a cache of 16 MiB.
const PRAGMAS: &str = "
PRAGMA foreign_keys = ON;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA mmap_size = 1073741824;
PRAGMA cache_size = -16384;
PRAGMA temp_store = MEMORY;
";

/// An open connection. Statements are prepared once and kept.
#[derive(Debug)]
pub struct Sqlite(Connection);

impl Sqlite {
    /// Opens a file; a missing one is created with mode 0600.
    ///
    /// # Errors
    /// It cannot be opened or created, is locked, or is not a database.
    pub async fn open(file: &Path) -> Result<Self> {
        static FIRST: Once = Once::new();
        FIRST.call_once(disable_memory_statistics);
        create_private(file);
        // Without SQLite's own mutex: `&mut` is the lock.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(file, flags)?;
        // `persist` retries; SQLite itself must not sleep.
        connection.busy_timeout(Duration::ZERO)?;
        connection.set_prepared_statement_cache_capacity(PREPARED);
        // Plans do not depend on bound values: otherwise SQLite prepares a
        // statement again whenever such a value changes, for example an OFFSET.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        let mut sqlite = Self(connection);
        sqlite.script(PRAGMAS).await?;
        Ok(sqlite)
    }

    /// All rows of a query.
    ///
    /// # Errors
    /// An error of SQLite; another process keeps the database locked for 5 s.
    pub async fn all<R: Record>(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Vec<R>> {
        let sql = sql.into_sql_str();
        self.persist(|connection| {
            let mut statement = prepare(connection, sql.as_str(), values)?;
            let mut rows = statement.raw_query();
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                all.push(R::read(&mut Columns::new(row))?);
            }
            Ok(all)
        })
        .await
    }

    /// The first row of a query, if there is one.
    ///
    /// # Errors
    /// An error of SQLite; another process keeps the database locked for 5 s.
    pub async fn first<R: Record>(
        &mut self,
        sql: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        let sql = sql.into_sql_str();
        self.persist(|connection| {
            let mut statement = prepare(connection, sql.as_str(), values)?;
            let mut query = statement.raw_query();
            query.next()?.map(|row| R::read(&mut Columns::new(row))).transpose()
        })
        .await
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// An error of SQLite; another process keeps the database locked for 5 s.
    pub async fn run(&mut self, sql: impl SqlSafeStr, values: &[Value<'_>]) -> Result<()> {
        let sql = sql.into_sql_str();
        self.persist(|connection| {
            let mut statement = prepare(connection, sql.as_str(), values)?;
            let mut rows = statement.raw_query();
            while rows.next()?.is_some() {}
            Ok(())
        })
        .await
    }

    /// Runs several statements without values, separated by semicolons; none
    /// holds a semicolon itself.
    ///
    /// # Errors
    /// An error of SQLite; another process keeps the database locked for 5 s.
    pub async fn script(&mut self, sql: &str) -> Result<()> {
        // One at a time: a retry must not repeat the statements before.
        for statement in sql.split(';') {
            self.persist(|connection| Ok(connection.execute_batch(statement)?)).await?;
        }
        Ok(())
    }

    /// Closes the connection.
    ///
    /// # Errors
    /// An error of SQLite.
    pub fn close(self) -> Result<()> {
        self.0.close().map_err(|(_, error)| error.into())
    }

    /// Runs `work`, and repeats it while another process holds the lock that it
    /// needs. `work` leaves no statement open, so the future may be dropped
    /// between two attempts.
    async fn persist<T>(&mut self, work: impl Fn(&Connection) -> Result<T>) -> Result<T> {
        let mut until = None;
        loop {
            let busy = match work(&self.0) {
                Err(Error::Sqlite(error)) if is_busy(&error) => error,
                done => return done,
            };
            if Instant::now() >= *until.get_or_insert_with(|| Instant::now() + LOCK_TIMEOUT) {
                return Err(busy.into());
            }
            sleep(PAUSE).await;
        }
    }
}

/// Creates a missing file for its owner alone: it holds hashes of passwords, and SQLite would
/// follow the umask. SQLite gives `-wal` and `-shm` the mode of the database. A failure is left
/// to SQLite, which meets it again and explains it.
fn create_private(file: &Path) {
    // To close any descriptor of a file releases the locks that this process has on it. So the
    // file is opened here only if it is new, and nobody else opens it meanwhile.
    static CREATING: Mutex<()> = Mutex::new(());
    let _creating = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
}

/// Turns SQLite's memory statistics off: they are not used, and each allocation
/// would take a lock that all cores share.
fn disable_memory_statistics() {
    // SAFETY: this option takes one int, and no other thread is in SQLite: every
    // connection of this process is opened after this.
    unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0) };
}

/// Prepares a statement, or takes it from the cache, and binds its values.
///
/// For SQLite `$2` is a name, and its index is the order in which names first
/// appear; so each index is bound to the value that its name refers to. A plain
/// `?` is bound to the value of its index.
///
/// # Errors
/// The statement is wrong, or its placeholders are not exactly those of `values`.
fn prepare<'c>(
    connection: &'c Connection,
    sql: &str,
    values: &[Value<'_>],
) -> Result<CachedStatement<'c>> {
    let mut statement = connection.prepare_cached(sql)?;
    let places = statement.parameter_count();
    if places != values.len() {
        return Err(rusqlite::Error::InvalidParameterCount(values.len(), places).into());
    }
    for place in 1..=places {
        let value = match statement.parameter_name(place) {
            None => values[place - 1],
            Some(name) => *named(name, values)
                .ok_or_else(|| rusqlite::Error::InvalidParameterName(name.into()))?,
        };
        match value {
            Value::Int(int) => statement.raw_bind_parameter(place, int)?,
            Value::Text(text) => statement.raw_bind_parameter(place, text)?,
        }
    }
    Ok(statement)
}

/// The value that `$N` stands for.
fn named<'a, 'v>(name: &str, values: &'a [Value<'v>]) -> Option<&'a Value<'v>> {
    let number: usize = name.strip_prefix('$')?.parse().ok()?;
    values.get(number.checked_sub(1)?)
}

impl Fields for Row<'_> {
    fn int(&self, column: usize) -> Result<i64> {
        Ok(self.get(column)?)
    }

    fn text(&self, column: usize) -> Result<String> {
        Ok(self.get(column)?)
    }
}

/// Whether another connection holds the lock and will release it. Waiting does
/// not help a transaction that has read what another has changed since
/// (`SQLITE_BUSY_SNAPSHOT`).
fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_extended_error_code(),
        Some(ffi::SQLITE_BUSY | ffi::SQLITE_BUSY_RECOVERY | ffi::SQLITE_BUSY_TIMEOUT)
    )
}

/// What an operator can do about an error met while opening or preparing.
pub(super) fn explain(error: &Error) -> String {
    let code = match error {
        Error::Sqlite(error) => error.sqlite_error_code(),
        _ => None,
    };
    match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "locked by another process; stop that process, then try again".into()
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "cannot be written; give this user write permission on the file and its folder".into()
        }
        Some(ErrorCode::SystemIoFailure) => {
            format!("reading or writing failed ({error}); check the disk")
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            "damaged; delete it, and the next start creates it again".into()
        }
        Some(ErrorCode::DiskFull) => {
            "the disk is full; make room or choose another folder with --data".into()
        }
        Some(ErrorCode::CannotOpen) => {
            "cannot be opened; its folder must exist and be writable".into()
        }
        Some(ErrorCode::NotADatabase) => {
            "not a SQLite database; move it away or name another file".into()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use tempfile::TempDir;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn placeholders_are_numbers_whatever_their_order() {
        let (_folder, [mut sqlite]) = open().await;
        let values = ["a".into(), "b".into(), 3.into()];
        for (sql, expected) in [
            ("SELECT $1 || $2 || $3", "ab3"),
            ("SELECT $3 || $1 || $2", "3ab"),
            ("SELECT $2 || $1 || $2 || $3 || $1", "bab3a"),
            ("SELECT ? || ? || ?", "ab3"),
        ] {
            // The second time the statement comes from the cache.
            for _ in 0..2 {
                let read: Option<String> = sqlite.first(sql, &values).await.unwrap();
                assert_eq!(read.as_deref(), Some(expected), "{sql}");
            }
        }
    }

    #[tokio::test]
    async fn a_placeholder_or_value_too_many_is_an_error_and_never_null() {
        let (_folder, [mut sqlite]) = open().await;
        let two = [1.into(), 2.into()];
        for (sql, values) in [
            ("SELECT $1", &two[..0]),
            ("SELECT $1 + $2", &two[..1]),
            ("SELECT $1", &two),
            ("SELECT 1", &two[..1]),
            ("SELECT $1 + $3", &two),
            ("SELECT $1 + $0", &two),
            ("SELECT $1 + :2", &two),
            ("SELECT ?", &two),
        ] {
            let error = sqlite.first::<i64>(sql, values).await.unwrap_err();
            assert!(!error.is_of_connection(), "{sql}: {error}");
        }
    }

    #[tokio::test]
    async fn null_and_another_type_are_errors() {
        let (_folder, [mut sqlite]) = open().await;
        for sql in ["SELECT NULL", "SELECT 'text'", "SELECT 1.5"] {
            assert!(sqlite.all::<i64>(sql, &[]).await.is_err(), "{sql}");
        }
        assert!(sqlite.all::<String>("SELECT 1", &[]).await.is_err());
        assert!(sqlite.all::<(i64, i64)>("SELECT 1", &[]).await.is_err());
    }

    #[tokio::test]
    async fn files_of_a_database_are_for_their_owner_alone() {
        let (folder, [mut sqlite]) = open().await;
        sqlite.run("INSERT INTO t VALUES (1)", &[]).await.unwrap();
        let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap());
        let modes: Vec<_> = files
            .map(|file| (file.file_name(), file.metadata().unwrap().permissions().mode() & 0o777))
            .collect();
        assert!(modes.len() >= 3, "the database, -wal and -shm: {modes:?}");
        assert!(modes.iter().all(|(_, mode)| *mode == 0o600), "{modes:?}");
    }

    #[tokio::test]
    async fn every_setting_has_taken_effect() {
        let (_folder, [mut sqlite]) = open().await;
        let mode: Option<String> = sqlite.first("PRAGMA journal_mode", &[]).await.unwrap();
        assert_eq!(mode.as_deref(), Some("wal"));
        for (sql, expected) in [
            ("PRAGMA foreign_keys", 1),
            ("PRAGMA synchronous", 1),
            ("PRAGMA mmap_size", 1 << 30),
            ("PRAGMA cache_size", -16384),
            ("PRAGMA temp_store", 2),
            ("PRAGMA busy_timeout", 0),
        ] {
            let set: Option<i64> = sqlite.first(sql, &[]).await.unwrap();
            assert_eq!(set, Some(expected), "{sql}");
        }
        assert!(sqlite.0.db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG).unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_of_another_process_delays_the_writer_and_no_reader() {
        let (_folder, [mut other, mut writer, mut reader]) = open().await;
        let began = Instant::now();
        other.run("BEGIN IMMEDIATE", &[]).await.unwrap();
        other.run("INSERT INTO t VALUES (1)", &[]).await.unwrap();
        let write = tokio::spawn(async move {
            writer.run("INSERT INTO t VALUES ($1)", &[2.into()]).await.unwrap();
            Instant::now()
        });
        for _ in 0..30 {
            sleep(Duration::from_millis(100)).await;
            assert_eq!(count(&mut reader).await, 0);
        }
        assert!(!write.is_finished());
        other.run("COMMIT", &[]).await.unwrap();
        let waited = write.await.unwrap() - began;
        assert!((3000..=3010).contains(&waited.as_millis()), "{waited:?}");
        assert_eq!(count(&mut reader).await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_that_stays_is_an_error_after_five_seconds() {
        let (_folder, [mut other, mut writer]) = open().await;
        let began = Instant::now();
        other.run("BEGIN IMMEDIATE", &[]).await.unwrap();
        let error = writer.run("BEGIN IMMEDIATE", &[]).await.unwrap_err();
        assert!(began.elapsed() >= LOCK_TIMEOUT && began.elapsed() < LOCK_TIMEOUT + PAUSE * 2);
        assert!(explain(&error).contains("locked by another process"), "{error}");
        assert_eq!(error.to_string(), "database is locked (SQLite result 5)");
        assert!(!error.is_of_connection());
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_writer_leaves_no_transaction_and_no_change() {
        let (_folder, [mut other, mut writer]) = open().await;
        other.run("BEGIN IMMEDIATE", &[]).await.unwrap();
        let insert = writer.run("INSERT INTO t VALUES (1)", &[]);
        assert!(timeout(Duration::from_millis(100), insert).await.is_err());
        let begin = writer.run("BEGIN IMMEDIATE", &[]);
        assert!(timeout(Duration::from_millis(100), begin).await.is_err());
        other.run("COMMIT", &[]).await.unwrap();
        // No transaction is open, and nothing was written afterwards.
        writer.run("BEGIN IMMEDIATE", &[]).await.unwrap();
        assert_eq!(count(&mut writer).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_transaction_that_read_what_has_changed_since_fails_at_once() {
        let (_folder, [mut other, mut late]) = open().await;
        let began = Instant::now();
        late.run("BEGIN", &[]).await.unwrap();
        assert_eq!(count(&mut late).await, 0);
        other.run("INSERT INTO t VALUES (1)", &[]).await.unwrap();
        let error = late.run("INSERT INTO t VALUES (2)", &[]).await.unwrap_err();
        assert!(error.to_string().contains(&ffi::SQLITE_BUSY_SNAPSHOT.to_string()), "{error}");
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_script_continues_after_a_lock_was_released() {
        let (_folder, [mut other, mut writer]) = open().await;
        other.run("BEGIN IMMEDIATE", &[]).await.unwrap();
        let script = tokio::spawn(async move {
            writer.script("CREATE TEMP TABLE once (x); CREATE TABLE late (x)").await
        });
        sleep(PAUSE * 10).await;
        other.run("COMMIT", &[]).await.unwrap();
        script.await.unwrap().unwrap();
    }

    #[test]
    fn an_error_and_its_extended_codes_have_a_remedy() {
        for (code, remedy) in [
            (ffi::SQLITE_BUSY, "stop that process"),
            (ffi::SQLITE_BUSY_RECOVERY, "stop that process"),
            (ffi::SQLITE_READONLY, "permission"),
            (ffi::SQLITE_READONLY_DBMOVED, "permission"),
            (ffi::SQLITE_IOERR_WRITE, "check the disk"),
            (ffi::SQLITE_CORRUPT, "damaged"),
            (ffi::SQLITE_FULL, "make room"),
            (ffi::SQLITE_CANTOPEN_ISDIR, "folder must exist"),
            (ffi::SQLITE_NOTADB, "not a SQLite database"),
        ] {
            let error: Error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into();
            assert!(explain(&error).contains(remedy), "{code}: {}", explain(&error));
        }
    }

    /// Connections to one new file with an empty table `t` of numbers.
    async fn open<const N: usize>() -> (TempDir, [Sqlite; N]) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("test.db");
        let mut all = Vec::new();
        for _ in 0..N {
            all.push(Sqlite::open(&file).await.unwrap());
        }
        all[0].script("CREATE TABLE t (x INTEGER)").await.unwrap();
        (folder, all.try_into().unwrap())
    }

    async fn count(sqlite: &mut Sqlite) -> i64 {
        sqlite.first("SELECT COUNT(*) FROM t", &[]).await.unwrap().unwrap()
    }
}
