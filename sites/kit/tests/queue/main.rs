//! A queue whose entries are handed out by the database and through NATS JetStream: each is done,
//! whatever fails meanwhile.

#[allow(dead_code, reason = "the tests of fleets use another part")]
#[path = "../../../../crates/lab/src/services/nats.rs"]
mod nats;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nats::Nats as Server;
use tidegate_sitekit::backoff::Backoff;
use tidegate_sitekit::database::{Database, Location, tables};
use tidegate_sitekit::queue::{self, Entry, Health, Nats, Queue, Retry, Settings, Task, Trouble};
use tidegate_sitekit::when::now_ms;
use tidegate_sitekit::{Result, values};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

const PATIENCE: Duration = Duration::from_secs(120);
const SETTINGS: Settings = Settings { at_once: 4, claim: Duration::from_secs(20) };

/// What a test does with letters.
type Act = Arc<dyn Fn(&str, i64) -> bool + Send + Sync>;

#[derive(Clone)]
struct Letters {
    database: Database,
    wake: Arc<Notify>,
    /// Whether a letter is done, by its text and the attempts before.
    act: Act,
    /// Whoever works on a letter waits until this is set.
    open: watch::Sender<bool>,
    /// How often each was done.
    done: Arc<Mutex<BTreeMap<String, u32>>>,
    _folder: Arc<tempfile::TempDir>,
}

impl Task for Letters {
    type Content = String;

    const NAME: &'static str = "letters";
    const QUEUE: Queue = tidegate_sitekit::queue!("letters");
    const DUE: &'static str = "SELECT id, attempts, created, next, text FROM letters
         WHERE state = 0 AND next <= $1 ORDER BY next LIMIT $2";
    const ENTRY: &'static str =
        "SELECT id, attempts, created, next, text FROM letters WHERE state = 0 AND id = $1";

    fn retry(&self) -> Retry {
        let pause = Duration::from_millis(50);
        Retry { backoff: Backoff { first: pause, longest: pause }, tried: 100 * PATIENCE }
    }

    fn database(&self) -> &Database {
        &self.database
    }

    async fn perform(&self, entry: &Entry<String>) -> Result<bool> {
        let _ = self.open.subscribe().wait_for(|open| *open).await;
        let done = (self.act)(&entry.content, entry.attempts);
        if done {
            *self.done.lock().unwrap().entry(entry.content.clone()).or_default() += 1;
        }
        Ok(done)
    }

    async fn woken(&self) {
        self.wake.notified().await;
    }
}

impl Letters {
    async fn new(act: impl Fn(&str, i64) -> bool + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("letters.db"));
        let mut connection = location.connect().await.unwrap();
        let table = "CREATE TABLE letters (id {id}, text TEXT NOT NULL, state {int} NOT NULL,
            attempts {int} NOT NULL, next {int} NOT NULL, created {int} NOT NULL)";
        tables::create(&mut connection, table).await.unwrap();
        connection.close().await;
        let database = Database::for_cores(&location, 1).remove(0);
        let (wake, done) = (Arc::default(), Arc::default());
        let open = watch::Sender::new(true);
        Self { database, wake, act: Arc::new(act), open, done, _folder: Arc::new(folder) }
    }

    async fn write(&self, texts: impl IntoIterator<Item = String>) {
        for text in texts {
            let sql = "INSERT INTO letters (text, state, attempts, next, created)
                       VALUES ($1, 0, 0, $2, $2)";
            let now = i64::try_from(now_ms()).unwrap();
            self.database.run(sql, &values![text, now]).await.unwrap();
        }
        self.wake.notify_one();
    }

    /// Works on them, through this server if there is one.
    async fn work(&self, server: Option<&str>, most: i64) -> (JoinHandle<()>, Arc<Health>) {
        let health = Arc::<Health>::default();
        let nats = match server {
            Some(url) => {
                Some(Nats::connect(&url.parse().unwrap(), "test", "1", most).await.unwrap())
            }
            None => None,
        };
        let work = queue::run(self.clone(), SETTINGS, nats, Arc::clone(&health));
        (tokio::spawn(work), health)
    }

    async fn waiting(&self) -> i64 {
        Self::QUEUE.waiting(&self.database).await.unwrap().0
    }

    async fn until_all_are_done(&self) {
        until("all are done", async || self.waiting().await == 0).await;
    }

    fn times_done(&self) -> BTreeMap<String, u32> {
        self.done.lock().unwrap().clone()
    }
}

async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn texts(range: std::ops::Range<usize>) -> impl Iterator<Item = String> {
    range.map(|number| format!("letter {number}"))
}

fn each_once(range: std::ops::Range<usize>) -> BTreeMap<String, u32> {
    texts(range).map(|text| (text, 1)).collect()
}

/// Fails twice at every tenth letter.
fn now_and_then(text: &str, attempts: i64) -> bool {
    attempts >= 2 || !text.ends_with('3')
}

#[tokio::test]
async fn the_database_hands_out_each_entry_until_it_is_done() {
    let letters = Letters::new(now_and_then).await;
    letters.write(texts(0..30)).await;
    let (work, health) = letters.work(None, 0).await;
    letters.write(texts(30..60)).await;
    letters.until_all_are_done().await;
    work.abort();
    assert_eq!(letters.times_done(), each_once(0..60));
    assert_eq!(health.trouble(), None);
}

#[tokio::test]
async fn nats_hands_out_each_entry_until_it_is_done() {
    let Some(server) = Server::start() else { return };
    let letters = Letters::new(now_and_then).await;
    letters.write(texts(0..30)).await;
    let (work, health) = letters.work(Some(&server.url()), 1000).await;
    letters.write(texts(30..60)).await;
    letters.until_all_are_done().await;
    work.abort();
    assert_eq!(letters.times_done(), each_once(0..60));
    assert_eq!(health.trouble(), None);
}

#[tokio::test]
async fn user_and_password_of_the_url_are_shown_to_the_server() {
    let Some(server) = Server::start_with(&["--user", "ann", "--pass", "a/b+c"]) else { return };
    let letters = Letters::new(|_, _| true).await;
    letters.write(texts(0..3)).await;
    let url = server.url().replace("nats://", "nats://ann:a%2Fb+c@");
    let (work, _) = letters.work(Some(&url), 1000).await;
    letters.until_all_are_done().await;
    work.abort();
    assert_eq!(letters.times_done(), each_once(0..3));
}

#[tokio::test]
async fn two_workers_share_what_nats_hands_out() {
    let Some(server) = Server::start() else { return };
    let letters = Letters::new(|_, _| true).await;
    letters.write(texts(0..100)).await;
    let (one, _) = letters.work(Some(&server.url()), 1000).await;
    let (other, _) = letters.work(Some(&server.url()), 1000).await;
    letters.until_all_are_done().await;
    one.abort();
    other.abort();
    assert_eq!(letters.times_done(), each_once(0..100));
}

#[tokio::test]
async fn a_server_that_is_gone_leaves_entries_waiting_until_it_is_back() {
    let Some(mut server) = Server::start() else { return };
    let letters = Letters::new(|_, _| true).await;
    server.kill();
    letters.write(texts(0..10)).await;
    let (work, health) = letters.work(Some(&server.url()), 1000).await;
    until("it is told", async || health.trouble() == Some(Trouble::Gone)).await;
    assert_eq!(letters.waiting().await, 10);
    server.run();
    letters.until_all_are_done().await;
    until("it is told", async || health.trouble().is_none()).await;
    work.abort();
    assert_eq!(letters.times_done(), each_once(0..10));
}

#[tokio::test]
async fn a_server_that_loses_its_disk_loses_no_entry() {
    let Some(mut server) = Server::start() else { return };
    let letters = Letters::new(|_, _| true).await;
    letters.open.send_replace(false);
    letters.write(texts(0..10)).await;
    let (work, health) = letters.work(Some(&server.url()), 8).await;
    // All that fits into the queue was published.
    until("it is full", async || health.trouble() == Some(Trouble::Full)).await;
    server.kill();
    server.forget();
    letters.open.send_replace(true);
    server.run();
    letters.until_all_are_done().await;
    work.abort();
    assert!(letters.times_done().keys().cloned().eq(texts(0..10)), "{:?}", letters.times_done());
}

#[tokio::test]
async fn a_full_queue_leaves_entries_in_the_database() {
    let Some(server) = Server::start() else { return };
    let letters = Letters::new(|_, _| true).await;
    letters.open.send_replace(false);
    letters.write(texts(0..20)).await;
    let (work, health) = letters.work(Some(&server.url()), 8).await;
    until("it is told", async || health.trouble() == Some(Trouble::Full)).await;
    assert_eq!(letters.waiting().await, 20);
    letters.open.send_replace(true);
    letters.until_all_are_done().await;
    work.abort();
    assert_eq!(letters.times_done(), each_once(0..20));
}
