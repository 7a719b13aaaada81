//! Work on the entries of a queue, whichever way they come.

use std::sync::Arc;

use super::{Entry, Health, Nats, Queue, Retry, State, Worker, nats, work_off};
use crate::database::{Database, Record};
use crate::when::{ms, now_ms};
use crate::{Result, log_once};

/// How the entries of a queue are done. Entries come at least once: what is done twice must be
/// the same as what is done once.
pub trait Task: Clone + Send + Sync + 'static {
    /// What is to be done.
    type Content: Record + Send + Sync + 'static;

    /// Its name, of letters and `-`: part of a subject where entries are handed out by subject.
    const NAME: &'static str;
    /// The queue, and how long an entry is tried.
    const QUEUE: Queue;
    /// Reads entries as [`Queue::claim`] has them: those of this task that are due at `$1`, at
    /// most `$2`.
    const DUE: &'static str;
    /// Reads the entry of the number `$1`, if it is in state 0.
    const ENTRY: &'static str;

    /// How long an entry is tried.
    fn retry(&self) -> Retry;

    /// The database of the queue.
    fn database(&self) -> &Database;

    /// Does it, within [`Settings::claim`]. Returns whether it is done; if not, it is tried
    /// again later.
    ///
    /// # Errors
    /// Those of the database; it is tried again later.
    fn perform(&self, entry: &Entry<Self::Content>) -> impl Future<Output = Result<bool>> + Send;

    /// When there may be more to do: since this was called, not since it was awaited first.
    fn woken(&self) -> impl Future<Output = ()> + Send;
}

/// How a task is run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Entries that are worked on at once.
    pub at_once: usize,
    /// After so long what was claimed is tried again: whoever claimed it was killed.
    pub claim: std::time::Duration,
}

/// Works on the entries of a queue until it is dropped: those of the database itself, or those
/// that come through NATS.
pub async fn run<T: Task>(task: T, settings: Settings, nats: Option<Nats>, health: Arc<Health>) {
    match nats {
        None => work_off(Direct { task, settings }, settings.at_once).await,
        Some(nats) => nats::run(task, settings, nats, health).await,
    }
}

/// Claims entries that are due and does them.
#[derive(Clone)]
struct Direct<T> {
    task: T,
    settings: Settings,
}

impl<T: Task> Worker for Direct<T> {
    type Entry = Entry<T::Content>;

    fn number(entry: &Self::Entry) -> i64 {
        entry.id
    }

    async fn due(&mut self, free: usize) -> Vec<Self::Entry> {
        claim_due(&self.task, free, ms(self.settings.claim)).await
    }

    async fn work(&self, entry: Self::Entry) {
        perform(&self.task, &entry).await;
    }

    fn woken(&self) -> impl Future<Output = ()> + Send {
        self.task.woken()
    }
}

/// Claims up to so many entries that are due, for so many milliseconds.
pub(super) async fn claim_due<T: Task>(
    task: &T,
    most: usize,
    claim_ms: i64,
) -> Vec<Entry<T::Content>> {
    if most == 0 {
        return Vec::new();
    }
    let now = now();
    let values = [now.into(), i64::try_from(most).unwrap_or(i64::MAX).into()];
    let claimed = T::QUEUE.claim(task.database(), T::DUE, &values, now + claim_ms).await;
    claimed.unwrap_or_else(|error| {
        log_once!(warn by &error.to_string(), %error, "a queue cannot be read; trying again");
        Vec::new()
    })
}

/// Does an entry, and stores how that ended. Returns whether that is stored: if not, it comes
/// again when its claim is over.
pub(super) async fn perform<T: Task>(task: &T, entry: &Entry<T::Content>) -> bool {
    let done = task.perform(entry).await.unwrap_or_else(|error| {
        log_once!(warn by &error.to_string(), %error, "work of a queue is tried again");
        false
    });
    match T::QUEUE.end(task.database(), entry, done, now(), task.retry()).await {
        Ok(State::GivenUp) => {
            tracing::error!(task = T::NAME, entry = entry.id, "work of a queue was given up");
            true
        }
        Ok(State::Done | State::Pending) => true,
        Err(error) => {
            log_once!(warn by &error.to_string(), %error, "the end of work cannot be stored");
            false
        }
    }
}

/// Now, milliseconds since 1970.
pub(super) fn now() -> i64 {
    i64::try_from(now_ms()).unwrap_or(i64::MAX)
}
