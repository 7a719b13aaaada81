//! A durable queue: what is to be done at another service is an entry in the database, written
//! in the transaction of the change that it follows from. An entry is tried until it is done or
//! given up: at least once, in no order that can be relied on, with pauses that grow, for a
//! bounded time. A process that is killed anywhere loses none.
//!
//! The table of a queue has the columns `id {id}, state {int} NOT NULL, attempts {int} NOT NULL,
//! next {int} NOT NULL, created {int} NOT NULL` and those that say what is to be done. A site
//! inserts its entries itself, with state and attempts 0 and both times the present one, in
//! milliseconds since 1970. It wants an index that ends with `state, next`, and one on `created`
//! of those in state 0.
//!
//! [`Worker`] is the general form. A [`Task`] says only how an entry is done, and [`run`] brings
//! it the entries: from the table itself, or through a [`Place`] where other processes can take
//! them, such as NATS JetStream.

mod health;
mod nats;
mod place;
mod task;

pub use health::{Health, Trouble};
pub use nats::Nats;
pub use place::Place;
pub use task::{Settings, Task, run};

use std::collections::HashMap;
use std::time::Duration;

use tokio::task::{Id, JoinSet};
use tokio::time::sleep;

use crate::Result;
use crate::backoff::Backoff;
use crate::database::{Columns, Database, Record, Value};
use crate::when::ms;
use crate::{database, numbered};

/// How often a queue is looked at, beside being woken: another process may have written into
/// it, and what has failed may be due again.
const LOOK: Duration = Duration::from_millis(500);

/// The statements of a queue, made by [`queue!`](crate::queue!) of the name of its table.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    #[doc(hidden)]
    pub claim: &'static str,
    #[doc(hidden)]
    pub end: &'static str,
    #[doc(hidden)]
    pub old: &'static str,
    #[doc(hidden)]
    pub give_up: &'static str,
    #[doc(hidden)]
    pub put_off: &'static str,
    #[doc(hidden)]
    pub waiting: &'static str,
}

/// The [`Queue`] in this table.
#[macro_export]
macro_rules! queue {
    ($table:literal) => {
        $crate::queue::Queue {
            claim: concat!(
                "UPDATE ",
                $table,
                " SET next = $3 WHERE id = $1 AND state = 0 AND next = $2 RETURNING id"
            ),
            end: concat!(
                "UPDATE ",
                $table,
                " SET state = $2, attempts = $3, next = $4 WHERE id = $1 AND state = 0"
            ),
            old: concat!("SELECT id FROM ", $table, " WHERE state = 0 AND created < $1 LIMIT 1"),
            give_up: concat!("UPDATE ", $table, " SET state = 2 WHERE state = 0 AND created < $1"),
            put_off: concat!(
                "UPDATE ",
                $table,
                " SET next = $3 WHERE id = $1 AND state = 0 AND next = $2"
            ),
            waiting: concat!(
                "SELECT COUNT(*), COALESCE(MIN(created), 0) FROM ",
                $table,
                " WHERE state = 0"
            ),
        }
    };
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It will be tried, or is being tried.
    Pending,
    /// It is done.
    Done,
    /// It was given up, and is kept to be looked at.
    GivenUp,
}

numbered!(State: Pending = 0, Done = 1, GivenUp = 2);

/// An entry that was claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<T> {
    /// Its number.
    pub id: i64,
    /// Failed attempts so far.
    pub attempts: i64,
    /// When it was written, milliseconds since 1970.
    pub created: i64,
    /// When it is to be tried: that of the claim.
    next: i64,
    /// What is to be done.
    pub content: T,
}

impl<T: Record> Record for Entry<T> {
    fn read(columns: &mut Columns<'_>) -> database::Result<Self> {
        let ((id, attempts), (created, next)) = columns.next()?;
        Ok(Self { id, attempts, created, next, content: columns.next()? })
    }
}

/// How long an entry is tried.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// Pauses between attempts.
    pub backoff: Backoff,
    /// After so long an entry is given up.
    pub tried: Duration,
}

impl<T> Entry<T> {
    /// What becomes of the entry after an attempt that ended at this time, and when it is tried
    /// again.
    fn after(&self, done: bool, ended: i64, retry: Retry) -> (State, i64) {
        if done {
            return (State::Done, i64::MAX);
        }
        let failed = u32::try_from(self.attempts + 1).unwrap_or(u32::MAX);
        let again = ended.saturating_add(ms(retry.backoff.pause(failed)));
        if again > self.created.saturating_add(ms(retry.tried)) {
            (State::GivenUp, i64::MAX)
        } else {
            (State::Pending, again)
        }
    }
}

impl Queue {
    /// Takes the entries that a statement reads: its columns are `id, attempts, created, next`
    /// and those of the content, of entries in state 0 that are due. Nobody else takes them
    /// before `until`: after a crash they are tried again then.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn claim<T: Record>(
        &self,
        database: &Database,
        due: &'static str,
        values: &[Value<'_>],
        until: i64,
    ) -> Result<Vec<Entry<T>>> {
        // Reading takes no lock; only what is claimed does.
        let due: Vec<Entry<T>> = database.all(due, values).await?;
        if due.is_empty() {
            return Ok(due);
        }
        let mut transaction = database.begin().await?;
        let mut claimed = Vec::new();
        for entry in due {
            let values = [entry.id.into(), entry.next.into(), until.into()];
            if transaction.first::<i64>(self.claim, &values).await?.is_some() {
                claimed.push(Entry { next: until, ..entry });
            }
        }
        transaction.commit().await?;
        Ok(claimed)
    }

    /// Stores how an attempt ended at this time, and returns what becomes of its entry.
    ///
    /// # Errors
    /// An error of the database; then the entry is tried again when its claim is over.
    pub async fn end<T>(
        &self,
        database: &Database,
        entry: &Entry<T>,
        done: bool,
        ended: i64,
        retry: Retry,
    ) -> Result<State> {
        let (state, next) = entry.after(done, ended, retry);
        let values = [entry.id, state.number(), entry.attempts + 1, next].map(Into::into);
        // It may have been given up meanwhile: then this changes nothing.
        database.run(self.end, &values).await?;
        Ok(state)
    }

    /// Lets nobody take an entry before `until`, unless somebody has taken it since it was
    /// claimed.
    ///
    /// # Errors
    /// An error of the database; then the entry is tried again when its claim is over.
    async fn put_off<T>(&self, database: &Database, entry: &Entry<T>, until: i64) -> Result<()> {
        database.run(self.put_off, &[entry.id, entry.next, until].map(Into::into)).await
    }

    /// How many entries are not done, and since when the oldest is waiting: milliseconds since
    /// 1970, 0 where there is none.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn waiting(&self, database: &Database) -> Result<(i64, i64)> {
        Ok(database.first(self.waiting, &[]).await?.unwrap_or_default())
    }

    /// Gives up what was written before a time and is not done, whoever should do it.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn give_up(&self, database: &Database, before: i64) -> Result<()> {
        if database.first::<i64>(self.old, &[before.into()]).await?.is_none() {
            return Ok(());
        }
        database.run(self.give_up, &[before.into()]).await
    }
}

/// Works a queue off.
pub trait Worker: Clone + Send + Sync + 'static {
    /// An entry.
    type Entry: Send + 'static;

    /// The number of an entry: one that is being worked on is not begun again.
    fn number(entry: &Self::Entry) -> i64;

    /// Entries that are due, of which `free` are begun. It logs its errors itself.
    fn due(&mut self, free: usize) -> impl Future<Output = Vec<Self::Entry>> + Send;

    /// Works on an entry, and stores how that ended.
    fn work(&self, entry: Self::Entry) -> impl Future<Output = ()> + Send;

    /// When there may be more to do: since this was called, not since it was awaited first.
    fn woken(&self) -> impl Future<Output = ()> + Send;
}

/// Works a queue off until it is dropped, at most so many entries at once: memory is bounded
/// whatever is waiting.
pub async fn work_off<W: Worker>(mut worker: W, at_once: usize) {
    let waits = worker.clone();
    let mut under_way = JoinSet::new();
    let mut numbers: HashMap<Id, i64> = HashMap::new();
    loop {
        // Before looking: what is written in between is not missed.
        let woken = waits.woken();
        for entry in worker.due(at_once - under_way.len()).await {
            let number = W::number(&entry);
            if under_way.len() < at_once && numbers.values().all(|other| *other != number) {
                let worker = worker.clone();
                let task = under_way.spawn(async move { worker.work(entry).await });
                numbers.insert(task.id(), number);
            }
        }
        let mut ended = tokio::select! {
            () = woken => None,
            Some(ended) = under_way.join_next_with_id() => Some(ended),
            () = sleep(LOOK) => None,
        };
        while let Some(task) = ended.or_else(|| under_way.try_join_next_with_id()) {
            numbers.remove(&task.map_or_else(|error| error.id(), |(id, ())| id));
            ended = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::database::{Location, tables};

    const QUEUE: Queue = queue!("letters");
    const DUE: &str = "SELECT id, attempts, created, next, text FROM letters
         WHERE state = 0 AND next <= $1 ORDER BY next LIMIT 10";
    const RETRY: Retry = Retry {
        backoff: Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(1) },
        tried: Duration::from_secs(60),
    };

    async fn claim(database: &Database, now: i64) -> Vec<Entry<String>> {
        QUEUE.claim(database, DUE, &[now.into()], now + 10_000).await.unwrap()
    }

    #[tokio::test]
    async fn an_entry_is_claimed_by_one_until_it_is_done_or_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("queue.db"));
        let mut connection = location.connect().await.unwrap();
        let table = "CREATE TABLE letters (id {id}, text TEXT NOT NULL, state {int} NOT NULL,
            attempts {int} NOT NULL, next {int} NOT NULL, created {int} NOT NULL)";
        tables::create(&mut connection, table).await.unwrap();
        let database = Database::for_cores(&location, 1).remove(0);
        let insert = "INSERT INTO letters (text, state, attempts, next, created)
            VALUES ('a', 0, 0, 0, 0), ('b', 0, 0, 0, 0)";
        database.run(insert, &[]).await.unwrap();

        let [a, b] = claim(&database, 0).await.try_into().unwrap();
        assert_eq!((a.content.as_str(), b.content.as_str()), ("a", "b"));
        assert!(claim(&database, 9_999).await.is_empty(), "they are claimed");
        assert_eq!(QUEUE.end(&database, &a, true, 5, RETRY).await.unwrap(), State::Done);
        assert_eq!(QUEUE.end(&database, &b, false, 5, RETRY).await.unwrap(), State::Pending);
        let [again] = claim(&database, 1_005).await.try_into().unwrap();
        assert_eq!((again.content.as_str(), again.attempts), ("b", 1));
        // Whoever has claimed it is killed.
        let [late] = claim(&database, 60_000).await.try_into().unwrap();
        let end = QUEUE.end(&database, &late, false, 60_000, RETRY).await;
        assert_eq!(end.unwrap(), State::GivenUp);
        assert!(claim(&database, i64::MAX / 2).await.is_empty());
        database.run(insert, &[]).await.unwrap();
        QUEUE.give_up(&database, 1).await.unwrap();
        assert!(claim(&database, i64::MAX / 2).await.is_empty());
    }

    /// Numbers that are always due.
    #[derive(Clone)]
    struct Counted(Arc<Mutex<Vec<i64>>>);

    impl Worker for Counted {
        type Entry = i64;

        fn number(entry: &i64) -> i64 {
            *entry
        }

        async fn due(&mut self, _: usize) -> Vec<i64> {
            vec![1, 2, 3]
        }

        async fn work(&self, entry: i64) {
            self.0.lock().unwrap().push(entry);
            sleep(Duration::from_secs(if entry == 1 { 10 } else { 1 })).await;
        }

        async fn woken(&self) {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_hangs_is_begun_once_and_delays_no_other() {
        let begun = Arc::new(Mutex::new(Vec::new()));
        let work = work_off(Counted(Arc::clone(&begun)), 2);
        let _ = tokio::time::timeout(Duration::from_millis(4_500), work).await;
        assert_eq!(*begun.lock().unwrap(), [1, 2, 2, 2, 2, 2]);
    }
}
