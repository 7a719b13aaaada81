//! A merchant that credits deposits, over a network that loses requests and answers, crashing
//! at any time: every deposit is captured once and credited once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tidegate_card::client::{Client, Entry, Form, Outcome, Patience, Step, perform};
use tidegate_card::{Currency, Status};
use tidegate_sitekit::backoff::Backoff;
use tidegate_sitekit::database::{self, Database, Location};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::processor::{GOOD, RETURN_URL, Running};

/// The merchant's database: what it wants of the processor, and what it has credited.
#[derive(Clone)]
struct Merchant(Database);

const TABLES: &str = "
CREATE TABLE wanted (reference TEXT NOT NULL, step TEXT NOT NULL, PRIMARY KEY (reference, step));
CREATE TABLE deposits (reference TEXT PRIMARY KEY, amount INTEGER NOT NULL, form TEXT NOT NULL,
                       state TEXT NOT NULL);
CREATE TABLE account (entry INTEGER PRIMARY KEY, reference TEXT NOT NULL, amount INTEGER NOT NULL);
";

const OPEN: &str = "SELECT reference FROM deposits WHERE state <> 'credited'";
const WAITING: &str = "SELECT reference FROM deposits WHERE state = 'waiting'";

type Row = (String, String, i64);

impl Merchant {
    async fn open(file: std::path::PathBuf) -> Self {
        let location = Location::Sqlite(file);
        let mut connection = location.connect().await.unwrap();
        connection.script(TABLES.into()).await.unwrap();
        connection.close().await;
        Self(Database::for_cores(&location, 1).remove(0))
    }

    /// A customer wants to deposit: stored together with the wish to create the payment.
    async fn begin(&self, reference: &str, amount: i64) {
        let mut change = self.0.begin().await.unwrap();
        let deposit = "INSERT INTO deposits VALUES ($1, $2, '', 'new')";
        change.run(deposit, &[reference.into(), amount.into()]).await.unwrap();
        want(&mut change, reference, "create").await.unwrap();
        change.commit().await.unwrap();
    }

    /// The customer has come back from the form: the merchant wants the money.
    async fn came_back(&self, reference: &str) {
        let mut change = self.0.begin().await.unwrap();
        want(&mut change, reference, "capture").await.unwrap();
        change.commit().await.unwrap();
    }

    async fn texts(&self, sql: &'static str) -> Vec<String> {
        self.0.all(sql, &[]).await.unwrap()
    }
}

async fn want(
    change: &mut database::Transaction,
    reference: &str,
    step: &'static str,
) -> tidegate_sitekit::Result<()> {
    let sql = "INSERT INTO wanted VALUES ($1, $2) ON CONFLICT DO NOTHING";
    change.run(sql, &[reference.into(), step.into()]).await
}

impl Merchant {
    /// Carries out at most `most` entries, and stores what is certain.
    async fn work_off(&self, client: &Client, most: i64) -> tidegate_sitekit::Result<()> {
        for entry in self.pending(most).await? {
            if let Ok(outcome) = perform(client, &entry).await {
                self.settle(&entry, &outcome).await?;
            }
        }
        Ok(())
    }

    async fn pending(&self, most: i64) -> tidegate_sitekit::Result<Vec<Entry>> {
        let sql = "SELECT w.reference, w.step, d.amount FROM wanted w
                   JOIN deposits d ON d.reference = w.reference ORDER BY w.reference LIMIT $1";
        let rows: Vec<Row> = self.0.all(sql, &[most.into()]).await?;
        let entry = |(reference, step, amount): Row| {
            let step = match step.as_str() {
                "create" => Step::Create(Form {
                    amount,
                    currency: Currency::USD,
                    reference: reference.clone(),
                    description: "Deposit".into(),
                    return_url: RETURN_URL.into(),
                }),
                _ => Step::Capture { reference: "all".into(), amount: None, last: true },
            };
            Entry { reference, step }
        };
        Ok(rows.into_iter().map(entry).collect())
    }

    async fn settle(&self, entry: &Entry, outcome: &Outcome) -> tidegate_sitekit::Result<()> {
        let step = match entry.step {
            Step::Create(_) => "create",
            _ => "capture",
        };
        let mut change = self.0.begin().await?;
        let gone = "DELETE FROM wanted WHERE reference = $1 AND step = $2 RETURNING reference";
        let values = [(&entry.reference).into(), step.into()];
        if change.first::<String>(gone, &values).await?.is_none() {
            return change.rollback().await;
        }
        let (state, form) = match outcome {
            Outcome::Done(payment) if step == "create" => ("waiting", payment.checkout_url.clone()),
            Outcome::Done(payment) => {
                let sql = "INSERT INTO account (reference, amount) VALUES ($1, $2)";
                let values = [(&entry.reference).into(), payment.amount_captured.into()];
                change.run(sql, &values).await?;
                ("credited", String::new())
            }
            Outcome::Refused(_) => ("refused", String::new()),
        };
        let sql = "UPDATE deposits SET state = $2, form = $3 WHERE reference = $1";
        change.run(sql, &[(&entry.reference).into(), state.into(), (&form).into()]).await?;
        change.commit().await
    }
}

/// A network between merchant and processor that loses what passes.
async fn lossy(to: SocketAddr, seed: u64) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let lost = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&lost);
    tokio::spawn(async move {
        let mut chance = StdRng::seed_from_u64(seed);
        loop {
            let (from, _) = listener.accept().await.unwrap();
            let fate = chance.random_range(0..6);
            counter.fetch_add(u64::from(fate < 3), Ordering::Relaxed);
            tokio::spawn(pass(from, to, fate));
        }
    });
    (address, lost)
}

async fn pass(mut from: TcpStream, to: SocketAddr, fate: u32) -> Option<()> {
    if fate == 0 {
        return None;
    }
    let request = message(&mut from).await?;
    let mut onward = TcpStream::connect(to).await.ok()?;
    if fate == 1 {
        onward.write_all(&request[..request.len() / 2]).await.ok()?;
        return None;
    }
    onward.write_all(&request).await.ok()?;
    let answer = message(&mut onward).await?;
    if fate > 2 {
        from.write_all(&answer).await.ok()?;
    }
    Some(())
}

/// One message of HTTP with its body.
async fn message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while !is_whole(&bytes) {
        let mut part = [0; 4096];
        match stream.read(&mut part).await {
            Ok(count @ 1..) => bytes.extend(&part[..count]),
            _ => return None,
        }
    }
    Some(bytes)
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head
        .to_lowercase()
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    body.len() >= length.unwrap_or(0)
}

#[test]
fn every_deposit_is_captured_once_and_credited_once() {
    for (it, seed) in [(Running::on_sqlite(), 1), (Running::on_postgres(), 2)] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(deposits(&it, seed));
    }
}

async fn deposits(it: &Running, seed: u64) {
    const DEPOSITS: i64 = 20;
    let (network, lost) = lossy(it.browser.address(), seed).await;
    let patience = Patience {
        attempt: Duration::from_millis(500),
        call: Duration::from_millis(700),
        backoff: Backoff { first: Duration::from_millis(5), longest: Duration::from_millis(20) },
    };
    let client = Client::new(&format!("http://{network}"), &it.key, None, patience).unwrap();
    let merchant = Merchant::open(it.folder().join("merchant.db")).await;
    for number in 0..DEPOSITS {
        merchant.begin(&format!("d-{number:02}"), 100 + number).await;
    }
    let mut chance = StdRng::seed_from_u64(seed);
    let mut paid = std::collections::HashSet::new();
    let begun = std::time::Instant::now();
    while !merchant.texts(OPEN).await.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(120), "seed {seed}");
        // The merchant works off its outbox, and crashes at some time; sometimes two do. The
        // times grow, so that a machine that is short of time finishes something too.
        let longest = 60 + begun.elapsed().as_millis() as u64 / 20;
        let time = Duration::from_millis(chance.random_range(1..longest));
        let work =
            async { tokio::join!(merchant.work_off(&client, 5), merchant.work_off(&client, 3)) };
        let _ = tokio::time::timeout(time, work).await;
        // Customers type their cards as soon as they see the form.
        for reference in merchant.texts(WAITING).await {
            if paid.insert(reference.clone()) {
                let sql = "SELECT form FROM deposits WHERE reference = $1";
                let values = [(&reference).into()];
                let form: Option<String> = merchant.0.first(sql, &values).await.unwrap();
                let form = form.unwrap();
                let browser = it.browser;
                let path = form[form.find("/checkout/").unwrap()..].to_owned();
                let answer = tokio::task::spawn_blocking(move || {
                    browser.post(&path, &[("number", GOOD), ("expiry", "12/99"), ("cvc", "876")])
                });
                assert_eq!(answer.await.unwrap().status, 303);
            }
            merchant.came_back(&reference).await;
        }
    }
    assert!(lost.load(Ordering::Relaxed) > 10, "the network has lost something");
    // At the processor and at the merchant: each deposit once, and the same amounts.
    let direct = format!("http://{}", it.browser.address());
    let direct = Client::new(&direct, &it.key, None, Patience::default()).unwrap();
    let credited: Vec<Row> = merchant
        .0
        .all("SELECT reference, '', amount FROM account ORDER BY reference", &[])
        .await
        .unwrap();
    assert_eq!(credited.len(), usize::try_from(DEPOSITS).unwrap());
    for (number, (reference, _, amount)) in credited.into_iter().enumerate() {
        assert_eq!(reference, format!("d-{number:02}"));
        assert_eq!(amount, 100 + i64::try_from(number).unwrap());
        let payment = direct.by_reference(&reference).await.unwrap().unwrap();
        assert_eq!(payment.status, Status::Captured);
        assert_eq!((payment.captures.len(), payment.amount_captured), (1, amount));
    }
}
